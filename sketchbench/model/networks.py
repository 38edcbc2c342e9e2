"""The networks of zhang2021 §6.2, plain or with every layer but the last sketched.

Each function takes the shape of an image and the number of classes; `family` gives the kind of sketch and the
share of every layer's inputs that it keeps (see `sketched.resized`), None or Identity plain layers. Convolutions
have no padding, as in the listing of Appendix E. Scores come without softmax or sigmoid, which belong to the
loss.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from sketchbench.model.sketched import SketchedConv2d, SketchedLinear, resized
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity

Shape = tuple[int, int, int]
MakeModel = Callable[
    ..., nn.Module
]  # what a config of conf/model gives; it wants shape, classes, family


def mlp(
    shape: Shape, classes: int, family: Family | None = None, hidden: Sequence[int] = (200, 200)
) -> nn.Sequential:
    """Dense layers with ReLU between them; for MNIST 199,210 parameters."""
    inputs = shape[0] * shape[1] * shape[2]
    parts: list[nn.Module] = [nn.Flatten()]
    for outputs in hidden:
        parts += [_dense(inputs, outputs, family), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*parts, nn.Linear(inputs, classes))


def mnist_cnn(shape: Shape, classes: int, family: Family | None = None) -> nn.Sequential:
    """Two convolutions of 5 × 5 and two dense layers; for MNIST 582,026 parameters."""
    return _with_head(
        [
            *_convolution(shape[0], 32, 5, family, pool=True),
            *_convolution(32, 64, 5, family, pool=True),
        ],
        shape,
        [512],
        classes,
        family,
    )


def cifar10_cnn(shape: Shape, classes: int, family: Family | None = None) -> nn.Sequential:
    """Three convolutions of 5 × 5 and two dense layers; for CIFAR-10 670,434 parameters."""
    return _with_head(
        [
            *_convolution(shape[0], 32, 5, family, pool=False),
            *_convolution(32, 64, 5, family, pool=True),
            *_convolution(64, 128, 5, family, pool=True),
        ],
        shape,
        [200],
        classes,
        family,
    )


def lfw_cnn(shape: Shape, classes: int, family: Family | None = None) -> nn.Sequential:
    """Three convolutions of 3 × 3 and three dense layers; for two classes a single score, of class 1, and
    for LFW 212,001 parameters."""
    return _with_head(
        [
            *_convolution(shape[0], 64, 3, family, pool=True),
            *_convolution(64, 64, 3, family, pool=True),
            *_convolution(64, 128, 3, family, pool=True),
        ],
        shape,
        [32, 32],
        1 if classes == 2 else classes,
        family,
    )


def initialised(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A model with torch's default initialisation, drawn from this seed of 64 bits and from nothing else."""
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        return make()


def parameters(model: nn.Module) -> int:
    """The number of trainable parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def _dense(inputs: int, outputs: int, family: Family | None) -> nn.Module:
    if family is None or isinstance(family, Identity):
        return nn.Linear(inputs, outputs)
    return SketchedLinear(inputs, outputs, resized(family, inputs))


def _convolution(
    channels: int, filters: int, kernel: int, family: Family | None, *, pool: bool
) -> list[nn.Module]:
    """A convolution, ReLU, and a maximum over 2 × 2."""
    if family is None or isinstance(family, Identity):
        convolution: nn.Module = nn.Conv2d(channels, filters, kernel)
    else:
        sketch = resized(family, channels * kernel**2)
        convolution = SketchedConv2d(channels, filters, kernel, sketch)
    return [convolution, nn.ReLU(), *([nn.MaxPool2d(2)] if pool else [])]


def _with_head(
    body: list[nn.Module],
    shape: Shape,
    hidden: Sequence[int],
    classes: int,
    family: Family | None,
) -> nn.Sequential:
    """Convolutions, and dense layers on what they give for an image of this shape."""
    first = nn.Sequential(*body)
    with torch.no_grad():
        inputs = first.eval()(torch.zeros(1, *shape)).numel()
    first.train()
    head: list[nn.Module] = []
    for outputs in hidden:
        head += [_dense(inputs, outputs, family), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*body, nn.Flatten(), *head, nn.Linear(inputs, classes))
