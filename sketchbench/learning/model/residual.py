"""The residual network of tang2021 §4.2, with its 668,426 parameters."""

from typing import Annotated

from torch import Tensor, nn

from sketchbench.base.parameters import AtLeastTwo, Natural, Range, checked
from sketchbench.learning.model.networks import Shape
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity

Dropout = Annotated[float, Range(0, 1, open_high=True)]


class Block(nn.Module):
    """A residual block: ReLU of x plus two convolutions of x with batch normalisation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.BatchNorm2d(channels),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The output, of the shape of x, (n, channels, height, width)."""
        return nn.functional.relu(x + self.body(x))


@checked
def residual(
    shape: Shape, classes: AtLeastTwo, family: Family | None = None, blocks: Natural = 8, dropout: Dropout = 0.5
) -> nn.Sequential:
    """A residual network with 668,426 parameters for 3 channels and 10 classes; a unit is dropped with probability
    `dropout`. The gradients of this network are sketched, not its layers, so the family is None or Identity. Raises
    ValueError for another family, and a number out of its range.

    It has 3 × 3 convolutions to 32 and 64 channels, 3 × 3 max-pooling, residual blocks of 64 channels, one more
    convolution, the mean over positions, 256 units with dropout, and scores. The paper only gives the number of
    parameters, which follows from biases everywhere and a batch normalisation after both convolutions of 8 blocks:
    666,378 weights and biases, and 16 × 128 scales and shifts. The places of ReLU in a block and the dropout rate,
    which don't change that number, are ours.
    """
    if family is not None and not isinstance(family, Identity):
        raise ValueError(
            f"the residual network has no sketched layers, so sketch={family} can't be used; choose identity"
        )
    return nn.Sequential(
        nn.Conv2d(shape[0], 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(3),
        *(Block(64) for _ in range(blocks)),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(256, classes),
    )
