"""Views: the data that a party of a protocol sees in one training step on one image."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from sketchbench.attack.door import check_axes
from sketchbench.attack.prior import Prior


@dataclass(frozen=True)
class View:
    """The input of an attack: messages of a protocol and public knowledge, never the victim's data. `predicted` maps an
    image (1, channels, height, width) and its label's probabilities (1, classes) to the numbers that the party would
    observe. It is twice differentiable."""

    observed: Tensor  # the messages, or numbers computed from them, float64, (m,)
    predicted: Callable[[Tensor, Tensor], Tensor]
    shape: tuple[int, ...]  # channels, height and width of an image
    classes: int
    nbytes: int  # bytes of the messages about the victim's data
    output: Tensor | None = None  # the gradient by the biases of the last layer, (classes,); None if unseen
    noise: float = 0.0  # E‖noise‖² in the observation, to the party's knowledge; 0 for none
    prior: Prior | None = None  # of images; None if only their range [0, 1] is known
    facts: Mapping[str, float | str] = field(default_factory=dict)  # further columns of rows

    def __post_init__(self) -> None:
        check_axes("observed", self.observed, "m")
        if len(self.shape) != 3 or not all(size >= 1 for size in self.shape):
            raise ValueError(f"shape={self.shape} must be the channels, height and width of an image")
        if self.classes < 1 or self.nbytes < 0:
            raise ValueError(f"classes={self.classes} must be >= 1, and nbytes={self.nbytes} >= 0")
        if self.output is not None:
            check_axes("output", self.output, self.classes)
        if not 0 <= self.noise < math.inf:
            raise ValueError(f"noise={self.noise} must be >= 0 and finite")


# A config of conf/view: a function of a Victim, a Family, Kernels and a 64-bit seed, which runs the protocol with
# sketches of this family.
MakeView = Callable[..., View]
