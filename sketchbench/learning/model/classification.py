"""Classification by a network's scores: losses, predicted classes, accuracies and ROC curves."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

BATCH = 1000  # images per batch in evaluation


class Samples(NamedTuple):
    """Images (n, channels, height, width) with classes from 0, int64 (n,), on one device."""

    images: Tensor
    labels: Tensor


def loss(scores: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy of labels (n,) under the softmax of scores (n, classes). A network for two classes may
    give a single score (n, 1) instead; its sigmoid is the probability of class 1."""
    if scores.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(scores[:, 0], labels.to(scores.dtype))
    return nn.functional.cross_entropy(scores, labels)


def predict_classes(scores: Tensor) -> Tensor:
    """The most probable class for each row of scores (n, classes) or (n, 1), int64 (n,)."""
    return (scores[:, 0] > 0).long() if scores.shape[1] == 1 else scores.argmax(dim=1)


def scores(model: nn.Module, images: Tensor) -> Tensor:
    """A model's scores, float32 (n, classes), in evaluation mode, without sketches and gradients; restores its mode."""
    before = model.training
    model.eval()
    with torch.no_grad():
        evaluated = torch.cat([model(batch).float() for batch in _batches(images)])
    model.train(before)
    return evaluated


def accuracy(scores: Tensor, labels: Tensor) -> float:
    """The share of labels (n,) that scores (n, classes) or (n, 1) predict correctly."""
    return float((predict_classes(scores) == labels).double().mean())


def area_under_roc(scores: Tensor, labels: Tensor) -> float:
    """The area under the ROC curve of two classes: the probability that class 1 scores above class 0; 1/2 if a score is
    not finite, since a network that has overflowed predicts nothing. Scores are (n, 2) or (n, 1), labels 0 or 1, (n,).
    Raises ValueError unless there are labels of both classes."""
    from sklearn.metrics import roc_auc_score  # an import of 1.4 s, for two classes only

    if (present := set(labels.tolist())) != {0, 1}:
        raise ValueError(f"labels {sorted(present)} must be 0 and 1, both; take more images")
    margin = _margin(scores)
    if not margin.isfinite().all():
        return 0.5
    return float(roc_auc_score(labels.cpu().numpy(), margin.cpu().numpy()))


def true_positives(scores: Tensor, labels: Tensor, rates: Sequence[float]) -> list[float]:
    """The ROC curve of two classes: the true-positive rate at each of the false-positive `rates`, interpolated linearly
    between thresholds; `rates` itself if a score is not finite. Scores are (n, 2) or (n, 1), labels 0 or 1, (n,)."""
    from sklearn.metrics import roc_curve

    margin = _margin(scores)
    if not margin.isfinite().all():
        return list(rates)
    false, true, _ = roc_curve(labels.cpu().numpy(), margin.cpu().numpy())
    # at a vertical part of the curve, take its upper end
    last = np.append(np.diff(false) > 0, True)
    return [float(rate) for rate in np.interp(rates, false[last], true[last])]


def _margin(scores: Tensor) -> Tensor:
    """The score of class 1 minus the score of class 0, for scores (n, 2) or (n, 1): (n,)."""
    return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]


def _batches(images: Tensor) -> Iterator[Tensor]:
    return (images[start : start + BATCH] for start in range(0, len(images), BATCH))
