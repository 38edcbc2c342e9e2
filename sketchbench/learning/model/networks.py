"""The networks of zhang2021 §6.2 and A.3, with plain layers or with all layers but the last sketched.
Functions take the `shape` of an image (channels, height, width), the number of `classes`, and a `family` of sketches,
whose share b/d sets the sketch size of every layer (see `sketched.resize`); None or Identity makes plain layers.
Networks return scores, without softmax or sigmoid, which belong to the loss."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from sketchbench.base.parameters import AtLeastTwo, Count, Positive, checked
from sketchbench.learning.model.sketched import SketchedConv2d, SketchedLinear, resize
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity

Shape = tuple[int, int, int]
MakeModel = Callable[..., nn.Module]  # a config of conf/model makes this function of shape, classes, family


@checked
def mlp(
    shape: Shape, classes: AtLeastTwo, family: Family | None = None, hidden: Sequence[Count] = (200, 200)
) -> nn.Sequential:
    """A perceptron: dense layers of `hidden` units with ReLU, then scores; 199,210 parameters for MNIST."""
    return nn.Sequential(nn.Flatten(), *_perceptron(shape[0] * shape[1] * shape[2], hidden, classes, family))


@checked
def cnn(
    shape: Shape,
    classes: AtLeastTwo,
    family: Family | None = None,
    *,
    filters: Sequence[Count],
    kernel: Count,
    pooled: Sequence[bool],
    hidden: Sequence[Count],
) -> nn.Sequential:
    """A network of convolutions and dense layers of `hidden` units with ReLU; for two classes it returns one score, of
    class 1. Convolutions have no padding, as in the listing of Appendix E; `pooled` says after which of them the
    maximum over 2 × 2 pixels follows. With the settings of conf/model it has 582,026 parameters for MNIST, 670,434 for
    CIFAR-10, and 212,001 for LFW. Raises ValueError for too small images, and for lists of other lengths."""
    body: list[nn.Module] = []
    channels = shape[0]
    _require_pairs(filters=filters, pooled=pooled)
    for outputs, pool in zip(filters, pooled, strict=True):
        body += [_convolution(channels, outputs, kernel, family), nn.ReLU()]
        body += [nn.MaxPool2d(2)] if pool else []
        channels = outputs
    first = nn.Sequential(*body, nn.Flatten())
    try:
        with torch.no_grad():
            inputs = first.eval()(torch.zeros(1, *shape)).numel()
    except RuntimeError:  # a layer has no output
        raise ValueError(
            f"images of {shape[1]} × {shape[2]} are too small for {len(filters)} convolutions with "
            f"kernel={kernel} and pooled={list(pooled)}; choose a smaller network, such as small_cnn"
        ) from None
    first.train()
    return first.extend(_perceptron(inputs, hidden, 1 if classes == 2 else classes, family))


@checked
def sigmoid_cnn(
    shape: Shape,
    classes: AtLeastTwo,
    family: Family | None = None,
    *,
    filters: Sequence[Count],
    kernel: Count,
    strides: Sequence[Count],
    width: Positive,
    pooled: bool = False,
    norm: bool = False,
) -> nn.Sequential:
    """The network of inversion attacks (Zhu et al. 2019; zhang2021 A.3): padded convolutions with sigmoids. It is
    smooth, so that gradient methods can match gradients, and its weights are so large that every pixel changes the
    gradient.

    Arguments:
        filters, strides: number of filters and stride of each convolution.
        kernel: height and width of the filters, odd.
        width: weights and biases are uniform in [-width, width].
        pooled: whether the maximum over as many pixels replaces each stride.
        norm: whether batch normalisation precedes each sigmoid: of the batch itself, in evaluation, too, and without
            scales and shifts, so that the number of parameters is the same.
    """
    body, inputs = _strided(nn.Sigmoid, shape, family, filters, kernel, strides, pooled=pooled, norm=norm)
    model = nn.Sequential(*body, nn.Linear(inputs, classes))
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -width, width)
    return model


@checked
def strided_cnn(
    shape: Shape,
    classes: AtLeastTwo,
    family: Family | None = None,
    *,
    filters: Sequence[Count],
    kernel: Count,
    strides: Sequence[Count],
    hidden: Sequence[Count],
) -> nn.Sequential:
    """Padded convolutions, of an odd kernel, with strides instead of pooling, and dense layers of `hidden` units, with
    ReLU; with the settings of conf/model 89,834 parameters for CIFAR-10."""
    parts, inputs = _strided(nn.ReLU, shape, family, filters, kernel, strides)
    return nn.Sequential(*parts, *_perceptron(inputs, hidden, classes, family))


def initialise(make: Callable[[], nn.Module], seed: int, shape: Shape | None = None) -> nn.Module:
    """Call `make` with torch's generator at this seed of 64 bits, and restore the generator.

    Arguments:
        make: makes the network.
        seed: of torch's generator.
        shape: of the images on which the network is tried; None: it is not tried.

    Raises:
        TypeError: unless `make` gives a network.
        ValueError: for a parameter that is not trained as it is, by name, or a `forward` that writes into its images.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        model = make()
        if not isinstance(model, nn.Module):
            raise TypeError(f"it gave a {type(model).__name__}; it must give a torch.nn.Module")
        for name, value in model.named_parameters():
            if fault := _fault(value):
                raise ValueError(f"{type(model).__name__}: parameter {name} {fault}")
        if shape is not None:
            _check_images_stay(model, shape)
    return model


def _fault(value: nn.Parameter) -> str:
    """Why a parameter can't be trained as a part of flat weights, with a remedy; "" if it can."""
    if isinstance(value, nn.parameter.UninitializedParameter):
        return "has no shape yet; give its layer the number of inputs, in the place of a lazy layer"
    if not value.requires_grad:
        return "is frozen (requires_grad=False); make it a buffer by register_buffer: it is neither trained nor sent"
    if value.dtype != torch.float32:
        return f"is of type {str(value.dtype).removeprefix('torch.')}; weights are float32"
    return "has a hook; write into `forward` what it does" if value._backward_hooks else ""


def _check_images_stay(model: nn.Module, shape: Shape) -> None:
    """Raise ValueError if a pass in evaluation mode changes its images."""
    given = torch.linspace(0, 1, 2 * math.prod(shape)).reshape(2, *shape)
    images, before = given.clone(), model.training
    with torch.no_grad():
        model.eval()(images)
    model.train(before)
    if not torch.equal(images, given):
        raise ValueError(
            f"{type(model).__name__}: forward writes into the images that it is given; make new ones, as by x = x - 0.5"
        )


def parameters(model: nn.Module) -> int:
    """The number of trainable parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def _require_pairs(**settings: Sequence[int]) -> None:
    """Raise ValueError unless two lists, of settings of each convolution, are equally long."""
    if len({len(values) for values in settings.values()}) > 1:
        lists = " and ".join(f"{name}={list(values)}" for name, values in settings.items())
        raise ValueError(f"{lists} must be equally long, an entry for each convolution")


def _strided(
    activation: Callable[[], nn.Module],
    shape: Shape,
    family: Family | None,
    filters: Sequence[int],
    kernel: int,
    strides: Sequence[int],
    *,
    pooled: bool = False,
    norm: bool = False,
) -> tuple[list[nn.Module], int]:
    """Padded convolutions with strides or pooling, each with its activation, flattened; and the number of outputs."""
    parts: list[nn.Module] = []
    channels, height, breadth = shape
    _require_pairs(filters=filters, strides=strides)
    for outputs, stride in zip(filters, strides, strict=True):
        parts.append(_convolution(channels, outputs, kernel, family, kernel // 2, 1 if pooled else stride))
        parts += [nn.BatchNorm2d(outputs, affine=False, track_running_stats=False)] if norm else []
        parts.append(activation())
        parts += [nn.MaxPool2d(stride, ceil_mode=True)] if pooled and stride > 1 else []
        channels, height, breadth = outputs, -(-height // stride), -(-breadth // stride)
    return [*parts, nn.Flatten()], channels * height * breadth


def _perceptron(inputs: int, hidden: Sequence[int], scores: int, family: Family | None) -> list[nn.Module]:
    """Dense layers of `hidden` units with ReLU, then a plain layer of scores."""
    parts: list[nn.Module] = []
    for outputs in hidden:
        parts += [_dense(inputs, outputs, family), nn.ReLU()]
        inputs = outputs
    return [*parts, nn.Linear(inputs, scores)]


def _dense(inputs: int, outputs: int, family: Family | None) -> nn.Module:
    if family is None or isinstance(family, Identity):
        return nn.Linear(inputs, outputs)
    return SketchedLinear(inputs, outputs, resize(family, inputs))


def _convolution(
    channels: int, filters: int, kernel: int, family: Family | None, padding: int = 0, stride: int = 1
) -> nn.Module:
    if family is None or isinstance(family, Identity):
        return nn.Conv2d(channels, filters, kernel, stride, padding)
    share = resize(family, channels * kernel**2)
    return SketchedConv2d(channels, filters, kernel, share, padding, stride)
