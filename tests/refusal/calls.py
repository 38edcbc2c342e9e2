"""Wrong calls of the Python API, by part of it, each with words of the message that it must get.

An error is a ValueError, a TypeError, or an ArithmeticError where right numbers lead out of the range of theirs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sketchbench import kernels, seeds
from sketchbench.dataset import partition
from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.measure import interval, power
from sketchbench.measure.row import Row
from sketchbench.model.networks import mlp
from sketchbench.objective.sparse_gradients import SparseGradients
from sketchbench.parameters import choose
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Parallel, SampledGaussian, mean_step
from sketchbench.privacy.sampling import Sampling
from sketchbench.recovery import FIHT, IHT, CountSketchMedian, Desketch
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

NUMPY = kernels.load("numpy")
ONE = CountSketch(16, 8).draw(1, kernels=NUMPY)
STACK = CountSketch(16, 8).draw(1, operators=3, kernels=NUMPY)
PHI = SubsampledHadamard(16, 8, signs=False).draw(1, kernels=NUMPY)
DENSE = Gaussian(16, 8).draw(1, kernels=NUMPY)
X, Y = np.ones(16), np.ones(8)
LABELS = np.repeat(np.arange(4), 10)
FULL = Sampling("full", 10, 10)
RELEASE = GaussianRelease(1.0, 2.0)
STEP = SampledGaussian(RELEASE, Sampling("poisson", 2, 10), "add_remove")
Wrong = tuple[Callable[[], Any], str]


def _with(x: Any, value: Any) -> Any:
    """A copy with this value at place 3."""
    changed = np.array(x, copy=True)
    changed[3] = value
    return changed


FAMILIES: list[Wrong] = [
    *(
        (partial(CountSketch, d, 4), words)
        for d, words in [
            (0, "dimension d=0 must be >= 1"),
            (-1, "dimension d=-1 must be >= 1"),
            (1.5, "dimension d=1.5 must be an integer"),
            ("8", "dimension d='8' must be an integer"),
            (None, "dimension d=None must be an integer"),
            (True, "dimension d=True must be an integer"),
            (np.int64(8), "must be an integer; write int(...)"),
            (np.float64(8), "must be an integer"),
            (float("nan"), "dimension d=nan must be an integer"),
            ([8], "dimension d=[8] must be an integer"),
            (8 + 0j, "must be an integer"),
        ]
    ),
    *(
        (partial(CountSketch, 8, b), words)
        for b, words in [
            (0, "sketch size b=0 must satisfy 1 <= b"),
            (-2, "sketch size b=-2 must satisfy 1 <= b"),
            (2.0, "sketch size b=2.0 must be an integer"),
            (False, "sketch size b=False must be an integer"),
            (np.int32(2), "must be an integer; write int(...)"),
            ("x", "sketch size b='x' must be an integer"),
        ]
    ),
    (lambda: CountSketch(8, 4, hashing="sha"), "hashing=sha is unknown"),
    (lambda: CountSketch(8, 4, hashing=3), "hashing=3 is unknown"),
    (lambda: AMS(8, 4, hashing=None), "hashing=None is unknown"),
    (lambda: AMS(8, 4, hashing="ful"), "did you mean full?"),
    (lambda: UniformSampling(8, 9), "needs b <= d=8"),
    (lambda: SubsampledHadamard(8, 9), "lower b"),
    (lambda: SubsampledHadamard(8, 4, replacement=3), "replacement=3 must be true or false"),
    (lambda: SubsampledHadamard(8, 4, signs="x"), "signs='x' must be true or false"),
    (lambda: SubsampledCosine(8, 9), "lower b"),
    (lambda: BalancedCountSketch(8, 3), "set remainder=paper"),
    (lambda: BalancedCountSketch(8, 4, remainder="all"), "remainder=all is unknown"),
    (lambda: SparseEmbedding(8, 4, s=5), "1 <= s <= b=4"),
    (lambda: SparseEmbedding(8, 4, s=1.5), "s=1.5 must be an integer"),
    (lambda: SparseEmbedding(8, 4, s="2"), "s='2' must be an integer"),
    (lambda: SparseEmbedding(8, 4, s=True), "s=True must be an integer"),
    (lambda: BlockSparseEmbedding(8, 4, s=3), "multiple of the number of blocks s=3"),
    (lambda: BlockSparseEmbedding(8, 4, s=0), "s=0"),
    (lambda: Identity(8, 4), "b=4"),
]
DRAWS: list[Wrong] = [
    *(
        (partial(CountSketch(8, 4).draw, key, kernels=NUMPY), words)
        for key, words in [
            (-1, "key=-1 must be an integer of 64 bits"),
            (2**64, "must be an integer of 64 bits"),
            (1.5, "key=1.5 must be an integer"),
            (float("nan"), "key=nan must be an integer"),
            (True, "key=True must be an integer"),
            ("1", "key='1' must be an integer"),
            (None, "key=None must be an integer"),
            (np.uint64(1), "must be an integer; write int(...)"),
        ]
    ),
    *(
        (partial(CountSketch(8, 4).draw, 1, operators=count, kernels=NUMPY), words)
        for count, words in [
            (0, "operators=0 must be >= 1"),
            (-1, "operators=-1 must be >= 1"),
            (1.5, "operators=1.5 must be an integer"),
            (True, "operators=True must be an integer"),
            (False, "operators=False must be an integer"),
            (2**40, "exceed 0 to 2^32"),
            ("2", "operators='2' must be an integer"),
        ]
    ),
    (lambda: CountSketch(8, 4).draw(1, first=-1, kernels=NUMPY), "exceed 0 to 2^32"),
    (lambda: CountSketch(8, 4).draw(1, first=0.5, kernels=NUMPY), "first=0.5 must be an integer"),
    (lambda: CountSketch(8, 4).draw(1, kernels="fast"), "kernels=fast is unknown"),
    (lambda: CountSketch(8, 4).draw(1, kernels="nunba"), "did you mean numba?"),
    (lambda: CountSketch(8, 4).draw(1, kernels=None), "kernels=None"),
    (lambda: CountSketch(8, 4).draw(1, kernels=3), "kernels=3"),
]
VECTORS: list[Wrong] = [
    *(
        (partial(side, v), words)
        for side in (ONE.sketch, ONE.project)
        for v, words in [
            (np.ones(17), "must end in d=16"),
            (np.ones((16, 2)), "must end in d=16"),
            (np.ones(()), "must end in d=16"),
            (np.ones(16, dtype=int), "must be float32 or float64"),
            (np.ones(16, dtype=complex), "must be float32 or float64"),
            (np.ones(16, dtype=np.float16), "must be float32 or float64"),
            (np.ones(16, dtype=bool), "must be float32 or float64"),
            (np.array(["x"] * 16), "must be float32 or float64"),
            (np.array([None] * 16), "must be float32 or float64"),
            (np.ones(16, dtype=">f8"), "dtype >f8 must be float32 or float64"),
            ([1.0] * 16, "convert with kernels.asarray"),
            (1.0, "convert with kernels.asarray"),
            (None, "convert with kernels.asarray"),
            (_with(X, np.nan), "entry (3,) of the vector is nan"),
            (_with(X, np.inf), "entry (3,) of the vector is inf"),
            (_with(X, -np.inf), "entry (3,) of the vector is -inf"),
        ]
    ),
    (lambda: DENSE.sketch(1e308 * X), "their sums exceed float64"),
    (lambda: AMS(64, 1).draw(1, kernels=NUMPY).project(np.full(64, 1.7e308)), "their sums exceed float64"),
    (lambda: DENSE.sketch(np.full(16, 3e38, dtype=np.float32)), "their sums exceed float32"),
    (lambda: DENSE.desketch(np.full(8, 1.7e308)), "their sums exceed float64"),
    (lambda: DENSE.project(1e308 * X), "their sums exceed float64"),
    (lambda: STACK.sketch(X), "for a stack of 3 operators"),
    (lambda: STACK.sketch(np.ones((2, 16))), "for a stack of 3 operators"),
    (lambda: ONE.desketch(X), "must end in b=8"),
    (lambda: ONE.as_linear_operator() @ (X + 1j), "must be real"),
    (lambda: ONE.as_linear_operator().T @ (Y + 1j), "must be real"),
    (lambda: ONE.as_linear_operator() @ np.ones((16, 2), dtype=complex), "must be real"),
    (lambda: ONE.as_linear_operator(dtype=complex), "must be float32 or float64"),
    (lambda: ONE.as_linear_operator(dtype=int), "must be float32 or float64"),
    (lambda: ONE.as_linear_operator() @ _with(X, np.nan), "every entry must be finite"),
    (lambda: ONE.as_linear_operator() @ np.array(["x"] * 16), "x"),
    (STACK.as_linear_operator, "is no single linear operator"),
    (lambda: ONE.materialize(dtype=int), "must be float32 or float64"),
]
RECOVERIES: list[Wrong] = [
    (lambda: FIHT(k=0), "k=0 must be >= 1"),
    (lambda: FIHT(k=1.5), "k=1.5 must be an integer"),
    (lambda: FIHT(k=np.int64(2)), "must be an integer; write int(...)"),
    (lambda: FIHT(k=True), "k=True must be an integer"),
    (lambda: FIHT(k=2, stopping="papr"), "did you mean paper?"),
    (lambda: FIHT(k=2, support="all"), "support=all is unknown"),
    (lambda: FIHT(k=2, iterations=0), "iterations=0 must be >= 1"),
    (lambda: IHT(k=-2), "k=-2 must be >= 1"),
    (lambda: FIHT(k=17).recover(PHI, Y), "k=17 must be <= d=16"),
    (lambda: FIHT(k=2).recover(STACK, Y), "takes one operator, not a stack of 3"),
    (lambda: FIHT(k=2).recover(PHI, X), "must end in b=8"),
    (lambda: FIHT(k=2).recover(PHI, [1.0] * 8), "convert with kernels.asarray"),
    (lambda: FIHT(k=2).recover(PHI, 1e300 * Y), "so that their squares can be summed"),
    (lambda: IHT(k=2).recover(PHI, 1e160 * Y), "so that their squares can be summed"),
    (lambda: FIHT(k=2).recover(PHI, np.full(8, 1e30, dtype=np.float32)), "in float32; scale them down"),
    (lambda: FIHT(k=2).recover(PHI, _with(Y, np.nan)), "every entry must be finite"),
    (lambda: CountSketchMedian(k=2).recover(PHI, Y), "use BlockSparseEmbedding or CountSketch"),
    (lambda: Desketch(k=2).recover(ONE, Y + 0j), "must be float32 or float64"),
    (lambda: Desketch(k=2).recover(DENSE, np.full(8, 1.7e308)), "scale them down"),
]
SEEDS: list[Wrong] = [
    *(
        (partial(make, root), words)
        for make in (seeds.key, seeds.generator)
        for root, words in [
            (-1, "root seed -1 must be >= 0"),
            (1.5, "root seed 1.5 must be an integer"),
            (float("nan"), "root seed nan must be an integer"),
            (True, "root seed True must be an integer"),
            ("1", "root seed '1' must be an integer"),
            (None, "root seed None must be an integer"),
            (np.int64(1), "must be an integer; of NumPy's, write int(...)"),
        ]
    ),
    (lambda: seeds.key(1, x=1.5), "axis x=1.5 must be an integer or a text"),
    (lambda: seeds.key(1, x=True), "axis x=True must be an integer or a text"),
    (lambda: seeds.key(1, x=None), "axis x=None must be an integer or a text"),
    (lambda: seeds.key(1, x=[1]), "axis x=[1] must be an integer or a text"),
    (lambda: seeds.key(1, x=np.int64(3)), "must be an integer or a text"),
]
PRIVACY: list[Wrong] = [
    *(
        (partial(Sampling, *arguments), words)
        for arguments, words in [
            (("poison", 1, 2), "did you mean poisson?"),
            (("poisson", 0, 2), "batch=0 must be >= 1"),
            (("poisson", 1.5, 2), "batch=1.5 must be an integer"),
            (("poisson", True, 2), "batch=True must be an integer"),
            (("poisson", 1, 2.5), "records=2.5 must be an integer"),
            (("poisson", 3, 2), "1 <= batch <= 2"),
            (("full", 1, 2), "name another sampling"),
            (("poisson", float("nan"), 2), "batch=nan must be an integer"),
            (("poisson", np.int64(1), 2), "write int(...)"),
        ]
    ),
    *(
        (partial(GaussianRelease, *arguments), words)
        for arguments, words in [
            ((0, 1), "sensitivity=0 must be > 0"),
            ((1, 0), "sigma=0 must be > 0"),
            ((1, -1), "sigma=-1 must be > 0"),
            ((1, float("nan")), "sigma=nan must be finite"),
            ((float("inf"), 1), "sensitivity=inf must be finite"),
            (("1", 1), "sensitivity='1' must be a number"),
            ((True, 1), "sensitivity=True must be a number"),
            ((1, 1j), "sigma=1j must be a number"),
        ]
    ),
    (lambda: Composed(RELEASE, 0), "times=0 must be >= 1"),
    (lambda: Composed(RELEASE, 1.5), "times=1.5 must be an integer"),
    (lambda: Composed(RELEASE, True), "times=True must be an integer"),
    (lambda: SampledGaussian(RELEASE, FULL, "replace"), "did you mean replace_one?"),
    (lambda: SampledGaussian(RELEASE, Sampling("poisson", 1, 2), "replace_one"), "known for neighbours=add_remove"),
    (lambda: Parallel((), ()), "must be as many"),
    (lambda: Parallel((RELEASE,), ()), "must be as many"),
    (lambda: Parallel((RELEASE, RELEASE), (frozenset({1}), frozenset({1}))), "share record 1"),
    (lambda: epsilon("exakt", RELEASE, 0.1), "did you mean exact?"),
    *(
        (partial(epsilon, "exact", RELEASE, delta), words)
        for delta, words in [
            (0, "delta=0 must satisfy 0 < delta < 1"),
            (1, "delta=1 must satisfy 0 < delta < 1"),
            (-1, "delta=-1 must satisfy 0 < delta < 1"),
            (float("nan"), "delta=nan must be finite"),
            ("x", "delta='x' must be a number"),
            (None, "delta=None must be a number"),
        ]
    ),
    (lambda: epsilon("exact", STEP, 0.1), "use pld"),
    (lambda: epsilon("exact", 3, 0.1), "must be a mechanism"),
    (lambda: calibrated_sigma("exact", RELEASE, 0, 0.1), "epsilon=0 must be > 0"),
    (lambda: calibrated_sigma("exact", RELEASE, float("nan"), 0.1), "goal=nan must be finite"),
    (lambda: calibrated_sigma("exact", RELEASE, "x", 0.1), "goal='x' must be a number"),
    (lambda: mean_step(0, 1, FULL, "replace_one"), "sensitivity=0"),
]
OTHERS: list[Wrong] = [
    *(
        (partial(partition.iid, *arguments), words)
        for arguments, words in [
            ((LABELS, 0, 0), "clients=0 must be >= 1"),
            ((LABELS, 0, 1.5), "clients=1.5 must be an integer"),
            ((LABELS, 0, 41), "clients=41 must be <= 40"),
            ((LABELS, -1, 4), "root seed -1 must be >= 0"),
            ((LABELS, 1.5, 4), "seed=1.5 must be an integer"),
            ((LABELS, True, 4), "seed=True must be an integer"),
            ((LABELS, 0, 4, 3), "balanced=3 must be true or false"),
            ((3, 0, 4), "labels"),
            ((np.ones((2, 3)), 0, 2), "labels"),
            ((np.ones(8), 0, 2), "labels"),
        ]
    ),
    (lambda: partition.one_class(LABELS, 0, 4, 0), "samples=0 must be >= 1"),
    (lambda: partition.one_class(LABELS, 0, 4, 11), "need more than the 10"),
    (lambda: partition.dirichlet(LABELS, 0, 4, 0), "alpha=0 must be > 0"),
    (lambda: partition.dirichlet(LABELS, 0, 4, float("inf")), "alpha=inf must be finite"),
    (lambda: partition.dirichlet(LABELS, 0, 40, 0.001), "without a sample"),
    (lambda: Row("loss", nope=1), "column nope is unknown"),
    (lambda: Row("loss", rund=1), "did you mean round?"),
    (lambda: Row("loss", round="x"), "column round must hold int, not 'x'"),
    (lambda: Row("loss", round=True), "column round must hold int, not True"),
    (lambda: Row("loss", round=1.5), "column round must hold int, not 1.5"),
    (lambda: Row("loss", bound="abc"), "column bound must hold float, not 'abc'"),
    (lambda: Row("loss", bound=np.float64(1)), "column bound must hold float"),
    (lambda: Row(3), "column quantity must hold str"),
    (lambda: Row("loss").mean([]), "at least"),
    (lambda: Row("loss").mean([1.0, float("nan")]), "finite"),
    (lambda: Row("loss").mean([float("inf")]), "finite"),
    (lambda: Row("loss").mean(["x", "y"]), "could not convert"),
    (lambda: Row("loss").number(float("nan")), "must be finite"),
    (lambda: Row("loss").counted(5, trials=4), "count=5"),
    (lambda: Row("loss").counted(-1, trials=4), "count=-1"),
    (lambda: Row("loss").counted(1.5, trials=4), "count=1.5"),
    (lambda: interval.proportion_interval(5, 4, error=0.1), "5"),
    (lambda: interval.proportion_interval(1, 4, error=0), "error"),
    (lambda: interval.proportion_interval(1, 4, error=float("nan")), "error"),
    (lambda: power.trials_for_zero(0, error=0.1), "bound"),
    (lambda: power.trials_for_zero(0.1, error=2), "error"),
    (lambda: power.trials_for_mean(0, sd=1, error=0.1, power=0.9), "effect"),
    (lambda: mlp((1, 4, 4), 2, hidden=[0]), "hidden=0 must be >= 1"),
    (lambda: mlp((1, 4, 4), 2, hidden=3), "hidden=3 must be a list"),
    (lambda: mlp((1, 4, 4), 2, CountSketch(2, 5)), "b=5 must be <= d=2"),
    (lambda: kernels.load("cuda"), "kernels=cuda is unknown"),
    (lambda: kernels.load(None), "kernels=None is unknown"),
    (lambda: choose("case", True, [1, 2]), "case=True is unknown"),
    (lambda: SparseGradients(NUMPY, d=0, clients=2, seed=0, decay=2.0), "d=0 must be >= 1"),
    (lambda: SparseGradients(NUMPY, d=8, clients=1.5, seed=0, decay=2.0), "clients=1.5 must be an integer"),
    (lambda: CompressedSensingSGD(FIHT(k=2), rate=0), "rate=0 must be > 0"),
    (lambda: CompressedSensingSGD(FIHT(k=2), rate=float("nan")), "rate=nan must be finite"),
    (lambda: CompressedSensingSGD(FIHT(k=2), rate=1, clients="men"), "did you mean mean?"),
    (lambda: IterativeSketching(CountSketch(8, 4), 0), "local_rate=0 must be > 0"),
    (lambda: IterativeSketching(CountSketch(8, 4), 1, local_steps=1.5), "local_steps=1.5 must be an integer"),
    (lambda: IterativeSketching(CountSketch(8, 4), 1, fresh=3), "fresh=3 must be true or false"),
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
