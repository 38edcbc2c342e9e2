"""Every broken sketch is rejected by the very checks that pass the sound ones.

The checks are the project's claims S1, S2x and S3x, read from conf/claim, on rows of the tasks
`moments` and `norms` as conf/task has them. Each comparison keeps the level that it has in a
quick run (`levels.LEVEL`). The number of trials follows from the mildest mutant (see `TRIALS`).
"""

from dataclasses import dataclass
from typing import Any

import judging
import numpy as np
import pytest
from levels import LEVEL
from operators import (
    BalancedByChance,
    BucketNeverUsed,
    ColumnDropped,
    DesketchNotAdjoint,
    GaussianUnscaled,
    OperatorReused,
    PaddingMixedUp,
    PaddingSampledFromFront,
    RowsRepeat,
    SamplingRowsRepeat,
    SamplingScaledByB,
    SignsBiased,
    SignsMissing,
    SignsTwoWise,
    SparseUnscaled,
    TransformRowsRepeat,
    TwoColumnsMeet,
)

from sketchbench import kernels
from sketchbench.measure.power import trials_for_mean
from sketchbench.sketch import (
    AMS,
    BalancedCountSketch,
    BlockSparseEmbedding,
    CountSketch,
    Family,
    Gaussian,
    SparseEmbedding,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.sketch.control import EqualSigns, TiedBlocks, TiedSigns
from sketchbench.task.sketches.moments import Moments
from sketchbench.task.sketches.norms import Norms
from sketchbench.task.sketches.worst_pair import worst_pair
from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known

D, B = 12, 4  # d is no power of two, so padding counts; b divides d, so balancing is possible

# The mildest mutant here is an off-by-one bucket range: it makes columns collide with probability
# 1/3 instead of 1/4, which moves a by a third for every pair whose exact a is 1 (disjoint, say).
# The measured b (gᵀRᵀRh - gᵀh)² has a standard deviation below 3 there. Rows with replacement move
# ‖R_i‖², of variance (1 - 1/s)/b = 3/16 where it should have none, by more than that.
EFFECT, SPREAD, POWER = 1 / 3, 3.0, 0.999
TRIALS = 40_000


def test_trials_give_the_stated_power() -> None:
    assert trials_for_mean(EFFECT, sd=SPREAD, error=LEVEL, power=POWER) <= TRIALS


@pytest.mark.statistical
def test_the_spread_is_as_assumed() -> None:
    shared = {"kernels": kernels.load("numba"), "seed": 5, "trials": 20_000, "pairs": ["disjoint"]}
    rows = Moments(family=BucketNeverUsed(D, B), known=Known(), **shared).run()
    assert rows[1]["quantity"] == "embedding_constant"
    assert rows[1]["sd"] < SPREAD


@dataclass(frozen=True)
class Sound:
    family: Family
    known: Known


def _known(name: str, a: float) -> Known:
    return Known(a, getattr(second_moment, name), getattr(norm, name))


SOUND = {
    Gaussian: Sound(Gaussian(D, B), _known("gaussian", 3)),
    AMS: Sound(AMS(D, B), _known("hashed", 2)),
    CountSketch: Sound(CountSketch(D, B), _known("hashed", 3)),
    SparseEmbedding: Sound(SparseEmbedding(D, B, s=2), _known("hashed", 2)),
    BlockSparseEmbedding: Sound(BlockSparseEmbedding(D, B, s=2), _known("hashed", 2)),
    UniformSampling: Sound(UniformSampling(D, B), _known("uniform_sampling", D)),
    SubsampledHadamard: Sound(SubsampledHadamard(D, B), _known("sampled_hadamard", 2)),
    BalancedCountSketch: Sound(BalancedCountSketch(D, B), _known("balanced", 2)),
}
MUTANTS = [
    BalancedByChance,
    BucketNeverUsed,
    TiedBlocks,
    ColumnDropped,
    DesketchNotAdjoint,
    GaussianUnscaled,
    OperatorReused,
    PaddingMixedUp,
    PaddingSampledFromFront,
    RowsRepeat,
    SamplingRowsRepeat,
    SamplingScaledByB,
    TiedSigns,
    SignsBiased,
    SignsMissing,
    EqualSigns,
    SignsTwoWise,
    SparseUnscaled,
    TransformRowsRepeat,
]
PAIRS = ["random", "equal", "spike", "roaming_spike", "flat", "two_spikes", "disjoint"]


def verdicts(family: Family, known: Known, seed: int) -> dict[str, set[str]]:
    shared: dict[str, Any] = {
        "family": family,
        "known": known,
        "kernels": kernels.load("numba"),
        "seed": seed,
        "trials": TRIALS,
    }
    rows = [*Moments(**shared, pairs=PAIRS).run(), *Norms(**shared, pairs=["random", "flat"]).run()]
    return {claim: judging.verdicts(claim, rows) for claim in ("S1", "S2x", "S3x")}


@pytest.mark.statistical
@pytest.mark.parametrize("sound", SOUND.values(), ids=lambda sound: type(sound.family).__name__)
def test_sound_families_pass(sound: Sound) -> None:
    found = verdicts(sound.family, sound.known, seed=1)
    assert all(kinds == {"holds"} for kinds in found.values()), found


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_rejected(mutant: type[Family]) -> None:
    sound = SOUND[mutant.__mro__[1]]
    extra = {"s": 2} if hasattr(sound.family, "s") else {}
    found = verdicts(mutant(D, B, **extra), sound.known, seed=1)
    rejected = [claim for claim, kinds in found.items() if "fails" in kinds]
    assert rejected, f"{mutant.__name__} passed: {found}"


@pytest.mark.statistical
@pytest.mark.parametrize(("pairs", "expected"), [(PAIRS, {"holds"}), (["worst"], {"fails"})], ids=["usual", "worst"])
def test_a_moment_that_is_wrong_for_two_columns_only(pairs: list[str], expected: set[str]) -> None:
    """Four times too large there: no pair that all families share sees it, and the pair that a search finds does."""
    family = TwoColumnsMeet(16, 4)
    task = Moments(**judging.shared(family, 100_000), known=SOUND[CountSketch].known, pairs=pairs)
    assert judging.verdicts("S2x", task.run(), "equality") >= expected
    assert ("fails" in judging.verdicts("S2x", task.run())) is (expected == {"fails"})


@pytest.mark.statistical
@pytest.mark.parametrize("family", [CountSketch(16, 4), AMS(16, 4), UniformSampling(16, 4)])
def test_the_worst_pair_of_a_sound_family(family: Family) -> None:
    known = Known(16 if isinstance(family, UniformSampling) else 3, SOUND[type(family)].known.second_moment)
    task = Moments(**judging.shared(family, 100_000), known=known, pairs=["worst"])
    rows = task.run()
    assert judging.verdicts("S2x", rows) == {"holds"}
    assert judging.verdicts("S2", rows) == {"holds"}
    (exact,) = (row["value"] for row in rows if row["quantity"] == "exact_constant")
    largest = 12 if isinstance(family, UniformSampling) else 2 - 2 / 16
    assert 0.9 * largest <= exact <= largest * (1 + 1e-9)
    again, other = (worst_pair(family, kernels.load(name), 2) for name in ("numba", "numpy"))
    np.testing.assert_allclose(again, other, atol=1e-9)
