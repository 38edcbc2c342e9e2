"""Wrong calls of the Python API, by part of it, each with words of the error message; each kind of message has a call
or two. What a type hint refuses is tested in tests/test_parameters.py.

An error is a ValueError, a TypeError, or an ArithmeticError where right numbers lead out of the range of theirs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.learning.dataset import partition
from sketchbench.learning.model.networks import mlp
from sketchbench.measure import interval, power
from sketchbench.measure.row import Row
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import GaussianRelease, Parallel, SampledGaussian
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch import (
    AMS,
    BalancedCountSketch,
    BlockSparseEmbedding,
    CountSketch,
    Gaussian,
    Identity,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Desketch

NUMPY = kernels.load("numpy")
ONE = CountSketch(16, 8).draw(1, kernels=NUMPY)
STACK = CountSketch(16, 8).draw(1, operators=3, kernels=NUMPY)
PHI = SubsampledHadamard(16, 8, signs=False).draw(1, kernels=NUMPY)
DENSE = Gaussian(16, 8).draw(1, kernels=NUMPY)
X, Y = np.ones(16), np.ones(8)
LABELS = np.repeat(np.arange(4), 10)
FULL, STRATA = Sampling("full", 10, 10), Sampling("without_replacement", 4, 8)
RELEASE = GaussianRelease(1.0, 2.0)
STEP = SampledGaussian(RELEASE, Sampling("poisson", 2, 10), "add_remove")
Wrong = tuple[Callable[[], Any], str]


def _with(x: Any, value: Any) -> Any:
    """A copy with this value at place 3."""
    changed = np.array(x, copy=True)
    changed[3] = value
    return changed


FAMILIES: list[Wrong] = [
    (lambda: CountSketch(0, 4), "dimension d=0 must be >= 1"),
    (lambda: CountSketch(1.5, 4), "dimension d=1.5 must be an integer"),
    (lambda: CountSketch(np.int64(8), 4), "must be an integer; write int(...)"),
    (lambda: CountSketch(8, 0), "sketch size b=0 must satisfy 1 <= b"),
    (lambda: CountSketch(8, 4, hashing="sha"), "hashing=sha is unknown"),
    (lambda: UniformSampling(5, 6), "sampling b=6 coordinates without replacement needs b <= d=5"),
    (lambda: SubsampledHadamard(5, 9), "b=9 rows without replacement need b <= 8, the length of the transform for d=5"),
    (lambda: SubsampledHadamard(20, 10, pad=False), "d=20 must be a power of two without padding; set pad=true"),
    (lambda: SubsampledCosine(5, 6), "the length of the transform for d=5; set replacement=true or lower b"),
    (lambda: BalancedCountSketch(10, 4), "b=4 must divide d=10; choose such a b, or set remainder=paper"),
    (lambda: BalancedCountSketch(3, 4, "paper"), "b=4 buckets need b <= d=3"),
    (lambda: SparseEmbedding(9, 3), "s=4 nonzeros per column need 1 <= s <= b=3"),
    (lambda: BlockSparseEmbedding(9, 6), "sketch size b=6 must be a multiple of the number of blocks s=4"),
    (lambda: BlockSparseEmbedding(9, 3, s=0), "s=0 nonzeros per column need 1 <= s"),
    (lambda: Identity(4, 3), "the identity needs b = d, not b=3 and d=4"),
]
DRAW = CountSketch(8, 4).draw
DRAWS: list[Wrong] = [
    (lambda: DRAW(-1, kernels=NUMPY), "key=-1 must be an integer of 64 bits"),
    (lambda: DRAW(1.5, kernels=NUMPY), "key=1.5 must be an integer"),
    (lambda: DRAW(1, operators=0, kernels=NUMPY), "operators=0 must be >= 1"),
    (lambda: DRAW(1, operators=2**40, kernels=NUMPY), "exceed 0 to 2^32"),
    (lambda: DRAW(1, first=-1, kernels=NUMPY), "exceed 0 to 2^32"),
    (lambda: DRAW(1, kernels="fast"), "kernels=fast is unknown"),
    (lambda: DRAW(1, kernels=None), "kernels=None"),
]
VECTORS: list[Wrong] = [
    *(
        (partial(ONE.sketch, v), words)
        for v, words in [
            (np.ones((16, 2)), "must end in d=16"),
            (np.ones(()), "must end in d=16"),
            (np.ones(16, dtype=int), "must be float32 or float64"),
            (np.ones(16, dtype=">f8"), "dtype >f8 must be float32 or float64"),
            ([1.0] * 16, "convert with kernels.asarray"),
            (None, "convert with kernels.asarray"),
            (_with(X, np.nan), "entry (3,) of the vector is nan"),
        ]
    ),
    (lambda: ONE.desketch(X), "must end in b=8"),
    (lambda: ONE.project(_with(X, np.inf)), "entry (3,) of the vector is inf"),
    (lambda: DENSE.sketch(1e308 * X), "their sums exceed float64"),
    (lambda: AMS(64, 1).draw(1, kernels=NUMPY).project(np.full(64, 1.7e308)), "their sums exceed float64"),
    (lambda: DENSE.sketch(np.full(16, 3e38, dtype=np.float32)), "their sums exceed float32"),
    (lambda: DENSE.desketch(np.full(8, 1.7e308)), "their sums exceed float64"),
    (lambda: DENSE.project(1e308 * X), "their sums exceed float64"),
    (lambda: STACK.sketch(X), "for a stack of 3 operators"),
    (lambda: ONE.as_linear_operator() @ (X + 1j), "must be real"),
    (lambda: ONE.as_linear_operator().T @ (Y + 1j), "must be real"),
    (lambda: ONE.as_linear_operator(dtype=complex), "must be float32 or float64"),
    (lambda: ONE.as_linear_operator() @ _with(X, np.nan), "every entry must be finite"),
    (lambda: ONE.as_linear_operator() @ np.array(["x"] * 16), "x"),
    (STACK.as_linear_operator, "is not a single linear operator"),
    (lambda: ONE.materialize(dtype=int), "must be float32 or float64"),
]
RECOVERIES: list[Wrong] = [
    (lambda: FIHT(k=0), "k=0 must be >= 1"),
    (lambda: FIHT(k=2, stopping="papr"), "did you mean paper?"),
    (lambda: FIHT(k=17).recover(PHI, Y), "k=17 must be <= d=16"),
    (lambda: FIHT(k=2).recover(STACK, Y), "must start with 3"),
    (lambda: FIHT(k=2).recover(PHI, X), "must end in b=8"),
    (lambda: FIHT(k=2).recover(PHI, [1.0] * 8), "convert with kernels.asarray"),
    (lambda: FIHT(k=2).recover(PHI, 1.7e308 * np.sign(Y)), "scale the measurements down"),
    (lambda: FIHT(k=2).recover(np.eye(8), Y), "recovery takes an operator"),
    (lambda: FIHT(k=2).recover(PHI, _with(Y, np.nan)), "every entry must be finite"),
    (lambda: CountSketchMedian(k=2).recover(PHI, Y), "cells per coordinate, not SampledHadamard; use BlockSparse"),
    (lambda: Desketch(k=2).recover(ONE, Y + 0j), "must be float32 or float64"),
    (lambda: Desketch(k=2).recover(DENSE, np.full(8, 1.7e308)), "scale the measurements down"),
]
SEEDS: list[Wrong] = [
    (lambda: seeds.key(-1), "root seed -1 must be >= 0"),
    (lambda: seeds.key(True), "root seed True must be an integer"),
    (lambda: seeds.generator(np.int64(1)), "must be an integer; of NumPy's, write int(...)"),
    (lambda: seeds.key(1, x=True), "axis x=True must be an integer or a text"),
    (lambda: seeds.key(1, x=np.int64(3)), "must be an integer or a text"),
]
PRIVACY: list[Wrong] = [
    (lambda: Sampling("poison", 1, 2), "did you mean poisson?"),
    (lambda: Sampling("poisson", np.int64(1), 2), "write int(...)"),
    (lambda: Sampling("poisson", 3, 2), "1 <= batch <= 2"),
    (lambda: Sampling("full", 1, 2), "name another sampling"),
    (lambda: SampledGaussian(RELEASE, Sampling("poisson", 1, 2), "replace_one"), "known for neighbours=add_remove"),
    (lambda: SampledGaussian(RELEASE, STRATA, "add_remove"), "known for neighbours=replace_one"),
    (lambda: Parallel((), ()), "must be as many"),
    (lambda: Parallel((RELEASE, RELEASE), (frozenset({1}), frozenset({1}))), "share record 1"),
    (lambda: epsilon("exakt", RELEASE, 0.1), "did you mean exact?"),
    (lambda: epsilon("exact", RELEASE, 0), "delta=0 must satisfy 0 < delta < 1"),
    (lambda: epsilon("exact", RELEASE, float("nan")), "delta=nan must be finite"),
    (lambda: epsilon("exact", STEP, 0.1), "use pld"),
    (lambda: epsilon("exact", 3, 0.1), "must be a mechanism"),
    (lambda: calibrated_sigma("exact", RELEASE, float("nan"), 0.1), "goal=nan must be finite"),
]
OTHERS: list[Wrong] = [
    (lambda: partition.iid(LABELS, 0, 41), "clients=41 must be <= 40"),
    (lambda: partition.iid(3, 0, 4), "labels"),
    (lambda: partition.one_class(LABELS, 0, 4, 11), "need more than the 10"),
    (lambda: partition.dirichlet(LABELS, 0, 40, 0.001), "without a sample"),
    (lambda: Row("loss", rund=1), "did you mean round?"),
    (lambda: Row("loss", round=True), "column round must hold int, not True"),
    (lambda: Row("loss").mean([]), "at least"),
    (lambda: Row("loss").mean([1.0, float("nan")]), "finite"),
    (lambda: Row("loss").mean(["x", "y"]), "must be real numbers"),
    (lambda: Row("loss").number(float("nan")), "must be finite"),
    (lambda: Row("loss").counted(5, trials=4), "count=5"),
    (lambda: interval.proportion_interval(5, 4, error=0.1), "5"),
    (lambda: power.trials_for_zero(0, error=0.1), "bound"),
    (lambda: power.trials_for_mean(0, sd=1, error=0.1, power=0.9), "effect"),
    (lambda: mlp((1, 4, 4), 2, CountSketch(2, 5)), "b=5 must be <= d=2"),
    (lambda: kernels.load(None), "kernels=None is unknown"),
]
PARTS = {
    "families": FAMILIES,
    "draws": DRAWS,
    "vectors": VECTORS,
    "recoveries": RECOVERIES,
    "seeds": SEEDS,
    "privacy": PRIVACY,
    "others": OTHERS,
}
