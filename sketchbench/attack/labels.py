"""The label of an image, read from its messages."""

import torch
from torch import Tensor

from sketchbench.attack.target import Target


def read_labels(target: Target) -> Tensor:
    """The class of the single image in each trial, (T, 1), whose mean image fits the messages best."""
    means = target.classes.means
    trials = len(target.labels)
    misfits = []
    for label, mean in enumerate(means):
        guessed = target._replace(labels=torch.full((trials, 1), label))
        misfits.append(guessed.misfit(mean.expand(trials, 1, len(mean))))
    return torch.stack(misfits).argmin(dim=0)[:, None]
