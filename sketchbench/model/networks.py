"""The networks of zhang2021 §6.2 and A.3, plain or with every layer but the last sketched.

Each function takes the `shape` of an image (channels, height, width), the number of `classes`, and the `family` of
sketches, which also sets the share b/d of every layer's inputs that is kept (see `sketched.resize`); for None or
Identity layers are plain. Networks return scores without softmax or sigmoid, which belong to the loss.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from sketchbench.model.sketched import SketchedConv2d, SketchedLinear, resize
from sketchbench.parameters import Count, Positive, checked
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity

Shape = tuple[int, int, int]
MakeModel = Callable[..., nn.Module]  # what a config of conf/model gives; it wants shape, classes, family


@checked
def mlp(
    shape: Shape, classes: int, family: Family | None = None, hidden: Sequence[Count] = (200, 200)
) -> nn.Sequential:
    """Dense layers with ReLU between them, with `hidden` units; 199,210 parameters for MNIST."""
    inputs = shape[0] * shape[1] * shape[2]
    parts: list[nn.Module] = [nn.Flatten()]
    for outputs in hidden:
        parts += [_dense(inputs, outputs, family), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*parts, nn.Linear(inputs, classes))


@checked
def cnn(
    shape: Shape,
    classes: int,
    family: Family | None = None,
    *,
    filters: Sequence[Count],
    kernel: Count,
    pooled: Sequence[bool],
    hidden: Sequence[Count],
) -> nn.Sequential:
    """Convolutions and dense layers with ReLU; for two classes a single score, that of class 1.

    With the settings of conf/model it has 582,026 parameters for MNIST, 670,434 for CIFAR-10, and 212,001 for LFW.

    Arguments:
        shape, classes, family: as for all networks here.
        filters: number of filters of each convolution. There is no padding, as in the listing of Appendix E.
        kernel: height and width of the filters.
        pooled: whether each convolution is followed by the maximum over 2 × 2 pixels.
        hidden: units of the dense layers.

    Raises:
        ValueError: for images too small for these convolutions.
    """
    body: list[nn.Module] = []
    channels = shape[0]
    for outputs, pool in zip(filters, pooled, strict=True):
        body += [_convolution(channels, outputs, kernel, family), nn.ReLU()]
        body += [nn.MaxPool2d(2)] if pool else []
        channels = outputs
    first = nn.Sequential(*body, nn.Flatten())
    try:
        with torch.no_grad():
            inputs = first.eval()(torch.zeros(1, *shape)).numel()
    except RuntimeError:  # nothing is left of the image on the way
        raise ValueError(
            f"images of {shape[1]} × {shape[2]} are too small for {len(filters)} convolutions with "
            f"kernel={kernel} and pooled={list(pooled)}; choose a smaller network, such as small_cnn"
        ) from None
    first.train()
    for outputs in hidden:
        first.extend([_dense(inputs, outputs, family), nn.ReLU()])
        inputs = outputs
    return first.append(nn.Linear(inputs, 1 if classes == 2 else classes))


@checked
def sigmoid_cnn(
    shape: Shape,
    classes: int,
    family: Family | None = None,
    *,
    filters: Sequence[Count],
    kernel: Count,
    strides: Sequence[Count],
    width: Positive,
) -> nn.Sequential:
    """The network whose gradients are inverted (Zhu et al. 2019; zhang2021 A.3): padded convolutions with sigmoids.

    It is smooth, so that gradients can be matched by gradient methods, and its weights are so large that every pixel
    shows in the gradient.

    Arguments:
        shape, classes, family: as for all networks here.
        filters: number of filters of each convolution.
        kernel: height and width of the filters, odd.
        strides: stride of each convolution.
        width: weights and biases are uniform in [-width, width].
    """
    parts: list[nn.Module] = []
    channels, height, breadth = shape
    for outputs, stride in zip(filters, strides, strict=True):
        parts += [
            _convolution(channels, outputs, kernel, family, kernel // 2, stride),
            nn.Sigmoid(),
        ]
        channels, height, breadth = outputs, -(-height // stride), -(-breadth // stride)
    parts += [nn.Flatten(), nn.Linear(channels * height * breadth, classes)]
    model = nn.Sequential(*parts)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -width, width)
    return model


def initialise(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The model that `make` makes, initialised from this seed of 64 bits only; torch's generator is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        return make()


def parameters(model: nn.Module) -> int:
    """The number of trainable parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def _dense(inputs: int, outputs: int, family: Family | None) -> nn.Module:
    """A dense layer, sketched or plain."""
    if family is None or isinstance(family, Identity):
        return nn.Linear(inputs, outputs)
    return SketchedLinear(inputs, outputs, resize(family, inputs))


def _convolution(
    channels: int,
    filters: int,
    kernel: int,
    family: Family | None,
    padding: int = 0,
    stride: int = 1,
) -> nn.Module:
    """A convolution, sketched or plain."""
    if family is None or isinstance(family, Identity):
        return nn.Conv2d(channels, filters, kernel, stride, padding)
    share = resize(family, channels * kernel**2)
    return SketchedConv2d(channels, filters, kernel, share, padding, stride)
