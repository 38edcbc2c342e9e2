"""Formulas of claims: which claims have one, and what is refused without a converter."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from all_claims import CLAIMS, entry

from sketchbench.report.claim.claims import Claim, ClaimError, read_claims
from sketchbench.report.claim.formula import check_formula, lines

SIGN = re.compile(r"[=≤≥<>]|\b[OΩΘ]\(")
SETTING = "the sign gives a setting of the measurement; what is claimed is in words"
# Claims with a sign in their statement, and no formula.
WITHOUT = {
    **dict.fromkeys(("F7", "F8", "F18", "F24", "F25", "F29", "F41", "S21-large", "S21-small", "S29"), SETTING),
    **dict.fromkeys(("S29-onset", "S29-weak", "S28", "S28-descent", "S28-effort", "S28-input", "S28-mnist"), SETTING),
    **dict.fromkeys(("S28-cifar10", "S28-prior", "T9", "T20-diverges-110", "T20-diverges-125", "T20-few"), SETTING),
    **dict.fromkeys(("T20-fiht", "T20-fiht-10", "T20-linear", "T20-order", "T20-rows", "T20-table"), SETTING),
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
