"""Conditions of training a network by federated averaging."""

from typing import Any

from torch import nn

from sketchbench.federated.double_blind import check_twin
from sketchbench.learning.dataset.partition import check_parts
from sketchbench.learning.model import classification
from sketchbench.learning.model.classification import Samples


def check_federation(model: nn.Module, twin: nn.Module, samples: Samples, parts: Any) -> None:
    """Check that a server's model, a client's model and the samples of all clients fit together. One pass of an image.

    Arguments are as for `FedAvg.run`. Raises ValueError for a model with buffers, a twin with other parameters, images
    that the model doesn't take, labels of another type or beyond its classes, and parts that `check_parts` rejects.
    """
    if next(model.buffers(), None) is not None:
        raise ValueError(
            "a model with batch normalisation or other buffers can't be averaged; choose another model, or "
            "the task compressed_training"
        )
    check_twin(model, twin)
    images, labels = samples
    if labels.ndim != 1 or labels.dtype.is_floating_point or len(images) != len(labels) or not len(labels):
        raise ValueError(
            f"samples: images {tuple(images.shape)} and labels {tuple(labels.shape)} of type {labels.dtype} must be an "
            "image for each label, and labels int64 (n,), at least one"
        )
    check_parts(parts, len(labels))
    try:
        outputs = classification.scores(model, images[:1]).shape[1]
    except RuntimeError as error:
        raise ValueError(f"the model takes no images of shape {tuple(images.shape[1:])}: {error}") from None
    least, most = int(labels.min()), int(labels.max())
    classes = max(outputs, 2)  # a single score is the score of class 1 of two
    if least < 0 or most >= classes:
        raise ValueError(f"labels from {least} to {most} must be 0 to {classes - 1}, the model's classes")
