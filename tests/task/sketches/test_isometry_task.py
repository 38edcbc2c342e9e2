"""Isometry constants of random supports, against singular values of the dense columns."""

import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.summary import summarize
from sketchbench.sketch import (
    CountSketch,
    Family,
    Gaussian,
    Identity,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.task.sketches import trials
from sketchbench.task.sketches.isometry import Isometry
from sketchbench.theory.isometry import proposition_1

TRIALS, K, SEED = 9, 4, 5


def measured(family: Family, kernels: Kernels, k: int = K) -> Row:
    task = Isometry(family, kernels, seed=SEED, trials=TRIALS, k=k)
    row, constant = task.run()
    assert constant["quantity"] == "constant"
    assert constant["mean"] >= row["mean"] / row["bound"]
    assert row["quantity"] == "isometry"
    assert row["bound"] == proposition_1(d=family.d, b=family.b, k=k)
    return row


@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize(
    "family",
    [Gaussian(30, 12), SubsampledHadamard(30, 12), SubsampledCosine(30, 12), CountSketch(30, 12)],
    ids=repr,
)
def test_constants(monkeypatch: pytest.MonkeyPatch, kernels: Kernels, family: Family, blocks: int) -> None:
    """The extreme squared singular values of R_S less 1; trial t has operator t, and its own support."""
    if blocks > 1:
        monkeypatch.setattr(trials, "WORKSPACE", 9 * K * 30)
    random = seeds.generator(SEED, data="supports", d=30, k=K)
    deltas = []
    for t in range(TRIALS):
        key = seeds.key(SEED, task="isometry", family=repr(family))
        R = kernels.to_numpy(family.draw(key, first=t, kernels=kernels).materialize())
        columns = R[:, random.choice(30, K, replace=False)]
        squares = np.linalg.svd(columns, compute_uv=False) ** 2
        deltas.append(max(squares.max() - 1, 1 - squares.min()))
    expected = summarize(deltas)
    row = measured(family, kernels)
    assert {key: row[key] for key in expected} == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("family", [Identity(16, 16), SubsampledHadamard(16, 16), SubsampledCosine(15, 15)], ids=repr)
def test_orthogonal_matrices_are_isometries(kernels: Kernels, family: Family) -> None:
    assert measured(family, kernels)["maximum"] < 1e-12


def test_sampling_is_none(kernels: Kernels) -> None:
    """A coordinate is lost, or grows to d/b times its square."""
    row = measured(UniformSampling(30, 6), kernels)
    assert {round(row["minimum"], 9), round(row["maximum"], 9)} <= {1.0, 4.0}


@pytest.mark.parametrize(
    ("k", "condition"), [(0, "must be >= 1"), (-2, "must be >= 1"), (31, "must satisfy k <= d=30")]
)
def test_numbers_of_nonzeros(kernels: Kernels, k: int, condition: str) -> None:
    with pytest.raises(ValueError, match=f"k={k} {condition}"):
        Isometry(Gaussian(30, 12), kernels, SEED, TRIALS, k)


@pytest.mark.parametrize("k", [1, 30])
def test_the_edges_are_taken(kernels: Kernels, k: int) -> None:
    """For k = d, R_SᵀR_S has rank b < k, so that some vector is lost."""
    row = measured(Gaussian(30, 12), kernels, k)
    assert row["minimum"] > (1 - 1e-9 if k == 30 else 0)
