"""A sketch family is a distribution over matrices; drawing from it gives an operator."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Family(ABC):
    """A distribution over b x d sketching matrices; its fields are all that describes it.

    A new family is a frozen dataclass with one method, `_draw`; extend `check` where not every
    size is possible. Scale the matrix so that E[RᵀR] = I. Its operators are random and independent
    of one another, but for a family that sets `random` to False: all of its operators are the same.
    """

    random: ClassVar[bool] = True

    d: int
    b: int

    def __post_init__(self) -> None:
        for name, value in (("dimension d", self.d), ("sketch size b", self.b)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}={value!r} must be an integer")
        if self.d < 1:
            raise ValueError(f"dimension d={self.d} must be >= 1")
        if self.b < 1:
            raise ValueError(f"sketch size b={self.b} must satisfy 1 <= b (d={self.d})")
        self.check()

    def check(self) -> None:  # noqa: B027 (most families take every size)
        """Raise SizeError (see `require`), naming value, condition and remedy, where sizes don't fit."""

    def draw(
        self,
        key: int,
        *,
        operators: int | None = None,
        first: int = 0,
        kernels: str | Kernels = "auto",
    ) -> Sketch:
        """Draw one operator, or a stack of them: numbers `first`, `first + 1`, ... of this key.

        key: 64 bits, as from `seeds.key`. Operator t of a key is the same operator, however many
        are drawn with it and on whichever kernels.
        """
        for name, value in (("key", key), ("first", first), ("operators", operators or 1)):
            if not isinstance(value, int):
                raise TypeError(f"{name}={value!r} must be an integer")
        require(0 <= key < 2**64, f"key={key} must be an integer of 64 bits; see seeds.key")
        require(operators is None or operators >= 1, f"operators={operators} must be >= 1")
        last = first + (operators or 1)
        require(first >= 0 and last <= 2**32, f"operators {first} to {last} exceed 0 to 2^32")
        chosen = backends.load(kernels) if isinstance(kernels, str) else kernels
        draws = Draws(key, first, operators or 1, chosen)
        sketch = self._draw(draws)
        sketch.operators = operators
        return sketch

    @abstractmethod
    def _draw(self, draws: Draws) -> Sketch:
        """The operators of these draws, on `draws.kernels`, as a stack of `draws.operators`."""


class SizeError(ValueError):
    """Sizes that a family can't have; a study leaves such a combination out, with the reason."""


def require(condition: bool, message: str) -> None:
    """Raise SizeError with this message unless the condition on the sizes holds."""
    if not condition:
        raise SizeError(message)
