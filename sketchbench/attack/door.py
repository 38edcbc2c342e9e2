"""Input checks of attacks: tensors of the right axes, all finite; images in [0, 1]; classes of the network."""

from typing import Any

import torch
from torch import Tensor, nn


def check_axes(name: str, tensor: Any, *axes: int | str) -> None:
    """Raise TypeError for no tensor, and ValueError for other axes. A named axis may have any size >= 1. O(1)."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(tensor).__name__}; see torch.as_tensor")
    fits = all(size == axis if isinstance(axis, int) else size for size, axis in zip(tensor.shape, axes, strict=False))
    if tensor.ndim != len(axes) or not fits:
        raise ValueError(f"{name} of shape {tuple(tensor.shape)} must be ({', '.join(map(str, axes))})")


def check_tensor(name: str, tensor: Any, *axes: int | str) -> None:
    """Raise as `check_axes`, and unless all entries are finite floating-point numbers. O(entries)."""
    check_axes(name, tensor, *axes)
    if not tensor.dtype.is_floating_point:
        raise TypeError(f"{name} of type {tensor.dtype} must be floating-point numbers; convert with double()")
    _check_entries(name, tensor, tensor.isfinite(), "finite")


def check_images(name: str, images: Any, *axes: int | str) -> None:
    """Raise as `check_tensor`, and ValueError unless all pixels are in [0, 1]."""
    check_tensor(name, images, *axes)
    _check_entries(name, images, (images >= 0) & (images <= 1), "in [0, 1]; divide pixels by their white")


def check_labels(name: str, labels: Any, classes: int, *axes: int | str) -> None:
    """Raise as `check_axes`, and unless all entries are integers from 0 to classes - 1."""
    check_axes(name, labels, *axes)
    if labels.dtype != torch.int64:
        raise TypeError(f"{name} of type {labels.dtype} must be torch.int64; convert with long()")
    _check_entries(name, labels, (labels >= 0) & (labels < classes), f"classes from 0 to {classes - 1}")


def check_network(network: nn.Module, image: Tensor, classes: int) -> None:
    """Raise ValueError unless a network scores an image (1, channels, height, width) for each class. One pass."""
    with torch.no_grad():
        scores = score(network, image)
    if scores.shape != (1, classes):
        raise ValueError(
            f"the network's scores of an image are {tuple(scores.shape)}, and must be (1, classes={classes})"
        )


def score(network: nn.Module, images: Tensor) -> Tensor:
    """The network's scores; ValueError for images of a shape or type that it does not take."""
    try:
        scores: Tensor = network(images)
    except RuntimeError as error:
        kind = f"{tuple(images.shape)} and type {images.dtype}"
        raise ValueError(f"the network takes no images of shape {kind}: {error}") from None
    return scores


def _check_entries(name: str, tensor: Tensor, right: Tensor, condition: str) -> None:
    if not bool(right.all()):
        place = tuple((~right).nonzero()[0].tolist())
        raise ValueError(f"entry {place} of {name} is {tensor[place].item()}; every entry must be {condition}")
