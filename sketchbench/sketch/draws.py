"""The random bits that operators are made of."""

from dataclasses import dataclass

from sketchbench.kernels import PRIME, Array, Entries, Kernels

# Which of an operator's draws a random word belongs to.
SIGNS, BUCKETS, ROWS, ENTRIES = range(4)


@dataclass(frozen=True)
class Draws:
    """The random bits of operators `first`, ..., `first + operators - 1` under one key.

    Everything comes stacked: the first axis counts the operators, T of them. A `stream` is any number from 0 to
    2^32 - 1: SIGNS, BUCKETS, ROWS and ENTRIES are 0 to 3. Draws from different streams are independent; two draws from
    one stream share their bits, whatever is made of them.
    """

    key: int
    first: int
    operators: int
    kernels: Kernels

    def words(self, stream: int, count: int) -> Array:
        """Uniform 32-bit words, uint32, shape (T, count)."""
        return self.kernels.random_words(self.key, stream, self.first, self.operators, count)

    def wide_words(self, stream: int, count: int) -> Array:
        """Uniform 64-bit words, uint64, shape (T, count)."""
        words = self.words(stream, 2 * count).astype("uint64")
        return words[:, :count] << self.kernels.xp.uint64(32) | words[:, count:]

    def signs(self, stream: int, count: int) -> Array:
        """Independent uniform signs, int8, shape (T, count)."""
        return self.sign_rows(stream, 0, 1, count)[:, 0]

    def sign_rows(self, stream: int, row: int, rows: int, d: int) -> Array:
        """Rows of T independent sign matrices, int8, shape (T, rows, d)."""
        return self.kernels.sign_rows(self.key, stream, self.first, self.operators, row, rows, d)

    def integer_rows(self, stream: int, row: int, rows: int, d: int, bound: int) -> Array:
        """Rows of T matrices of independent uniform integers below bound <= 2^31, int32, shape (T, rows, d).

        Row k is the same however many rows are asked for, and row 0 is `integers`. Uniform to a relative error of
        bound / 2^32.
        """
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.integer_rows(*place, row, rows, d, bound)

    def gaussian_rows(self, stream: int, row: int, rows: int, d: int) -> Array:
        """Rows of T independent standard normal matrices, float64, shape (T, rows, d)."""
        return self.kernels.gaussian_rows(self.key, stream, self.first, self.operators, row, rows, d)

    def dense_sketch(self, entries: Entries, stream: int, rows: int, x: Array) -> Array:
        """E x for T such matrices E of `rows` rows, not formed: (T or 1, N, d) -> (T, N, rows)."""
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.dense_sketch(entries, *place, rows, x)

    def dense_desketch(self, entries: Entries, stream: int, d: int, y: Array) -> Array:
        """Eᵀ y: (T or 1, N, rows) -> (T, N, d)."""
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.dense_desketch(entries, *place, d, y)

    def integers(self, stream: int, count: int, bound: int) -> Array:
        """Independent uniform integers below bound, int32, shape (T, count).

        Uniform to a relative error of bound / 2^32.
        """
        return self.kernels.random_integers(self.key, stream, self.first, self.operators, count, bound)

    def subset(self, stream: int, count: int, population: int) -> Array:
        """`count` of range(population) without replacement, sorted, int32, shape (T, count)."""
        place = (self.key, stream, self.first, self.operators)
        return self.kernels.random_subset(*place, count, population)

    def permutation(self, stream: int, count: int) -> Array:
        """A uniform permutation of range(count), int32, shape (T, count)."""
        return self.kernels.xp.argsort(self.wide_words(stream, count), axis=-1).astype("int32")

    def polynomials(self, stream: int, rows: int, independence: int) -> Array:
        """Coefficients of uniform polynomials modulo the prime 2^31 - 1, uint32 (T, rows, k)."""
        wide = self.wide_words(stream, rows * independence)
        shape = (self.operators, rows, independence)
        return (wide % self.kernels.xp.uint64(PRIME)).astype("uint32").reshape(shape)

    def hash_signs(self, polynomials: Array, points: int) -> Array:
        """The lowest bit of the hash of 0..points-1 as a sign, int8, shape (T, rows, points)."""
        return 2 * (self._hash(polynomials, points) & 1).astype("int8") - 1

    def hash_integers(self, polynomials: Array, points: int, bound: int) -> Array:
        """The hash of 0..points-1 scaled to integers below bound, int32 (T, rows, points)."""
        xp = self.kernels.xp
        products = xp.multiply(self._hash(polynomials, points), xp.uint64(bound), dtype="uint64")
        return (products >> xp.uint64(31)).astype("int32")

    def _hash(self, polynomials: Array, points: int) -> Array:
        if points > PRIME:
            raise ValueError(f"{points} points exceed the hash functions' domain of {PRIME}")
        return self.kernels.polynomial_hash(polynomials, points)
