"""Batches with some images of a property unrelated to the training (Melis et al. 2019)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.door import check_tensor
from sketchbench.base.parameters import Checked, Count, Natural, NonEmptyList, Range, Share, checked
from sketchbench.learning.dataset.arrays import check_array

TEN = 10  # rounds or batches in a group with a fixed number of batches with the property


@dataclass(frozen=True)
class PropertyBatches(Checked):
    """The batches of a training, some of which have the property."""

    property_classes: NonEmptyList[Natural]  # the classes of the data set whose images have the property
    positive: Annotated[int, Range(1, TEN - 1)]  # how many of every ten batches contain images with the property
    share: Share  # the share of images with the property in such a batch; all other batches contain none
    batch: Count  # images of a batch

    @property
    def images(self) -> int:
        """The number of images with the property in a batch that has it, at least one."""
        return max(1, round(self.share * self.batch))

    @checked
    def truth(self, rounds: Count, random: np.random.Generator) -> NDArray[np.bool_]:
        """Draw which rounds' batches have the property, (rounds,): `positive` of every ten rounds, in random order."""
        tens = [random.permutation(TEN) < self.positive for _ in range(-(-rounds // TEN))]
        return np.concatenate(tens)[:rounds]


class Party:
    """The images of one party, from which it draws batches. The label of an image is the parity of its class. Raises
    ValueError if there are too few images with or without the property for a batch.

    Arguments:
        images: (n, channels, height, width).
        classes: of these images, (n,).
        batches: the size of batches, and how many have the property.
        random: the generator of batches; parties may share it.
    """

    def __init__(
        self, images: Tensor, classes: NDArray[np.int64], batches: PropertyBatches, random: np.random.Generator
    ) -> None:
        check_tensor("images", images, len(classes), "channels", "height", "width")
        check_array("classes", classes, np.int64, "n")
        positive = np.isin(classes, batches.property_classes)
        self._positive, self._negative = np.flatnonzero(positive), np.flatnonzero(~positive)
        if len(self._positive) < batches.images or len(self._negative) < batches.batch:
            raise ValueError(
                f"a party has {len(self._positive)} images with the property and {len(self._negative)} without; it "
                f"needs {batches.images} and {batches.batch} for a batch: lower batch or share"
            )
        self._images, self._labels = images, torch.tensor(classes % 2, device=images.device)
        self._batches, self._random = batches, random

    def draw(self, has_property: bool) -> tuple[Tensor, Tensor]:
        """Draw a batch, with the property or without: images (batch, channels, height, width), and labels (batch,)."""
        count = self._batches.images if has_property else 0
        chosen = [
            self._random.choice(self._positive, count, replace=False),
            self._random.choice(self._negative, self._batches.batch - count, replace=False),
        ]
        index = torch.tensor(np.concatenate(chosen), device=self._images.device)
        return self._images[index], self._labels[index]
