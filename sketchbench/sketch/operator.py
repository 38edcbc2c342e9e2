"""Operators: drawn b × d matrices R, which are applied without being stored."""

import copyreg
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sketchbench import kernels as backends
from sketchbench.kernels import Array, Kernels
from sketchbench.measure import numbers
from sketchbench.sketch import sizes

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from sketchbench.sketch.family import Family


class Drawn(NamedTuple):
    """The origin of an operator: the arguments of `Family.draw`, and the methods that have changed its form since."""

    family: "Family"
    key: int
    operators: int | None
    first: int
    kernels: str | Kernels
    forms: tuple[str, ...] = ()


class Sketch(ABC):
    """A drawn sketching matrix R of shape (b, d), or a stack of T independent ones; `Family.draw` makes it.

    A single operator (`operators=None`) maps x of shape (..., d) to R x of shape (..., b), and its transpose maps back.
    A stack (`operators=T`) applies operator t to entry t of the first axis: (T, ..., d) to (T, ..., b); all operators
    share a first axis of length 1. Arrays are float32 or float64, and NumPy's, or CuPy's with `kernels=cupy`. Results
    have the dtype of the argument.

    Operators are values, equal for the same family, key, number, form and backend. `pickle`, `copy` and `torch.save`
    keep these, not the matrix, and draw it again; so a copy costs a draw, and loading needs the backend. To write an
    operator: a subclass with `_sketch` and `_desketch`.
    """

    drawn: Drawn | None = None  # set by `Family.draw`

    def __init__(self, d: int, b: int, kernels: Kernels, operators: int | None = None) -> None:
        self.d = d
        self.b = b
        self.kernels = kernels
        self.operators = operators

    def __eq__(self, other: object) -> bool:
        if self.drawn is None or not isinstance(other, Sketch) or other.drawn is None:
            return self is other
        return (self.d, self.b, *self.drawn[:-1]) == (other.d, other.b, *other.drawn[:-1])

    def __hash__(self) -> int:
        if self.drawn is None:
            return object.__hash__(self)
        _, key, operators, first, *_ = self.drawn
        return hash((self.d, self.b, key, operators, first))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.drawn is None:  # made by hand, so keep its attributes
            return (
                copyreg.__newobj__,  # type: ignore[attr-defined]
                (type(self),),
                {**vars(self), "kernels": name_of(self.kernels)},
            )
        return draw_again, tuple(self.drawn)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, kernels=load(state["kernels"]))

    def sketch(self, x: Array, *, check_finite: bool = True) -> Array:
        """R x along the last axis: (..., d) -> (..., b), in the dtype of x, float32 or float64. Looking for non-finite
        entries (`check_finite`) takes a pass over x and one over the result. Raises ValueError for a wrong length, or a
        non-finite entry of x; TypeError for another dtype or kind of array; OverflowError if sums of finite entries
        exceed the dtype; MemoryError if the result exceeds the free memory."""
        return self._evaluate(self._sketch, self.lift(x, self.d, "d", check_finite), x, self.b, check_finite)

    def desketch(self, y: Array, *, check_finite: bool = True) -> Array:
        """Rᵀ y along the last axis: (..., b) -> (..., d), with the arguments and errors of `sketch`. If E[RᵀR] = I,
        `desketch(sketch(x))` is an unbiased estimate of x (song2023 Theorem 4.2)."""
        return self._evaluate(self._desketch, self.lift(y, self.b, "b", check_finite), y, self.d, check_finite)

    def project(self, x: Array, *, check_finite: bool = True) -> Array:
        """RᵀR x along the last axis: (..., d) -> (..., d), with the arguments and errors of `sketch`."""
        return self._evaluate(self._project, self.lift(x, self.d, "d", check_finite), x, self.d, check_finite)

    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        """R x (N, b) for sums x of sparse vectors: N by a single operator, or one by each operator of a stack. It costs
        at most O(N k) more than `sketch` does for a dense x. Terms are pairs of ascending indices, int32 (N, k), and
        values (N, k), float32 or float64; not checked."""
        values = terms[0][1]
        entries = len(values) * max(self.b, self.d)
        if entries > sizes.UNCHECKED:
            self._check_memory(entries, values.dtype)
        dense = self.kernels.xp.zeros((*self._axes(len(values)), self.d), dtype=values.dtype)
        for at, entries in terms:
            self.kernels.spread(self._lift_rows(at), self._lift_rows(entries), dense, keep=True)
        return self._sketch(dense).reshape(len(values), self.b)

    def select(self, mask: Array) -> "Sketch":
        """The operators of a stack selected by a mask, booleans (T,), as a stack; a single operator itself."""
        return self if self.operators is None else self._select(mask)

    def _select(self, mask: Array) -> "Sketch":
        """`select` of a stack, by applying the whole stack; override it if the other operators can be left out."""
        return _Selected(self, mask)

    def join(self, others: Sequence["Sketch"]) -> "Sketch":
        """A stack of this single operator, and others of its family. Raises TypeError for operators that can't be
        joined; ValueError for a stack, or another kind, size or backend."""
        form = (type(self), self.d, self.b, self.kernels.NAME, None)
        if other := [
            one for one in (self, *others) if (type(one), one.d, one.b, one.kernels.NAME, one.operators) != form
        ]:
            raise ValueError(
                f"{other[0]!r} must be a single operator of the kind and sizes of those it joins, {form[:3]}"
            )
        return self._join(others)

    def _join(self, others: Sequence[Any]) -> "Sketch":
        raise TypeError(f"operators of {type(self).__name__} can't be joined; draw them as a stack")

    def with_workspace(self) -> "Sketch":
        """The same operator with memory for intermediate results, which saves allocations in inner loops. The next call
        of `desketch` may overwrite the last result."""
        return self

    def padded(self) -> "Sketch":
        """The operator without its zero padding: Q, if this operator is Q P, with P padding d to n coordinates. Its
        domain has n coordinates, its transpose is not cut to the first d. Without padding, the operator itself."""
        return self

    def materialize(self, dtype: DTypeLike = np.float64) -> Array:
        """R as a dense array (b, d), or (T, b, d) for a stack. It costs min(b, d) applications of R or Rᵀ."""
        stack = self.operators or 1
        nbytes = stack * self.b * self.d * np.dtype(dtype).itemsize
        sizes.check_memory(self.kernels, nbytes, f"a matrix of shape ({stack}, {self.b}, {self.d})")
        identity = self.kernels.xp.eye(min(self.b, self.d), dtype=dtype)
        vectors = identity if self.operators is None else identity[None]
        if self.b < self.d:
            return self.desketch(vectors)
        return self.sketch(vectors).swapaxes(-1, -2)

    def as_linear_operator(self, dtype: DTypeLike = np.float64) -> "LinearOperator":
        """R as a SciPy LinearOperator of shape (b, d), for real NumPy arrays of a dtype, float32 or float64. Raises
        ValueError for a stack, TypeError for another dtype; when applied, the LinearOperator raises TypeError for
        complex vectors."""
        if self.operators is not None:
            raise ValueError(
                f"a stack of {self.operators} operators is not a single linear operator; draw it without `operators`"
            )
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype={np.dtype(dtype)} must be float32 or float64")

        from scipy.sparse.linalg import LinearOperator  # 0.2 s that no task needs

        def rows(x: NDArray[Any]) -> Array:
            """The columns of x as rows, on the backend."""
            if np.iscomplexobj(x):
                raise TypeError(f"a vector of dtype {x.dtype} must be real; apply the operator to x.real and x.imag")
            return self.kernels.asarray(np.ascontiguousarray(x.T, dtype=dtype))

        def forward(x: NDArray[Any]) -> NDArray[Any]:
            """R x for the columns of x (d, N): (b, N)."""
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

    def _formed(self, form: str, **changed: Any) -> Self:
        """This operator with changed attributes, as its method `form` returns it. Arrays are shared."""
        drawn = self.drawn and self.drawn._replace(forms=tuple(dict.fromkeys((*self.drawn.forms, form))))
        return self._changed(drawn=drawn, **changed)

    def _changed(self, *, drawn: Drawn | None = None, **changed: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self), drawn=drawn, **changed)
        return other

    def _axes(self, count: int) -> tuple[int, int]:
        """The first axes of `count` vectors, N by a single operator, or one by each operator of a stack."""
        return (1, count) if self.operators is None else (count, 1)

    def _lift_rows(self, v: Array) -> Array:
        """Rows (N, k), with the first axes of `_axes`."""
        return v.reshape(*self._axes(len(v)), v.shape[-1])

    @abstractmethod
    def _sketch(self, x: Array) -> Array:
        """R x for x of shape (T or 1, N, d): (T, N, b), where T = 1 for a single operator."""

    @abstractmethod
    def _desketch(self, y: Array) -> Array:
        """Rᵀ y for y of shape (T or 1, N, b): (T, N, d)."""

    def _project(self, x: Array) -> Array:
        """RᵀR x for x of shape (T or 1, N, d): (T, N, d). Override it if one pass is faster than two."""
        return self._desketch(self._sketch(x))

    def lift(self, v: Array, length: int, name: str, check_finite: bool) -> Array:
        """Check v (..., length) and reshape it to (T or 1, N, length); errors as in `sketch`, with the length's
        `name`."""
        xp = self.kernels.xp
        if isinstance(v, np.ma.MaskedArray):
            raise TypeError("the mask of a masked array would be ignored; pass its filled(...) entries")
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
        v = xp.asarray(v)  # np.matrix, and classes of the caller, have operators of their own
        if check_finite:
            numbers.check_finite("the vector", v, xp)
        return v.reshape(1 if self.operators is None else v.shape[0], -1, length)

    def _evaluate(
        self, operation: Callable[[Array], Array], lifted: Array, v: Array, length: int, check_finite: bool
    ) -> Array:
        """Apply an operation to `lifted`; the result has the leading axes of v. OverflowError as in `sketch`."""
        entries = (self.operators or 1) * lifted.shape[1] * max(length, self.b)
        if entries > sizes.UNCHECKED:
            self._check_memory(entries, v.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # raised below, if check_finite
            result = self.lower(operation(lifted), v, length)
        if check_finite and not bool(self.kernels.xp.isfinite(result).all()):
            raise OverflowError(
                f"entries of the vector are finite, but their sums exceed {result.dtype}, which ends at "
                f"{np.finfo(result.dtype).max:.2g}; scale the vector down"
            )
        return result

    def _check_memory(self, entries: int, dtype: np.dtype[Any]) -> None:
        what = f"the result of an operator with d={self.d}, b={self.b}"
        sizes.check_memory(self.kernels, entries * dtype.itemsize, what)

    def lower(self, result: Array, v: Array, length: int) -> Array:
        """Reshape a result (T, N, length) to the leading axes of the argument v."""
        if self.operators is None:
            return result.reshape(*v.shape[:-1], length)
        return result.reshape(self.operators, *v.shape[1:-1], length)


class _Selected(Sketch):
    def __init__(self, stack: Sketch, mask: Array) -> None:
        super().__init__(stack.d, stack.b, stack.kernels, int(mask.sum()))
        self._whole, self._mask = stack, mask

    def _sketch(self, x: Array) -> Array:
        return self._whole._sketch(self._fill(x))[self._mask]

    def _desketch(self, y: Array) -> Array:
        return self._whole._desketch(self._fill(y))[self._mask]

    def _fill(self, v: Array) -> Array:
        full = self.kernels.xp.zeros((len(self._mask), *v.shape[1:]), dtype=v.dtype)
        full[self._mask] = v
        return full


def draw_again(
    family: "Family", key: int, operators: int | None, first: int, kernels: str | Kernels, forms: tuple[str, ...] = ()
) -> Sketch:
    """Draw the operator that `Drawn` describes, for `pickle`. Raises RuntimeError if its kernels cannot run here,
    ValueError for another form than `padded` and `with_workspace`."""
    sketch = family.draw(key, operators=operators, first=first, kernels=kernels)
    for form in forms:
        if form not in ("padded", "with_workspace"):
            raise ValueError(f"form={form!r} of an operator must be padded or with_workspace")
        sketch = getattr(sketch, form)()
    return sketch


def name_of(kernels: Kernels) -> str | Kernels:
    """The name of kernels, for `load`; a user's own kernels themselves."""
    return kernels.NAME if kernels.NAME in backends.NAMES else kernels


def load(kernels: str | Kernels) -> Kernels:
    """Kernels, given themselves or by name."""
    return backends.load(kernels) if isinstance(kernels, str) else kernels
