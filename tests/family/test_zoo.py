"""Whatever a user may get wrong in a sketch family, a claim says so; and it never says so of an honest one.

By default, a few broken families of each kind, and a third of the honest ones, are run at a small size: the contract
with few operators in one process, or, where the defect is one of moments, the moments at d = 16. With

    pytest tests/family --whole-zoo

every family is run at quick size, with all studies that a user's family takes part in until one catches it; and honest
ones with all of them. That takes most of an hour of one core.
"""

from collections import Counter
from typing import Any

import judged
import pytest
from broken import BROKEN
from honest import HONEST
from specimen import Specimen
from weekly import weekly

from sketchbench.sketch.contract import elsewhere

SMALL: dict[str, Any] = {"sizes": [[12, 4], [7, 3], [15, 6]], "operators": 1500, "fewer": 100}
TRIALS = 20_000  # of the moments, at d = 16
OF_A_KIND = 2  # families of a kind that are run by default, at most
MOMENTS = ("scale", "bias", "second moment", "false theory")  # kinds that the moments are measured of
TALL = ("RowNeverDrawn",)  # seen with more rows than columns only
ELSEWHERE = ("DependsOnHashes", "DependsOnProcess", "DependsOnSetOrder", "DependsOnThreads", "DependsOnVariable")
# Effects too small or too rare for the small size, or of other studies.
LARGE = frozenset(
    """
    BackWrongForLarge ColumnRarelyLost CorrelatedGaussians DependsOnLargeStack EqualPair EverySeventhRepeats
    FlushesSmall HundredthScaled HundredthZero KeysOverlap KeysShareATenth Lag64 LargeScaled ManyVectors Modulo1000
    NumbersInSinglePrecision OneEntryRedrawn OneInAHundredZero OneScaled Period2048 RarelyNotLinear RowsForgotten
    SharedScale ShiftedBuckets SparseDesketch SquareScaled ThousandthHuge ThousandthZero
    OneDirection TwoColumnsTied Lag1003 FalseMoment FalseNorm HeavyTail
    HeavyTailClaimingAConstant RandomNorms FalseTails FalseAlways FalseInnerProducts FalseInnerProductsAlways
    FalseSpectrum MiddleSupports SwappedBytes BytesXored
    """.split()
)


def _by_default() -> set[str]:
    """The families that are run by default: the first of each kind."""
    counts: Counter[str] = Counter()
    chosen = set()
    for specimen in BROKEN:
        if specimen.name not in LARGE and counts[specimen.kind] < OF_A_KIND:
            counts[specimen.kind] += 1
            chosen.add(specimen.name)
    return chosen


DEFAULT = _by_default()
# What broken families compute with numbers that are not finite is no news.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
broken = pytest.mark.parametrize("specimen", BROKEN, ids=lambda one: one.name)
honest = pytest.mark.parametrize(
    "specimen", weekly(HONEST, lambda one: one not in HONEST[::3]), ids=lambda one: one.name
)


def test_the_zoo_is_large_and_its_names_are_unique() -> None:
    names = [specimen.name for specimen in [*BROKEN, *HONEST]]
    assert len(names) == len(set(names))
    assert len(BROKEN) >= 225
    assert {specimen.kind for specimen in BROKEN} == {one.kind for one in BROKEN if one.name in DEFAULT}
    assert len(HONEST) >= 35


@pytest.mark.statistical
@broken
def test_a_broken_family_is_caught(specimen: Specimen, whole_zoo: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not whole_zoo and specimen.name not in DEFAULT:
        pytest.skip("--whole-zoo")
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
        studies = ("embedding", "embedding_rows") if specimen.name in TALL else ("embedding",)
        return judged.outcome(specimen, studies, trials=TRIALS)
    if specimen.name not in ELSEWHERE:
        monkeypatch.setattr(elsewhere, "matrices", lambda subject, count: subject.matrices(subject.key, count))
    return judged.outcome(specimen, judged.CONTRACT, **SMALL)
