"""Labelled images, and what scores of a network mean: losses and predictions of labels."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

BATCH = 1000  # images that are evaluated at a time


class Samples(NamedTuple):
    """images: (n, channels, height, width); labels: int64 (n,); on one device."""

    images: Tensor
    labels: Tensor


def loss(scores: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy: of a softmax of scores (N, classes), or of the sigmoid of a single score (N, 1),
    that of class 1."""
    if scores.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(scores[:, 0], labels.to(scores.dtype))
    return nn.functional.cross_entropy(scores, labels)


def predicted(scores: Tensor) -> Tensor:
    """The classes of scores (N, classes) or (N, 1), int64 (N,)."""
    return (scores[:, 0] > 0).long() if scores.shape[1] == 1 else scores.argmax(dim=1)


def scores(model: nn.Module, images: Tensor) -> Tensor:
    """A model's scores in evaluation, float32, without sketches and gradients; the model is left as it was."""
    before = model.training
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(batch).float() for batch in _batches(images)])
    model.train(before)
    return found


def accuracy(scores: Tensor, labels: Tensor) -> float:
    """The share of labels that are predicted right."""
    return float((predicted(scores) == labels).double().mean())


def area_under_roc(scores: Tensor, labels: Tensor) -> float:
    """The area under the ROC curve of two classes: the probability that one of class 1 scores higher. 1/2 where
    some score is not finite: a network that has overflown tells nothing."""
    from sklearn.metrics import roc_auc_score  # 1.4 s that only two classes need

    margin = _margin(scores)
    if not margin.isfinite().all():
        return 0.5
    return float(roc_auc_score(labels.cpu().numpy(), margin.cpu().numpy()))


def true_positives(scores: Tensor, labels: Tensor, rates: Sequence[float]) -> list[float]:
    """The ROC curve of two classes: the share of class 1 found at each of these shares of class 0 taken for it,
    interpolated between the thresholds as its area is; the same shares where some score is not finite."""
    from sklearn.metrics import roc_curve

    margin = _margin(scores)
    if not margin.isfinite().all():
        return list(rates)
    false, true, _ = roc_curve(labels.cpu().numpy(), margin.cpu().numpy())
    # at a vertical piece of the curve its upper end counts
    last = np.append(np.diff(false) > 0, True)
    return [float(rate) for rate in np.interp(rates, false[last], true[last])]


def _margin(scores: Tensor) -> Tensor:
    """By how much two scores, or a single one, speak for class 1: (N,)."""
    return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]


def _batches(images: Tensor) -> Iterator[Tensor]:
    return (images[start : start + BATCH] for start in range(0, len(images), BATCH))
