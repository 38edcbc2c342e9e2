"""The error rate is shared by weights that a file states before a run."""

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from shutil import copytree
from typing import Any

import pandas as pd
import pytest
import yaml
from all_claims import CLAIMS, entry
from hypothesis import given
from hypothesis import strategies as st
from levels import FEW, LEVEL, PAPER, QUICK

from sketchbench.base.project import CONF
from sketchbench.measure.interval import proportion_interval
from sketchbench.report.claim import error_rate
from sketchbench.report.claim.claims import Claim, ClaimError, read_claims
from sketchbench.report.claim.control import IMPOSSIBLE, NegativeControl, read_controls, with_references
from sketchbench.report.claim.error_rate import ErrorRate
from sketchbench.report.claim.formula import check_formula, lines
from sketchbench.run.config.schema import SchemaError

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10_000))


@given(counts, counts, st.floats(0, 1), st.frozensets(st.sampled_from("abcdef")))
def test_no_family_has_more_than_the_total(
    claims: dict[str, int], controls: dict[str, int], share: float, few: frozenset[str]
) -> None:
    """Bonferroni, whatever the weights are."""
    levels = ErrorRate(1e-3, share, few).levels([claims, controls])
    for family in (claims, controls):
        assert sum(count * levels.of(study) for study, count in family.items()) <= 1e-3 * (1 + 1e-12)


def test_without_weights_all_have_the_same() -> None:
    levels = ErrorRate().levels([Counter(a=3, b=1)])
    assert levels.of("a") == levels.of("b") == 1e-3 / 4
    assert ErrorRate().levels([]).comparisons == 0


def test_the_projects_own() -> None:
    """Trainings and attacks have most of it: one exception in 24 is allowed, and in 25 at the papers' sizes."""
    for levels, trials in ((QUICK, 24), (PAPER, 25)):
        assert {"frontier", "federated_mlp", "inversion_sizes", "property_inference"} <= levels.studies
        assert levels.studies.isdisjoint({"moments", "contract", "tails"})
        one = proportion_interval(1, trials, error=2 * levels.of("frontier"))
        assert one.high < 0.5 < proportion_interval(2, trials, error=2 * levels.of("frontier")).high
    assert QUICK.few_trials.comparisons == FEW
    assert QUICK.of("moments") == LEVEL


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("weight: 0.9", "weight: 1.5", "1.5"), ("total: 1.0e-3", "total: 0", "0 "), ("frontier,", "front,", "frontier")],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    conf = copytree(CONF, tmp_path / "conf", ignore=lambda folder, names: [n for n in names if n in ("claim",)])
    file = conf / error_rate.FILE
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises((SchemaError, ValueError), match=said):
        error_rate.read(conf)


# Formulas of claims: which claims have one, and what is refused without a converter


SIGN = re.compile(r"[=≤≥<>]|\b[OΩΘ]\(")
SETTING = "the sign gives a setting of the measurement; what is claimed is in words"
# Claims with a sign in their statement, and no formula.
WITHOUT = {
    **dict.fromkeys(("F7", "F8", "F18", "F24", "F25", "F29", "F41", "S21-large", "S21-small", "S29"), SETTING),
    **dict.fromkeys(("S29-onset", "S29-weak", "S28", "S28-descent", "S28-effort", "S28-input", "S28-mnist"), SETTING),
    **dict.fromkeys(("S28-cifar10", "S28-prior", "T9", "T20-diverges-110", "T20-diverges-125", "T20-few"), SETTING),
    **dict.fromkeys(("T20-fiht", "T20-fiht-10", "T20-linear", "T20-order", "T20-rows", "T20-table"), SETTING),
    **dict.fromkeys(("S23-assumptions", "S28-harder", "S30-assumptions", "T20-linear-whole", "T20-momentum"), SETTING),
    **dict.fromkeys(("S31-crosses", "S31-miscounted"), "the sign says where a function is defined"),
    "S32-rows": "it compares what is left after as many bits, whatever O(d) is",
    "S35-independence": "O(log d) is how many values of a hash are independent, and no bound",
}


def test_a_statement_with_a_sign_has_a_formula() -> None:
    without = {claim.id for claim in CLAIMS.values() if SIGN.search(claim.statement) and not claim.formula}
    assert without == WITHOUT.keys()
    assert all(WITHOUT.values())


def test_formulas_are_in_ascii() -> None:
    """So that they can be copied into any LaTeX, and no letter is there in two forms."""
    assert [claim.id for claim in CLAIMS.values() if not claim.formula.isascii()] == []


def test_a_formula_is_read_in_lines() -> None:
    assert len(lines(CLAIMS["S11"].formula)) == 3
    assert len(lines(CLAIMS["S2"].formula)) == 1


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"\frac{a}{b", "braces in .* don't pair"),
        (r"a} + {b", "braces in .* don't pair"),
        (r"\left( a", r"\\left and \\right in .* don't pair"),
        (r"a \\ ", "a line is empty"),
        (r"\begin{cases} a \end{cases}", r"\\begin in .* can't be set"),
        ("a & b", "& in .* can't be set"),
        ("$a$", r"\$ in .* can't be set"),
    ],
)
def test_what_is_no_formula_is_refused(formula: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        check_formula(formula)
    content = entry("claim", "S2")
    path = tmp_path / "S2.yaml"
    path.write_text(yaml.safe_dump({**content, "formula": formula}), encoding="utf-8")
    with pytest.raises(ClaimError, match=rf"S2.yaml: formula: .*{said}"):
        read_claims([path])


@pytest.mark.parametrize("formula", [r"\{a\}", r"\left\{ a_{b} \right\}", r"\&", r"a \leftarrow b"])
def test_what_only_looks_wrong_is_taken(formula: str) -> None:
    check_formula(formula)


def test_no_verdict_sees_a_formula() -> None:
    """Reports read the statement; of what is in sketchbench/report only the claim's own module knows the formula."""
    assert "formula" in {field.name for field in fields(Claim)}
    package = Path(__file__).parents[2] / "sketchbench" / "report"
    knowing = {path.name for path in package.rglob("*.py") if "formula" in path.read_text(encoding="utf-8")}
    assert {path for path in knowing if path not in ("claims.py", "formula.py")} == set()


# Negative controls: how they are read and named, and whose references their rows are held against


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"method": "zero"}, "zero"),
        ({"where": {"noise": 0.5}, "studies": ["controls"]}, "noise=0.5, controls"),
        ({"method": "zero", "where": {"case": "still"}}, "zero, still"),
        ({"where": {"case": "still"}}, "still"),
        ({"reason": "an identity"}, IMPOSSIBLE),
    ],
)
def test_one_control_for_all_methods(content: dict[str, Any], name: str) -> None:
    controls = read_controls(content)
    assert list(controls) == ["default"]
    assert controls["default"].name == name


def test_controls_by_method() -> None:
    controls = read_controls({"default": {"method": "zero"}, "zero": {"reason": "it is one"}})
    assert controls["default"] == NegativeControl(method="zero")
    assert controls["zero"].reason == "it is one"
    assert read_controls({"good": {"where": {"d": 25}}}) == {"good": NegativeControl(where={"d": 25})}


def test_a_control_by_an_unknown_column() -> None:
    with pytest.raises(ValueError, match="column=nose is unknown; did you mean noise"):
        read_controls({"where": {"nose": 0.5}})


def test_the_references_of_the_claim() -> None:
    """They go by quantity and axes, other than those that distinguish the control; the control's own are left out."""
    control = {"quantity": ["q", "q", "q"], "case": "still", "d": [4, 8, 16], "mean": [1.0, 2.0, 3.0]}
    claimed = {"quantity": ["q", "q", "other"], "case": "moved", "d": [4, 8, 16]}
    rows = pd.DataFrame(control).assign(exact=float("nan"), bound=99.0)
    references = pd.DataFrame(claimed).assign(exact=[0.5, 0.6, 0.7], bound=[5.0, 6.0, 7.0])
    found = with_references(rows, references, ["case"])
    assert found[["d", "mean", "exact", "bound"]].to_numpy().tolist() == [[4, 1.0, 0.5, 5.0], [8, 2.0, 0.6, 6.0]]
    assert with_references(rows, references, []).empty
