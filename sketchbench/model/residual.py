"""The residual network of tang2021 §4.2, with its 668,426 parameters."""

from torch import Tensor, nn

from sketchbench.model.networks import Shape
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity


class Block(nn.Module):
    """x + two convolutions of x with batch normalisation, then ReLU."""

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
        """The shape of x, (N, channels, height, width), is kept."""
        return nn.functional.relu(x + self.body(x))


def residual(
    shape: Shape, classes: int, family: Family | None = None, blocks: int = 8, dropout: float = 0.5
) -> nn.Sequential:
    """3 × 3 convolutions to 32 and 64 channels, 3 × 3 max-pooling, residual blocks of 64 channels, one more
    convolution, the mean over positions, 256 units with dropout, and the scores.

    The paper gives the number of parameters and no more. Of 3 channels, 10 classes and 8 blocks of two
    convolutions it is met exactly by biases everywhere and a batch normalisation after both convolutions of
    a block: 666,378 weights and biases and 16 × 128 scales and shifts. Where ReLU stands in a block, and
    the rate of the dropout, do not show in it. Raises ValueError for a sketch: it is the gradients of this
    network that are compressed.
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
