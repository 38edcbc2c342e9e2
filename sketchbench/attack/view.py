"""Views: what a party of a protocol sees of one training step on one image."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from sketchbench.attack.door import check_axes
from sketchbench.attack.prior import Prior


@dataclass(frozen=True)
class View:
    """The input of an attack: messages of a protocol and public knowledge, never the victim's data.

    Attributes:
        observed: the messages, or numbers that the party computes from them, float64, (m,).
        predicted: a twice differentiable function from an image (1, channels, height, width) and the probabilities of
            its label (1, classes) to the numbers that the party would observe.
        shape: channels, height and width of an image.
        classes: the number of classes.
        nbytes: bytes of the messages about the victim's data.
        output: the gradient by the biases of the last layer, (classes,); None if the party does not see it.
        noise: E‖noise‖² in the observation, as far as the party knows; 0 for none.
        prior: the attacker's prior of images; None if it knows no more than that pixels are in [0, 1].
        facts: further columns of rows about the view.
    """

    observed: Tensor
    predicted: Callable[[Tensor, Tensor], Tensor]
    shape: tuple[int, ...]
    classes: int
    nbytes: int
    output: Tensor | None = None
    noise: float = 0.0
    prior: Prior | None = None
    facts: Mapping[str, float | str] = field(default_factory=dict)

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
