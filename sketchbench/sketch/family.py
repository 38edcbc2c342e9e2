"""The base class of sketch families, distributions over b × d matrices."""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.base import parameters
from sketchbench.kernels import Kernels
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Drawn, Sketch, load, name_of
from sketchbench.sketch.sizes import SizeError, require

__all__ = ["Family", "SizeError", "require"]


@dataclass(frozen=True)
class Family(ABC):
    """A distribution over sketching matrices R of shape (b, d), described completely by the fields of its class.

    `draw(key)` gives an operator R, or a stack of independent ones. Every family of the project but `Identity` is
    random, and has E[RᵀR] = I, so that `R.desketch(R.sketch(x))` is an unbiased estimate of x.

    To write a family: a frozen dataclass with one method, `_draw`, whose matrices are scaled to E[RᵀR] = I. Override
    `check` if some sizes are impossible. Set the class attribute `random` to False if all operators are equal.

    Names are part of the random stream: keys are hashes of `repr(family)`, among others (`seeds.key`), so renaming a
    class or a field changes every number computed with it.

    Arguments:
        d: dimension of the vectors, >= 1.
        b: sketch size, >= 1; some families need b <= d.

    Raises SizeError for sizes that the family cannot have, ValueError for d < 1, b < 1, or another parameter out of its
    range, TypeError for a size that is not an `int`.
    """

    random: ClassVar[bool] = True

    d: int
    b: int

    def __post_init__(self) -> None:
        for name, value in (("dimension d", self.d), ("sketch size b", self.b)):
            _integer(name, value)
        if self.d < 1:
            raise ValueError(f"dimension d={self.d} must be >= 1")
        if self.b < 1:
            raise ValueError(f"sketch size b={self.b} must satisfy 1 <= b (d={self.d})")
        with suppress(NameError):  # string annotations may name imports for type checkers only
            parameters.check(self)
        self.check()

    def check(self) -> None:  # noqa: B027 (most families take every size)
        """Raise SizeError for impossible sizes, with value, condition and remedy (see `require`)."""

    def draw(
        self, key: int, *, operators: int | None = None, first: int = 0, kernels: str | Kernels = "auto"
    ) -> Sketch:
        """Draw one operator R, or a stack of T independent ones.

        A key stands for 2^32 operators, numbered from 0. Operator t depends on the family, the key and t only: not on
        the size of the stack, the number of threads or the kernels (Gaussian entries agree to rounding).

        Arguments:
            key: integer of 64 bits, such as `seeds.key` returns.
            operators: T, the size of the stack; None for a single operator without a stack's axis.
            first: number of the first operator, from 0 to 2^32 - 1.
            kernels: backend of arrays and computations: `numpy`, `numba`, `cupy`, `auto`, or a loaded module.

        Raises SizeError for a key, a number or a stack out of its range, and for more random words than the generator's
        2^34 in each of 2^32 rows; MemoryError for an operator that exceeds the free memory; TypeError for a key, number
        or stack that is not an `int`, or for `kernels` of another type.
        """
        for name, value in (("key", key), ("first", first), ("operators", 1 if operators is None else operators)):
            _integer(name, value)
        require(0 <= key < 2**64, f"key={key} must be an integer of 64 bits; see seeds.key")
        require(operators is None or operators >= 1, f"operators={operators} must be >= 1")
        last = first + (operators or 1)
        require(
            first >= 0 and last <= 2**32,
            f"operators {first} to {last} exceed 0 to 2^32, the numbers of a key's operators; use another key",
        )
        backend = load(kernels)
        if not hasattr(backend, "NAME"):
            raise TypeError(f"kernels={kernels!r} must be a name or a module of kernels")
        draws = Draws(key, first, operators or 1, backend)
        try:
            sketch = self._draw(draws)
        except (SizeError, MemoryError) as error:
            kind = SizeError if isinstance(error, SizeError) else MemoryError
            raise kind(f"{self!r} can't be drawn for {draws.operators} operators: {error}") from None
        if not isinstance(sketch, Sketch):
            raise TypeError(f"{type(self).__name__}._draw returned a {type(sketch).__name__}; it must return a Sketch")
        sketch.operators = operators
        sketch.drawn = Drawn(self, key, operators, first, name_of(backend))
        return sketch

    @abstractmethod
    def _draw(self, draws: Draws) -> Sketch:
        """Make a stack of `draws.operators` operators from random bits, on `draws.kernels`."""


def _integer(name: str, value: int) -> None:
    """Raise TypeError unless the value is Python's `int`: keys hash the family's repr, and NumPy's differ."""
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = "; write int(...)" if hasattr(value, "__index__") and not isinstance(value, bool) else ""
        raise TypeError(f"{name}={value!r} must be an integer{remedy}")
