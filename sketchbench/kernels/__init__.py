"""Kernels: random bits and array operations, with the same functions in one module for each backend.
`numpy` is the reference, `numba` the default on a CPU, and `cupy` runs on a GPU. Random bits come from Philox4x32-10, a
counter-based generator of integers, so a key gives the same signs, buckets and rows on every backend, bit for bit, at
any number of threads; normal variates agree to rounding. A draw for many operators at once is a *stack*: the first axis
counts operators, and operator t depends on the key and t only, not on the size of the stack."""

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Literal, Protocol, cast

from sketchbench.base.parameters import choose

Array = Any  # an array of the backend: NumPy's or CuPy's

PRIME = 2**31 - 1  # a Mersenne prime, the modulus of polynomial_hash; dimensions are smaller
WIDE = 2**31  # bounds above it need numbers of 64 bits
NAMES = ("numpy", "numba", "cupy")
Entries = Literal["gaussian", "signs"]  # distribution of the entries of a dense random matrix


def index_type(bound: int) -> str:
    """The dtype of integers from 0 to bound - 1: `int32` if they fit, else `int64`."""
    return "int32" if bound <= WIDE else "int64"


class Kernels(Protocol):
    """The functions and names of a backend module, such as its array module `xp`, `numpy` or `cupy`.

    Numbers of rows and columns, and indices, called int32 here, are int64 if their bound exceeds 2^31. A row of random
    words has at most 2^34 of them, and a matrix 2^32 rows (`Draws` rejects more). Shapes are in terms of T operators, N
    vectors and s nonzeros per column. Random draws take `key` (64 bits), `stream` (a number that tells draws of an
    operator apart, 0 to 2^32 - 1), `first` (the number of the first operator) and `operators` (T). Costs are for the
    whole stack.
    """

    NAME: str
    xp: ModuleType

    def random_words(self, key: int, stream: int, first: int, operators: int, count: int) -> Array:
        """Uniform 32-bit words, uint32 (T, count)."""

    def random_integers(self, key: int, stream: int, first: int, operators: int, count: int, bound: int) -> Array:
        """Integers in [0, bound), int32 (T, count): ⌊word bound / 2^32⌋ for the words of `random_words`. Bounds above
        2^31 use 64 bits, words 2 i and 2 i + 1: ⌊(2^32 word + word) bound / 2^64⌋."""

    def random_subset(self, key: int, stream: int, first: int, operators: int, count: int, population: int) -> Array:
        """Uniform samples of `count` >= 1 of range(population) without replacement, int32 (T, count), ascending: the
        items of the smallest 64-bit keys. For item i, word i of 2 population `random_words` is the key's upper half,
        word population + i its lower half. O(T population)."""

    def integer_rows(
        self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int, bound: int
    ) -> Array:
        """`random_integers` as rows `row` to `row + rows` of T matrices, int32 (T, rows, d); row 0 is the same."""

    def sign_rows(self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
        """Rows `row` to `row + rows` of T matrices of random signs, int8 (T, rows, d)."""

    def gaussian_rows(self, key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
        """Rows `row` to `row + rows` of T matrices of standard normals, float64 (T, rows, d): normal quantiles of (word
        + 1/2) / 2^32. This granularity ends the tails at 6.3 and lowers the variance by less than 1e-8."""

    def dense_sketch(
        self, entries: Entries, key: int, stream: int, first: int, operators: int, rows: int, x: Array
    ) -> Array:
        """E x for T matrices E with the first `rows` rows of `gaussian_rows` or `sign_rows`, which are not stored. x (T
        or 1, N, d) -> (T, N, rows). O(T rows d) to generate entries, O(N T rows d) to multiply."""

    def dense_desketch(
        self, entries: Entries, key: int, stream: int, first: int, operators: int, d: int, y: Array
    ) -> Array:
        """Eᵀ y for the matrices of `dense_sketch`: y (T or 1, N, rows) -> (T, N, d)."""

    def polynomial_hash(self, coefficients: Array, points: int) -> Array:
        """Polynomials modulo the Mersenne prime 2^31 - 1 at 0, 1, ..., points - 1: uint32 (T, rows, points).
        Coefficients are uint32 (T, rows, k), the highest power first, each below the prime."""

    def distinct(self, words: Array, b: int) -> Array:
        """Uniform samples of s of range(b) without replacement, by Floyd's algorithm: int32 (T, s, d), distinct along
        axis 1. The uniform words are uint32 (T, s, d), or uint64 for b > 2^31."""

    def prepare(self, buckets: Array, signs: Array, b: int) -> Any:
        """Make a stack of sparse matrices, in this backend's form, for `scatter`, `gather`, `project` and `median`.
        Column j of matrix t has the entries signs[t, r, j] in the rows buckets[t, r, j], r = 0, ..., s - 1. Buckets are
        int32 (T, s, d) in [0, b), signs int8 (T, s, d), 1 or -1; 0 leaves an entry out."""

    def scatter(self, matrix: Any, x: Array, out: Array | None = None) -> Array:
        """Multiply by a stack of sparse matrices: x (T or 1, N, d) -> (T, N, b). O(T N s d). The order of each sum is
        fixed. `out`, contiguous and of the dtype of x, is overwritten with the result."""

    def gather(self, matrix: Any, y: Array) -> Array:
        """Multiply by the transposes of a stack of sparse matrices: y (T or 1, N, b) -> (T, N, d). O(T N s d)."""

    def project(self, matrix: Any, x: Array) -> Array:
        """`gather` of `scatter`: x (T or 1, N, d) -> (T, N, d), in one pass if that is faster."""

    def median(self, matrix: Any, y: Array) -> Array:
        """`gather` with the median of a column's s entries instead of the sum; for even s the middle two's mean."""

    def collect(self, v: Array, at: Array) -> Array:
        """The entries of v (T or 1, N, d) at indices, int32 (T, N or 1, k): (T, N, k). O(T N k)."""

    def spread(self, at: Array, values: Array, out: Array, keep: bool = False) -> Array:
        """The transpose of `collect`: add values (T, N, k) at ascending indices, int32 (T, N or 1, k), to zeros, or to
        the content of `out` with `keep`; repeats add up. `out` (T, N, d), contiguous, is overwritten and returned."""

    def largest(self, x: Array, k: int) -> Array:
        """The indices of the k entries of largest magnitude in every row of x (N, d), int32 (N, k), ascending. O(N d).
        Entries must be finite. Of equal magnitudes the first are taken."""

    def inner(self, u: Array, v: Array) -> Array:
        """The inner products of the rows of u and v (N, d), contiguous: (N,), in their dtype. O(N d)."""

    def add_to_scaled(self, u: Array, scale: Array, v: Array) -> Array:
        """u + scale * v for contiguous u and v (N, d) and factors (N, 1) of one dtype, written to v. O(N d)."""

    def scale_and_add(self, x: Array, scale: Array, terms: Sequence[tuple[Array, Array]]) -> Array:
        """scale * x plus sparse vectors; overwrites and returns x (N, d), contiguous. O(N d). Row factors `scale` are
        (N, 1); terms have equally many nonzeros: ascending indices, int32 (N, k), and values (N, k)."""

    def move_shared(self, at: Array, values: Array, others: Array, entries: Array) -> None:
        """Make the supports of two sparse vectors disjoint without changing their sum; overwrites both. O(N (k + m)).
        At a shared index the second vector's value is added to the first's and set to 0. Each has distinct ascending
        indices, int32 (N, k) or (N, m), and values of that shape."""

    def walsh_hadamard(self, x: Array) -> Array:
        """The orthonormal Walsh-Hadamard transform of the last axis, of a length 2^i. O(size log n). May overwrite
        x."""

    def spread_hadamard(self, at: Array, values: Array, scale: float, out: Array) -> Array:
        """`walsh_hadamard` of scale times sparse vectors: (T, N, n). Indices are ascending, int32 (T, N or 1, k),
        values (T, N, k). `out` (T, N, n), contiguous, is overwritten, and perhaps returned."""

    def hadamard_collect(self, x: Array, at: Array, scale: float) -> Array:
        """scale times entries (T, N, k) of `walsh_hadamard(x)` at ascending indices (T, N or 1, k); overwrites x."""

    def sampled_hadamard(
        self, x: Array, signs: Array | None, n: int, at: Array, scale: float, room: Callable[[], Array]
    ) -> Array:
        """`hadamard_collect` of signs * x, padded with zeros from d to n entries: (T, N, k). x (T or 1, N, d) stays;
        signs are int8 (T, 1, d), None for ones. `room` returns an uninitialised array for the padded vectors, (T, N,
        n), or (T or 1, N, n) as x without signs; it is called if such memory is needed. O(T N n log n)."""

    def spread_hadamard_collect(
        self, terms: Sequence[tuple[Array, Array]], room: Array, at: Array, scale: float
    ) -> Array:
        """`hadamard_collect` at `at` of the sum of sparse vectors that `spread` makes in `room` (T, N, n): (T, N,
        k)."""

    def cosine(self, x: Array) -> Array:
        """The orthonormal DCT-II of the last axis. O(size log n)."""

    def cosine_transpose(self, x: Array) -> Array:
        """The transpose and inverse of `cosine`, the DCT-III."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An uninitialised contiguous array that starts at a cache line, which speeds up transforms."""

    def asarray(self, x: Any) -> Array:
        """Move a NumPy array to the backend."""

    def to_numpy(self, x: Array) -> Any:
        """Move an array of the backend to NumPy."""


def device_missing() -> str | None:
    """The reason why CuPy kernels cannot run here, or None if they can: looked up once a process."""
    return _missing_in(os.getpid())


@functools.cache
def _missing_in(process: int) -> str | None:
    """The answer for this process; a forked child can't use its parent's device, and gets its own answer."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (pip install 'sketchbench[gpu]')"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no CUDA device ({error})"
    return None if count else "CuPy finds no CUDA device"


def resolve(name: str = "auto") -> str:
    """The backend of a name: `auto` is `cupy` with a GPU, else `numba`. Raises ValueError for an unknown name.

    >>> resolve("numpy")
    'numpy'
    """
    if name == "auto":
        return "numba" if device_missing() else "cupy"
    return choose("kernels", name, ("auto", *NAMES))


def usable(name: str = "auto") -> str:
    """The backend of a name, if it can run here; there is no silent fallback. Raises ValueError for an unknown name,
    RuntimeError for `cupy` without a device, or `numba` without its compiler."""
    name = resolve(name)
    if name == "cupy" and (reason := device_missing()):
        raise RuntimeError(f"kernels=cupy can't run here: {reason}; use kernels=numba or auto")
    if name == "numba" and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise RuntimeError(
            "kernels=numba can't run here: NUMBA_DISABLE_JIT takes its compiler away; unset it, or use kernels=numpy"
        )
    return name


def load(name: str = "auto") -> Kernels:
    """Import the backend module of a name: `numpy`, `numba`, `cupy` or `auto`. Raises ValueError for an unknown name,
    RuntimeError if the backend cannot run here, or Numba finds no folder for its cache."""
    backend = usable(name)
    try:
        return cast(Kernels, importlib.import_module(f"{__name__}.{backend}_kernels"))
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        raise RuntimeError(
            "kernels=numba can't keep what it compiles, in the folder of its source or that of NUMBA_CACHE_DIR; "
            "set NUMBA_CACHE_DIR to a folder that you can write to, or use kernels=numpy"
        ) from None
