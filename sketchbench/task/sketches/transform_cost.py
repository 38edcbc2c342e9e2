"""The cost of the transforms behind a sensing matrix: operations and run time (tang2021 §3.1, Appendices C and E)."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, NonEmpty, Range
from sketchbench.kernels import Kernels, numpy_kernels
from sketchbench.measure.cost import count_operations, exponents, time_in_turns
from sketchbench.measure.row import MEDIAN, Row

log = logging.getLogger(__name__)
BETWEEN = 1.5  # smaller exponents are nearer to that of d log d than to 2, that of a dense product
Sizes = Annotated[list[Annotated[int, Range(2)]], NonEmpty]
Work = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class TransformCost(Checked):
    """Measures transforms of one vector of d entries: `hadamard`, `cosine`, and `dense`, the product with a matrix. The
    matrix is stored. Raises ValueError for a size that is not a power of two.

    Rows by transform (`case`):
        operations, by `d`: arithmetic operations of one transform, counted in the NumPy kernel, which has the same
            algorithm as the other backends; not for `cosine`, as SciPy's code is compiled.
        operations_exponent: the slope of log operations over log d; bound: 3/2.
        seconds, by `d`: run time of one transform, the median of the repetitions.
        seconds_exponent: the number of repetitions with a slope of log seconds over log d above 3/2; bound: 1/2, for a
            probability.
        slower, by `d`: the number of repetitions in which the transform is not faster than the cosine transform; bound:
            1/2.
    """

    kernels: Kernels
    seed: int
    sizes: Sizes  # values of d for `hadamard` and `cosine`, powers of two
    dense: Sizes  # values of d for `dense`, and for the cosine transform beside it, powers of two
    repetitions: AtLeastTwo  # of each measurement of time

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sizes", "dense"):
            for d in getattr(self, name):
                if d & (d - 1):
                    raise ValueError(f"{name}={d} must be a power of two")

    def run(self) -> list[Row]:
        counted = {"hadamard": (self.sizes, numpy_kernels.walsh_hadamard), "dense": (self.dense, _product)}
        rows: list[Row] = []
        for case, (sizes, transform) in counted.items():
            counts = np.array([count_operations(transform, self._vector(d)) for d in sizes])
            rows += [Row("operations", case=case, d=d).number(count) for d, count in zip(sizes, counts, strict=True)]
            slope = float(exponents(sizes, counts.astype(float)))
            rows.append(Row("operations_exponent", case=case, bound=BETWEEN).number(slope))
        return rows + list(self._time_rows())

    def _time_rows(self) -> Iterator[Row]:
        kernels, work = self.kernels, {}
        for d in sorted({*self.sizes, *self.dense}):
            x = kernels.asarray(self._vector(d))
            work[f"cosine {d}"] = partial(self._transform, kernels.cosine, x)
            if d in self.sizes:
                work[f"hadamard {d}"] = partial(self._transform, kernels.walsh_hadamard, x)
            if d in self.dense:
                matrix = kernels.xp.ones((d, d))
                work[f"dense {d}"] = partial(self._transform, matrix.__matmul__, x)
        seconds = time_in_turns(work, self.repetitions)
        log.info("%d transforms, %d times", len(work), self.repetitions)
        for case, sizes in (("hadamard", self.sizes), ("cosine", self.sizes), ("dense", self.dense)):
            measured = np.stack([seconds[f"{case} {d}"] for d in sizes], axis=1)
            steep = int((exponents(sizes, measured) > BETWEEN).sum())
            yield Row("seconds_exponent", case=case, bound=MEDIAN).counted(steep, self.repetitions)
            for d, times in zip(sizes, measured.T, strict=True):
                yield Row("seconds", case=case, d=d, mean=float(np.median(times)))
                if case != "cosine":
                    late = int((times >= seconds[f"cosine {d}"]).sum())
                    yield Row("slower", case=case, d=d, bound=MEDIAN).counted(late, self.repetitions)

    def _vector(self, d: int) -> NDArray[np.float64]:
        return seeds.generator(self.seed, data="transform cost", d=d).standard_normal(d)

    def _transform(self, transform: Callable[[Any], Any], x: Any) -> None:
        """Transform a copy of x, as a transform may overwrite its argument, and wait for a GPU."""
        self.kernels.to_numpy(transform(x.copy()))


def _product(x: Any) -> Any:
    """The product of a d x d matrix of ones with x (d,)."""
    return np.ones((len(x), len(x))) @ x
