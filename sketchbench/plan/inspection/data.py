"""Checks of a data set's pixels, labels and nearest images: mistakes are raised, doubts are returned as notes."""

from collections.abc import Iterator

import numpy as np

from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.neighbours import compare
from sketchbench.learning.dataset.own import CHANNELS

COPIES = 0.01  # share of test images with a near copy; the frontier's claims allow compression this loss of accuracy
MOVED = 0.04  # share of moved labels; 0.043 ± 0.011 on digits, whose test images are by other writers
SURE = 2  # standard errors


def doubts(data: Dataset) -> list[str]:
    """Return notes on a data set, one line each: near copies, labels that don't fit, unusual units and shapes. Raises
    ValueError if more than one in a hundred test images have a near copy in the training part, or as
    `Dataset.check_disjoint`. Cost: that of `neighbours.compare`, once for a data set."""
    data.check_disjoint()
    copies = compare(data).copies
    if len(copies) > COPIES * len(data.test.labels):
        raise ValueError(
            f"{near_copies(data)}, more than {COPIES:.0%}; the first is test image {copies[0][0]}, training image "
            f"{copies[0][1]}; remove them from either part, or divide the images otherwise"
        )
    return [*_form(data), *_neighbours(data)]


def near_copies(data: Dataset) -> str:
    """State the share of test images with a near copy in the training part."""
    count, tests = len(compare(data).copies), len(data.test.labels)
    return (
        f"{count:,} of {tests:,} test images of {data.label} ({count / tests:.2%}) are near copies of training images"
    )


def _neighbours(data: Dataset) -> Iterator[str]:
    found = compare(data)
    if len(found.copies):
        yield f"{near_copies(data)}; the first is test image {found.copies[0][0]}, training image {found.copies[0][1]}"
    if abs(found.moved) > MOVED + SURE * found.error:
        part = "test" if found.moved > 0 else "training"
        yield (
            f"labels look shifted: about {abs(found.moved):.0%} of the {part} labels differ from those of the nearest "
            "training images, beyond what is usual in the other part; check the labels, or tell how the parts differ "
            "(other users, another camera)"
        )


def _form(data: Dataset) -> Iterator[str]:
    """Yield notes on units, the order of axes, and classes."""
    channels, height, width = data.shape
    if channels not in CHANNELS and width in CHANNELS:
        yield f"images have {channels} channels of {height} × {width} pixels; the order is (n, channels, height, width)"
    for part, split in (("training", data.train), ("test", data.test)):
        if 2 * (most := int(split.images.max())) <= data.white:
            yield f"pixels of {part} images are 0 to {most}, and white is {data.white}; correct white, or the images"
    present = np.unique(data.train.labels)
    if untrained := sorted(set(data.test.labels.tolist()) - set(present.tolist())):
        yield f"classes {untrained[:5]} have test images and no training image; an accuracy counts them as wrong"
    if data.classes > 2 * len(present):
        yield f"classes={data.classes} is far above the {len(present)} classes with training images; number them from 0"
