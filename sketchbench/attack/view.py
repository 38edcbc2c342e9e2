"""Views: what a party of a protocol sees of one training step on one image, and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from sketchbench.attack.prior import Prior


@dataclass(frozen=True)
class View:
    """What an attack starts from: the messages of a protocol and public things, never the victim.

    Attributes:
        observed: messages, or what the party computes from them, float64, (m,).
        predicted: what they would be for an image (1, channels, height, width) and probabilities of its label
            (1, classes), as far as the party knows; twice differentiable.
        shape: channels, height and width of an image.
        classes: their number.
        nbytes: size of the messages about the victim's data.
        output: the gradient by the biases of the last layer, (classes,), where it is seen.
        noise: E‖noise‖² of what is observed, where it is known that there is some.
        prior: what the attacker knows of images beforehand; None for nothing but that pixels are in [0, 1].
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


# What a config of conf/view gives: a function of a Victim, a Family, Kernels and a seed of 64 bits, which runs the
# protocol with sketches of this family.
MakeView = Callable[..., View]
