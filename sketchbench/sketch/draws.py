"""Random bits for operators, as arrays: words, signs, integers, normals, subsets, permutations, hash functions."""

from dataclasses import dataclass

from sketchbench.kernels import PRIME, WIDE, Array, Entries, Kernels, index_type
from sketchbench.sketch.sizes import SizeError, check_memory, require

SIGNS, BUCKETS, ROWS, ENTRIES = range(4)  # the streams of our families


@dataclass(frozen=True)
class Draws:
    """The random bits of the T operators `first` to `first + T - 1` of one 64-bit key.

    The first axis of every array counts the operators. A `stream` is a number from 0 to 2^32 - 1; SIGNS, BUCKETS, ROWS
    and ENTRIES name 0 to 3. Draws from different streams are independent; draws from the same stream use the same bits,
    even by different methods. Integers are int32 if they are below 2^31, else int64. A matrix has at most 2^32 rows of
    2^34 words of 32 bits: more raises SizeError. More than the memory raises MemoryError before any allocation.
    """

    key: int
    first: int
    operators: int
    kernels: Kernels

    def words(self, stream: int, count: int) -> Array:
        """Uniform 32-bit words, uint32, shape (T, count)."""
        self.check(count, 1, 4 * count)
        return self.kernels.random_words(self.key, stream, self.first, self.operators, count)

    def check(self, words: int, rows: int, nbytes: int) -> None:
        """Raise SizeError for words or rows beyond the generator's limits, MemoryError for more than the memory."""
        if words > 2**34 or rows > 2**32:
            raise SizeError(
                f"{rows} rows of {words} random words exceed the generator's 2^32 rows and 2^34 words; lower d or b"
            )
        more = 8 if self.kernels.NAME == "numpy" else 1  # it computes with 64 bits instead of 32, 8 or 1
        check_memory(self.kernels, more * self.operators * nbytes, "a draw")

    def wide_words(self, stream: int, count: int) -> Array:
        """Uniform 64-bit words, uint64, shape (T, count)."""
        self.check(2 * count, 1, 24 * count)
        words = self.words(stream, 2 * count).astype("uint64")
        return words[:, :count] << self.kernels.xp.uint64(32) | words[:, count:]

    def signs(self, stream: int, count: int) -> Array:
        """Independent uniform signs, int8, shape (T, count)."""
        return self.sign_rows(stream, 0, 1, count)[:, 0]

    def sign_rows(self, stream: int, row: int, rows: int, d: int) -> Array:
        """Rows `row` to `row + rows` of T matrices of independent uniform signs, int8, shape (T, rows, d)."""
        self.check(-(-d // 32), row + rows, rows * d)
        return self.kernels.sign_rows(self.key, stream, self.first, self.operators, row, rows, d)

    def integer_rows(self, stream: int, row: int, rows: int, d: int, bound: int) -> Array:
        """Rows `row` to `row + rows` of T matrices of independent uniform integers >= 0 and < bound, int32 (T, rows,
        d). The relative error of uniformity is bound / 2^32, or bound / 2^64 for a bound above 2^31. Row k does not
        depend on the number of rows per call; row 0 is `integers`."""
        words = 1 if bound <= WIDE else 2
        self.check(words * d, row + rows, 4 * words * rows * d)
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.integer_rows(*place, row, rows, d, bound)

    def gaussian_rows(self, stream: int, row: int, rows: int, d: int) -> Array:
        """Rows `row` to `row + rows` of T matrices of independent standard normals, float64, shape (T, rows, d)."""
        self.check(d, row + rows, 8 * rows * d)
        return self.kernels.gaussian_rows(self.key, stream, self.first, self.operators, row, rows, d)

    def dense_sketch(self, entries: Entries, stream: int, rows: int, x: Array) -> Array:
        """E x for T matrices E, of `rows` rows of `gaussian_rows` or `sign_rows`, without storing E: (T, N, rows), in
        the dtype of x (T or 1, N, d). All operators share one x. Entries are `gaussian` or `signs`."""
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.dense_sketch(entries, *place, rows, x)

    def dense_desketch(self, entries: Entries, stream: int, d: int, y: Array) -> Array:
        """Eᵀ y for the matrices of `dense_sketch`: y (T or 1, N, rows) -> (T, N, d)."""
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.dense_desketch(entries, *place, d, y)

    def integers(self, stream: int, count: int, bound: int) -> Array:
        """Independent integers from 0 to bound - 1, int32 (T, count), as uniform as `integer_rows`."""
        return self.integer_rows(stream, 0, 1, count, bound)[:, 0]

    def subset(self, stream: int, count: int, population: int) -> Array:
        """A uniform sample of `count` of range(population), without replacement, sorted, int32, shape (T, count)."""
        self.check(2 * population, 1, 8 * (count if self.kernels.NAME == "numba" else population))
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.random_subset(*place, count, population)

    def permutation(self, stream: int, count: int) -> Array:
        """A uniform permutation of range(count), int32, shape (T, count)."""
        return self.kernels.xp.argsort(self.wide_words(stream, count), axis=-1).astype(index_type(count))

    def polynomials(self, stream: int, rows: int, independence: int) -> Array:
        """k-wise independent hash functions, k = `independence`: for each of `rows` functions, the k coefficients of a
        uniform polynomial modulo the prime 2^31 - 1, uint32 (T, rows, k)."""
        wide = self.wide_words(stream, rows * independence)
        shape = (self.operators, rows, independence)
        return (wide % self.kernels.xp.uint64(PRIME)).astype("uint32").reshape(shape)

    def hash_signs(self, polynomials: Array, points: int) -> Array:
        """Signs of 0, ..., points - 1 by hash functions from `polynomials` (the lowest bit), int8 (T, rows, points)."""
        return 2 * (self._hash(polynomials, points) & 1).astype("int8") - 1

    def hash_integers(self, polynomials: Array, points: int, bound: int) -> Array:
        """Integers below bound for 0, ..., points - 1 by hash functions from `polynomials`, int32 (T, rows, points)."""
        require(bound <= PRIME, f"{bound} buckets exceed the hash functions' range of {PRIME}")
        xp = self.kernels.xp
        products = xp.multiply(self._hash(polynomials, points), xp.uint64(bound), dtype="uint64")
        return (products >> xp.uint64(31)).astype("int32")

    def _hash(self, polynomials: Array, points: int) -> Array:
        require(points <= PRIME, f"{points} points exceed the hash functions' domain of {PRIME}")
        check_memory(self.kernels, 8 * polynomials.size // polynomials.shape[-1] * points, "the hash functions' values")
        return self.kernels.polynomial_hash(polynomials, points)
