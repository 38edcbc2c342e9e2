"""Operators with b x d random entries, generated block by block and never stored."""

from collections.abc import Callable, Iterator

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**22  # entries of R at a time: 32 MiB in float64


class Dense(Sketch):
    """R given by `rows_of(row, rows)`, which returns rows `row` to `row + rows` as (T, rows, d).

    The entries must depend on the row's number only, so that every pass sees the same matrix.
    Applying costs O(b d) to generate and O(N b d) to multiply; the workspace is bounded: blocks of
    rows, at most WORKSPACE entries (or one row of every operator of the stack, if that is more).
    A matrix that fits into one block is kept, so it is generated once.
    """

    def __init__(
        self,
        kernels: Kernels,
        d: int,
        b: int,
        operators: int,
        rows_of: Callable[[int, int], Array],
    ) -> None:
        super().__init__(d, b, kernels, operators)
        self._rows_of = rows_of
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
