"""Array kernels: one module per backend, the same functions in each, chosen by name.

`numpy` is the reference and the fallback, `numba` the default on a CPU, `cupy` runs on a GPU.
All random bits come from Philox4x32-10, a counter-based generator of integers, so the same key
gives the same signs, buckets and rows on every backend, bit for bit, at any thread count; normal
variates agree to rounding. A draw for many operators at once is a *stack*: its first axis counts
the operators, and operator t depends on the key and on t only, not on how many are drawn with it.
"""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal, Protocol, cast

from sketchbench.parameters import choose

Array = Any  # a NumPy or a CuPy array; which one depends on the backend

PRIME = 2**31 - 1  # a Mersenne prime, larger than any dimension: the modulus of polynomial_hash
NAMES = ("numpy", "numba", "cupy")
Entries = Literal["gaussian", "signs"]  # of a dense random matrix


class Kernels(Protocol):
    """What every backend module offers. T operators, N vectors, s nonzeros per column.

    Random draws take `key` (64 bits), `stream` (which of an operator's draws this is) and `first`,
    the number of the first operator of the stack. Costs are counted for the whole stack.
    """

    NAME: str
    xp: ModuleType

    def random_words(self, key: int, stream: int, first: int, operators: int, count: int) -> Array:
        """Uniform 32-bit words, uint32, shape (T, count)."""

    def random_integers(self, key: int, stream: int, first: int, operators: int, count: int, bound: int) -> Array:
        """The same words times bound, divided by 2^32: integers in [0, bound), int32 (T, count)."""

    def random_subset(self, key: int, stream: int, first: int, operators: int, count: int, population: int) -> Array:
        """Uniform draws of `count` >= 1 of range(population) without replacement, int32 (T, count), ascending: where
        the numbers of 64 bits are smallest whose upper halves are the first `population` of 2 population
        `random_words`, and whose lower halves are the rest. O(T population)."""

    def integer_rows(
        self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int, bound: int
    ) -> Array:
        """Random integers in [0, bound) in rows `row` to `row + rows` of T matrices, int32 (T, rows, d); row 0 is that
        of `random_integers`."""

    def sign_rows(self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
        """Random signs in rows `row` to `row + rows` of T sign matrices, int8 (T, rows, d)."""

    def gaussian_rows(self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
        """Standard normals, float64 (T, rows, d): the normal quantile of (word + 1/2) / 2^32.

        The granularity ends the tails at 6.3 and lowers the variance by less than 1e-8."""

    def dense_sketch(
        self,
        entries: Entries,
        key: int,
        stream: int,
        first: int,
        operators: int,
        rows: int,
        x: Array,
    ) -> Array:
        """E x for T matrices E of `rows` rows, those of `gaussian_rows` or of `sign_rows`, that are not
        formed: x (T or 1, N, d) -> (T, N, rows). O(T rows d) to generate, O(N T rows d) to apply."""

    def dense_desketch(
        self, entries: Entries, key: int, stream: int, first: int, operators: int, d: int, y: Array
    ) -> Array:
        """The transpose: y (T or 1, N, rows) -> (T, N, d)."""

    def polynomial_hash(self, coefficients: Array, points: int) -> Array:
        """Polynomials modulo the Mersenne prime 2^31 - 1 at 0, 1, ..., points - 1.

        coefficients: uint32 (T, rows, k), each below the prime; returns uint32 (T, rows, points).
        """

    def distinct(self, words: Array, b: int) -> Array:
        """Uniform draws without replacement from range(b), by Floyd's algorithm.

        words: uint32 (T, s, d), uniform; returns int32 (T, s, d), distinct along axis 1.
        """

    def prepare(self, buckets: Array, signs: Array, b: int) -> Any:
        """The stack of sparse sign matrices whose column j holds signs[:, r, j] in row
        buckets[:, r, j], in the form that `scatter` and `gather` of this backend like best.

        buckets: int32 (T, s, d) in [0, b); signs: int8 (T, s, d), 0 drops an entry.
        """

    def scatter(self, matrix: Any, x: Array, out: Array | None = None) -> Array:
        """Apply: x (T or 1, N, d) -> (T, N, b), which is `out` where given (contiguous, of the dtype of
        x; its content doesn't matter); the order of each sum is fixed. O(T N s d)."""

    def gather(self, matrix: Any, y: Array) -> Array:
        """Apply the transpose: y (T or 1, N, b) -> (T, N, d). O(T N s d)."""

    def project(self, matrix: Any, x: Array) -> Array:
        """`gather` of `scatter`: x (T or 1, N, d) -> (T, N, d), in one pass where that is faster."""

    def median(self, matrix: Any, y: Array) -> Array:
        """Like `gather`, with the median over r (the mean of the middle two for even s) instead of the
        sum: y (T or 1, N, b) -> (T, N, d)."""

    def collect(self, v: Array, at: Array) -> Array:
        """Chosen entries: v (T or 1, N, d) and indices, int32 (T, N or 1, k), to (T, N, k). O(T N k)."""

    def spread(self, at: Array, values: Array, out: Array, keep: bool = False) -> Array:
        """The transpose of `collect`: values (T, N, k) are added to zeros, or to what is there (`keep`),
        in `out` (T, N, d), contiguous, at indices in ascending order, int32 (T, N or 1, k). Returns `out`."""

    def largest(self, x: Array, k: int) -> Array:
        """The k entries of largest magnitude in every row of x (N, d), which are finite: their indices,
        int32 (N, k), in ascending order. Of equal magnitudes the first ones are taken. O(N d)."""

    def inner(self, u: Array, v: Array) -> Array:
        """The inner products of rows: u and v (N, d), contiguous, to (N,), in their dtype. O(N d)."""

    def add_to_scaled(self, u: Array, scale: Array, v: Array) -> Array:
        """u + scale * v of rows (N, d), contiguous, with a factor for each, (N, 1), all of one dtype: it overwrites v,
        and is returned. O(N d)."""

    def scale_and_add(self, x: Array, scale: Array, terms: Sequence[tuple[Array, Array]]) -> Array:
        """scale * x of rows x (N, d), contiguous, with a factor for each, (N, 1), plus sparse vectors: pairs of
        indices, int32 (N, k), in ascending order, and values (N, k), all of one k. It overwrites x, and is returned.
        O(N d)."""

    def move_shared(self, at: Array, values: Array, others: Array, entries: Array) -> None:
        """Make two sparse vectors, whose sum stays, disjoint: where a place of `others`, int32 (N, m), is
        one of `at`, int32 (N, k), its entry is added to that of `values` (N, k), and becomes 0 in `entries` (N, m).
        Places ascend, without repeats; values and entries are overwritten. O(N (k + m))."""

    def walsh_hadamard(self, x: Array) -> Array:
        """Orthonormal Walsh-Hadamard transform of the last axis, a power of two long.

        Works in place where it can, and returns the result. O(size log n)."""

    def spread_hadamard(self, at: Array, values: Array, scale: float, out: Array) -> Array:
        """`walsh_hadamard` of scale times a sparse vector: `spread` of values (T, N, k) at indices in ascending order,
        int32 (T, N or 1, k), into `out` (T, N, n), contiguous, which is overwritten and may be what is returned."""

    def hadamard_collect(self, x: Array, at: Array, scale: float) -> Array:
        """scale times entries, `collect`ed at indices in ascending order, int32 (T, N or 1, k), of `walsh_hadamard` of
        x (T or 1, N, n), which is overwritten: (T, N, k)."""

    def spread_hadamard_collect(
        self, terms: Sequence[tuple[Array, Array]], room: Array, at: Array, scale: float
    ) -> Array:
        """The same of a sum of sparse vectors, pairs of indices and values as for `spread`: (T, N, k). `room` (T, N,
        n), contiguous, is overwritten."""

    def cosine(self, x: Array) -> Array:
        """Orthonormal DCT-II of the last axis. O(size log n)."""

    def cosine_transpose(self, x: Array) -> Array:
        """Its transpose, which is its inverse, the DCT-III."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array to be filled, contiguous, that starts with a cache line: transforms in it are faster."""

    def asarray(self, x: Any) -> Array:
        """A NumPy array, moved to where this backend computes."""

    def to_numpy(self, x: Array) -> Any:
        """The other way."""


def device_missing() -> str | None:
    """Why CuPy kernels can't run here, or None if they can."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (pip install 'sketchbench[gpu]')"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no CUDA device ({error})"
    return None if count else "CuPy finds no CUDA device"


def resolve(name: str = "auto") -> str:
    """The backend that a name stands for here: `auto` takes a GPU where there is one, else Numba.

    >>> resolve("numpy")
    'numpy'
    """
    if name == "auto":
        return "numba" if device_missing() else "cupy"
    return choose("kernels", name, ("auto", *NAMES))


def usable(name: str = "auto") -> str:
    """The backend that a name stands for, which can run here.

    Raises ValueError for an unknown name, and RuntimeError for `cupy` without a device and `numba`
    without its compiler: nothing falls back in silence.
    """
    name = resolve(name)
    if name == "cupy" and (reason := device_missing()):
        raise RuntimeError(f"kernels=cupy can't run here: {reason}; use kernels=numba or auto")
    if name == "numba" and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise RuntimeError(
            "kernels=numba can't run here: NUMBA_DISABLE_JIT takes its compiler away; unset it, or use kernels=numpy"
        )
    return name


def load(name: str = "auto") -> Kernels:
    """The backend module of a name; errors as in `usable`, and RuntimeError where Numba finds no place for what it
    compiles."""
    chosen = usable(name)
    try:
        return cast(Kernels, importlib.import_module(f"{__name__}.{chosen}_kernels"))
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        raise RuntimeError(
            "kernels=numba can't keep what it compiles, in the folder of its source or that of NUMBA_CACHE_DIR; "
            "set NUMBA_CACHE_DIR to a folder that you can write to, or use kernels=numpy"
        ) from None
