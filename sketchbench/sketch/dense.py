"""Operators with b × d random entries, which are generated when needed; only small matrices are stored."""

from collections.abc import Callable, Iterator

from sketchbench.kernels import Array, Entries, Kernels
from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**22  # entries of R at a time: 32 MiB in float64


class Dense(Sketch):
    """T operators R with arbitrary entries, given by a function that generates rows.

    Each application costs O(T b d) to generate entries and O(T N b d) to multiply, for N vectors. Rows are generated in
    blocks of at most WORKSPACE entries (or one row of every operator, if that is more), so memory stays bounded. A
    stack that fits into one block is generated once, and stored.

    `rows_of(row, rows)` returns rows `row` to `row + rows` of every R, real, (T, rows, d). Entries must depend on the
    row's number only, so that every application sees the same matrix.
    """

    def __init__(self, kernels: Kernels, d: int, b: int, operators: int, rows_of: Callable[[int, int], Array]) -> None:
        super().__init__(d, b, kernels, operators)
        self._generate = rows_of
        self._stack = operators
        self._whole: Array | None = None

    def _blocks(self, dtype: object) -> Iterator[tuple[int, int, Array]]:
        step = max(1, WORKSPACE // (self._stack * self.d))
        if step >= self.b:
            if self._whole is None:
                self._whole = self._rows_of(0, self.b)
            yield 0, self.b, self._whole.astype(dtype, copy=False)
            return
        for row in range(0, self.b, step):
            rows = min(step, self.b - row)
            yield row, row + rows, self._rows_of(row, rows).astype(dtype, copy=False)

    def _rows_of(self, row: int, rows: int) -> Array:
        """The checked block of `rows_of`: NumPy might broadcast another shape, so that operators or rows share entries.
        Raises ValueError for another shape than (T, rows, d), TypeError for entries that are not real numbers."""
        block = self._generate(row, rows)
        shape = (self._stack, rows, self.d)
        if getattr(block, "shape", None) != shape:
            result = f"an array of shape {block.shape}" if hasattr(block, "shape") else type(block).__name__
            raise ValueError(
                f"rows_of({row}, {rows}) returned {result}; it must be of shape (operators, rows, d) = {shape}"
            )
        if block.dtype.kind not in "biuf":
            raise TypeError(
                f"rows_of({row}, {rows}) returned entries of dtype {block.dtype}; they must be real numbers"
            )
        return block

    def _sketch(self, x: Array) -> Array:
        y = self.kernels.xp.empty((self._stack, x.shape[1], self.b), dtype=x.dtype)
        for start, stop, block in self._blocks(x.dtype):
            y[..., start:stop] = x @ block.swapaxes(-1, -2)
        return y

    def _desketch(self, y: Array) -> Array:
        x = self.kernels.xp.zeros((self._stack, y.shape[1], self.d), dtype=y.dtype)
        for start, stop, block in self._blocks(y.dtype):
            x += y[..., start:stop] @ block
        return x


class Generated(Dense):
    """T operators R = scale * E, with independent entries of E, standard normals (`gaussian`) or `signs`. One kernel
    makes and applies a stack of more than WORKSPACE entries: entries live in the cache only, shared by N vectors."""

    def __init__(self, draws: Draws, d: int, b: int, entries: Entries, scale: float) -> None:
        def rows_of(row: int, rows: int) -> Array:
            draw = draws.gaussian_rows if entries == "gaussian" else draws.sign_rows
            return draw(ENTRIES, row, rows, d) * scale

        draws.check(-(-d // 32) if entries == "signs" else d, b, 0)
        super().__init__(draws.kernels, d, b, draws.operators, rows_of)
        self._draws = draws
        self._entries = entries
        self._scale = scale
        self._small = draws.operators * d * b <= WORKSPACE

    def _sketch(self, x: Array) -> Array:
        if self._small:
            return super()._sketch(x)
        y = self._draws.dense_sketch(self._entries, ENTRIES, self.b, x)
        return y * y.dtype.type(self._scale)

    def _desketch(self, y: Array) -> Array:
        if self._small:
            return super()._desketch(y)
        x = self._draws.dense_desketch(self._entries, ENTRIES, self.d, y)
        return x * x.dtype.type(self._scale)
