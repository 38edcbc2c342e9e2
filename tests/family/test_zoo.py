"""Whatever a user may get wrong in a sketch family, a claim says so; and it never says so of an honest one.

By default, every family is run at a small size, in about a minute altogether: the contract with few operators, and the
moments of those families that are about moments. With

    pytest tests/family --whole-zoo

every family is run at quick size with all its studies, and honest ones with two seeds (about 30 minutes).
"""

from typing import Any

import judged
import pytest
from broken import BROKEN
from honest import HONEST
from sketchbench.sketch.contract import elsewhere
from specimen import Specimen

SMALL: dict[str, Any] = {"sizes": [[12, 4], [1, 1], [7, 3], [15, 6], [64, 16]], "operators": 2000, "fewer": 250}
TRIALS = 20_000  # of the moments, at d = 16
MOMENTS = ("scale", "bias", "second moment", "false theory")  # kinds that the moments are measured of
ELSEWHERE = {"DependsOnHashes", "DependsOnProcess", "DependsOnSetOrder"}  # that need another process to be seen
# Effects too small, or too rare, for the small size; see `Specimen.effect`.
LARGE: set[str] = set()

broken = pytest.mark.parametrize("specimen", BROKEN, ids=lambda one: one.name)
honest = pytest.mark.parametrize("specimen", HONEST, ids=lambda one: one.name)


def test_the_zoo_is_large_and_its_names_are_unique() -> None:
    names = [specimen.name for specimen in [*BROKEN, *HONEST]]
    assert len(names) == len(set(names))
    assert len(BROKEN) >= 180
    assert len({specimen.kind for specimen in BROKEN}) >= 18
    assert len(HONEST) >= 35


@pytest.mark.statistical
@broken
def test_a_broken_family_is_caught(specimen: Specimen, whole_zoo: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not whole_zoo and specimen.name in LARGE:
        pytest.skip("seen at quick size only: --whole-zoo")
    found = judged.judged(specimen) if whole_zoo else _at_small_size(specimen, monkeypatch)
    if specimen.caught_by:
        assert {*found.caught, *found.doubted} & set(specimen.caught_by), found
    else:
        assert not found.caught, f"{specimen.effect} is seen after all: {found}"


@pytest.mark.statistical
@honest
@pytest.mark.parametrize("seed", [0, 1])
def test_an_honest_family_raises_no_alarm(
    specimen: Specimen, seed: int, whole_zoo: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed and not whole_zoo:
        pytest.skip("a second seed: --whole-zoo")
    found = judged.judged(specimen, seed) if whole_zoo else _at_small_size(specimen, monkeypatch)
    assert not found.caught, found


def _at_small_size(specimen: Specimen, monkeypatch: pytest.MonkeyPatch) -> judged.Outcome:
    """The contract with few operators, in one process but where another one is needed; or the moments at d = 16."""
    if specimen.kind in MOMENTS:
        names = ("embedding", *judged.studies(specimen)[len(judged.MOMENTS) :])
        return judged.outcome(specimen, names, trials=TRIALS)
    if specimen.name not in ELSEWHERE:
        monkeypatch.setattr(elsewhere, "matrices", lambda subject, count: subject.matrices(subject.key, count))
    return judged.outcome(specimen, judged.CONTRACT, **SMALL)
