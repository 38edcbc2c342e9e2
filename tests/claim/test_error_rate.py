"""The error rate is shared by weights that a file states before a run."""

from collections import Counter
from pathlib import Path
from shutil import copytree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from levels import FEW, LEVEL, PAPER, QUICK

from sketchbench.base.project import CONF
from sketchbench.measure.interval import proportion_interval
from sketchbench.report.claim import error_rate
from sketchbench.report.claim.error_rate import ErrorRate
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
    [
        ("weight: 0.9", "weight: 1.5", "1.5"),
        ("total: 1.0e-3", "total: 0", "0 "),
        ("frontier,", "front,", "frontier"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    conf = copytree(CONF, tmp_path / "conf", ignore=lambda folder, names: [n for n in names if n in ("claim",)])
    file = conf / error_rate.FILE
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises((SchemaError, ValueError), match=said):
        error_rate.read(conf)
