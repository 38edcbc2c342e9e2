"""The sampled sketch: a fixed b x d matrix R that is applied, never formed."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sketchbench.kernels import Array, Kernels

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


class Sketch(ABC):
    """A drawn sketching matrix R of shape (b, d), or a stack of T independent ones.

    One operator (`operators=None`) maps x of shape (..., d) to R x of shape (..., b), and back
    with its transpose. A stack carries its T operators on the first axis: (T, ..., d) to
    (T, ..., b), and a first axis of length 1 is shared by all of them.

    Arrays are float32 or float64, of the kernels' own kind (NumPy, or CuPy for `kernels=cupy`).
    """

    def __init__(self, d: int, b: int, kernels: Kernels, operators: int | None = None) -> None:
        self.d = d
        self.b = b
        self.kernels = kernels
        self.operators = operators

    def sketch(self, x: Array, *, check_finite: bool = True) -> Array:
        """R x along the last axis: (..., d) -> (..., b), in the dtype of x.

        Raises ValueError for a wrong length, TypeError for another dtype or kind of array; and, unless
        `check_finite=False` (which saves a pass over x and one over the result), ValueError for a
        non-finite entry of x, and OverflowError where sums of finite ones exceed the dtype's range.
        """
        return self._applied(self._sketch, self.lift(x, self.d, "d", check_finite), x, self.b, check_finite)

    def desketch(self, y: Array, *, check_finite: bool = True) -> Array:
        """The transpose, Rᵀ y along the last axis: (..., b) -> (..., d); errors as in `sketch`.

        For every family with E[RᵀR] = I, `desketch(sketch(x))` is an unbiased estimate of x
        (song2023 Theorem 4.2).
        """
        return self._applied(self._desketch, self.lift(y, self.b, "b", check_finite), y, self.d, check_finite)

    def project(self, x: Array, *, check_finite: bool = True) -> Array:
        """RᵀR x along the last axis: (..., d) -> (..., d); `desketch` of `sketch` in one step, errors as there."""
        return self._applied(self._project, self.lift(x, self.d, "d", check_finite), x, self.d, check_finite)

    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        """R of a sum of sparse vectors, for one operator: (N, b).

        Each term is a pair of indices, int32 (N, k), in ascending order, and values (N, k), float32 or
        float64; not checked. O(N k) beside what `sketch` costs.
        """
        values = terms[0][1]
        dense = self.kernels.xp.zeros((1, len(values), self.d), dtype=values.dtype)
        for at, entries in terms:
            self.kernels.spread(at[None], entries[None], dense, keep=True)
        return self._sketch(dense)[0]

    def with_workspace(self) -> "Sketch":
        """The operator with memory of its own for what it computes, where that saves allocations.

        What `desketch` returns is then good until its next call only: for inner loops.
        """
        return self

    def padded(self) -> "Sketch":
        """The operator on the padded domain that it works on; itself where nothing is padded.

        Of R P, with P padding d to n coordinates, this is R: its domain has n coordinates, and its
        transpose is not cut to the first d.
        """
        return self

    def materialize(self, dtype: DTypeLike = np.float64) -> Array:
        """R as a dense array of shape (b, d), or (T, b, d) for a stack. O(T b d) memory.

        Applies whichever of R and Rᵀ takes fewer vectors: min(b, d) of them.
        """
        identity = self.kernels.xp.eye(min(self.b, self.d), dtype=dtype)
        vectors = identity if self.operators is None else identity[None]
        if self.b < self.d:
            return self.desketch(vectors)
        return self.sketch(vectors).swapaxes(-1, -2)

    def as_linear_operator(self, dtype: DTypeLike = np.float64) -> "LinearOperator":
        """R as a SciPy LinearOperator of shape (b, d) on NumPy arrays of real numbers; one operator only.

        Raises ValueError for a stack, TypeError for another dtype than float32 or float64. The operator raises
        TypeError for complex vectors, of which R, being real, is applied to both parts by hand.
        """
        if self.operators is not None:
            raise ValueError(f"a stack of {self.operators} operators is no single linear operator")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype={np.dtype(dtype)} must be float32 or float64")

        from scipy.sparse.linalg import LinearOperator  # 0.2 s that no task needs

        def rows(x: NDArray[Any]) -> Array:
            """The columns of x as rows."""
            if np.iscomplexobj(x):
                raise TypeError(f"a vector of dtype {x.dtype} must be real; apply the operator to x.real and x.imag")
            return self.kernels.asarray(np.ascontiguousarray(x.T, dtype=dtype))

        def forward(x: NDArray[Any]) -> NDArray[Any]:
            """Columns in, columns out."""
            return np.asarray(self.kernels.to_numpy(self.sketch(rows(x))).T)

        def transpose(y: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(self.kernels.to_numpy(self.desketch(rows(y))).T)

        return LinearOperator(
            shape=(self.b, self.d),
            dtype=np.dtype(dtype),
            matvec=lambda x: forward(x.reshape(-1)),
            rmatvec=lambda y: transpose(y.reshape(-1)),
            matmat=forward,
            rmatmat=transpose,
        )

    @abstractmethod
    def _sketch(self, x: Array) -> Array:
        """R x for x of shape (T or 1, N, d), to (T, N, b); T = 1 without a stack."""

    @abstractmethod
    def _desketch(self, y: Array) -> Array:
        """Rᵀ y for y of shape (T or 1, N, b), to (T, N, d)."""

    def _project(self, x: Array) -> Array:
        """RᵀR x for x of shape (T or 1, N, d), to (T, N, d); what overrides it speaks for both of the above."""
        return self._desketch(self._sketch(x))

    def lift(self, v: Array, length: int, name: str, check_finite: bool) -> Array:
        """Check v and give it the shape (T or 1, N, length)."""
        xp = self.kernels.xp
        if not isinstance(v, xp.ndarray):
            raise TypeError(
                f"{self.kernels.NAME} kernels take arrays of {xp.__name__}, not "
                f"{type(v).__module__}.{type(v).__name__}; convert with kernels.asarray"
            )
        if v.dtype not in (np.float32, np.float64):
            raise TypeError(f"a vector of dtype {v.dtype} must be float32 or float64")
        if v.ndim == 0 or v.shape[-1] != length:
            raise ValueError(f"an array of shape {v.shape} must end in {name}={length}")
        if self.operators is not None and (v.ndim < 2 or v.shape[0] not in (1, self.operators)):
            raise ValueError(
                f"an array of shape {v.shape} for a stack of {self.operators} operators must "
                f"start with {self.operators}, or with 1 to share it among them"
            )
        if check_finite and not bool(xp.isfinite(v).all()):
            position = tuple(int(i) for i in xp.argwhere(~xp.isfinite(v))[0])
            raise ValueError(f"entry {position} of the vector is {float(v[position])}; every entry must be finite")
        return v.reshape(1 if self.operators is None else v.shape[0], -1, length)

    def _applied(
        self, operation: Callable[[Array], Array], lifted: Array, v: Array, length: int, check_finite: bool
    ) -> Array:
        """What an operation makes of v, which was lifted, with the leading axes of v; OverflowError as in `sketch`."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused below, where that is asked for
            result = self.lower(operation(lifted), v, length)
        if check_finite and not bool(self.kernels.xp.isfinite(result).all()):
            raise OverflowError(
                f"entries of the vector are finite, but their sums exceed {result.dtype}, which ends at "
                f"{np.finfo(result.dtype).max:.2g}; scale the vector down"
            )
        return result

    def lower(self, result: Array, v: Array, length: int) -> Array:
        """Give a result of shape (T, N, length) the leading axes of the argument back."""
        if self.operators is None:
            return result.reshape(*v.shape[:-1], length)
        return result.reshape(self.operators, *v.shape[1:-1], length)
