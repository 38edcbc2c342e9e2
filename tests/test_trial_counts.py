"""The trial counts of the quick scale follow from the effects that they must see."""

import numpy as np
import pytest
import yaml

from sketchbench import plan as planning
from sketchbench import seeds
from sketchbench.claim.evaluate import FAMILY_WISE_ERROR
from sketchbench.kernels import load
from sketchbench.measure.power import trials_for_mean, trials_for_zero
from sketchbench.sketch import AMS, CountSketch, Family, SparseEmbedding, SubsampledHadamard
from sketchbench.task import trials, vectors

LEVEL = FAMILY_WISE_ERROR / 4000  # a quick run makes about 2,400 comparisons
POWER = 0.999
GAP, SPREAD = 0.125, 5.5  # as in conf/study/embedding.yaml
TIGHT = [
    AMS(16, 4),
    SparseEmbedding(16, 4),
    CountSketch(16, 16),
    SubsampledHadamard(16, 16, replacement=True),
]


def quick(study: str) -> list[int]:
    """The trial counts of a study's runs at the quick scale."""
    runs = planning.expand("quick", "numpy", studies=study).runs[study]
    return [run.config["task"]["trials"] for run in runs.values()]


def test_the_gap_of_the_embedding_study() -> None:
    needed = trials_for_mean(GAP, sd=SPREAD, error=LEVEL, power=POWER)
    assert 100_000 < needed <= min(quick("embedding"))


@pytest.mark.statistical
@pytest.mark.parametrize("family", TIGHT, ids=lambda family: type(family).__name__)
def test_the_spread_that_it_assumes(family: Family) -> None:
    """Standard deviation of b (gᵀRᵀRh - gᵀh)² for g = h flat, from 50,000 draws with a fixed seed."""
    g, h = vectors.pair("flat", family.d, 0)
    kernels = load("numba")
    found = [
        ((trials.desketched(sketch, h[None, None]) * g).sum(axis=-1) - 1.0) ** 2 * family.b
        for sketch in trials.operators(family, seeds.key(3), kernels, 50_000, 1)
    ]
    assert np.concatenate(found).std() < SPREAD


@pytest.mark.parametrize(
    ("study", "delta"),
    [("tails", 0.001), ("inner_products", 0.01), ("inner_products_sparse", 0.01)],
)
def test_probabilities(study: str, delta: float) -> None:
    """Without any exceedance, the upper limit falls below 2δ."""
    assert trials_for_zero(2 * delta, error=LEVEL) <= min(quick(study))
    tasks = yaml.safe_load((planning.CONF / "task" / "tails.yaml").read_text())
    assert min(tasks["deltas"]) == 0.001
