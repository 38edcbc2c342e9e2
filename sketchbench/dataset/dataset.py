"""Data sets: labelled training and test images, without an image in both."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SKETCHBENCH_DATA"  # environment variable with the data root, unless the option root is set


class Split(NamedTuple):
    """Labelled images.

    Attributes:
        images: uint8 (n, channels, height, width), from 0 to the data set's `white`.
        labels: classes from 0, int64 (n,).
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """Training and test images.

    Arguments:
        label: name in tables and pages, which says whether it is the official copy.
        classes: number of classes.
        white: largest value of a pixel.
        train: training samples.
        test: test samples.

    Raises:
        ValueError: for images of another type or shape, no images, or labels outside 0 to classes - 1.
    """

    label: str
    classes: int
    white: int
    train: Split
    test: Split

    def __post_init__(self) -> None:
        for name, (images, labels) in (("train", self.train), ("test", self.test)):
            if images.ndim != 4 or images.dtype != np.uint8 or len(images) != len(labels):
                raise ValueError(
                    f"{self.label}: {name} has images of shape {images.shape} and type {images.dtype} for "
                    f"{len(labels)} labels; it needs uint8 (n, channels, height, width) for n labels"
                )
            if not len(labels) or labels.min() < 0 or labels.max() >= self.classes:
                raise ValueError(f"{self.label}: the labels of {name} must be 0 to {self.classes - 1}")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all images and labels with their shapes, 64 hex digits."""
        digest = hashlib.sha256()
        for part in (*self.train, *self.test):
            digest.update(repr(part.shape).encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.train.images.shape[1:]

    @property
    def whole(self) -> Split:
        """The training samples followed by the test samples, for experiments without a test."""
        images = np.concatenate([self.train.images, self.test.images])
        return Split(images, np.concatenate([self.train.labels, self.test.labels]))

    def features(self, split: Split) -> NDArray[np.float64]:
        """The images of a split as rows of pixels in [0, 1]: (n, channels * height * width)."""
        return split.images.reshape(len(split.images), -1) / self.white

    def count_shared_images(self) -> int:
        """Count the test images that equal a training image, pixel by pixel. O(n) memory and time."""
        seen = {image.tobytes() for image in self.train.images}
        return sum(image.tobytes() in seen for image in self.test.images)

    def check_disjoint(self) -> None:
        """Raise ValueError unless training and test images differ."""
        if shared := self.count_shared_images():
            raise ValueError(
                f"{shared} test images of {self.label} are also training images; use another copy of it, or "
                "another data set"
            )


MakeDataset = Callable[[], Dataset]  # the function that a config of conf/dataset makes


def data_root(root: str | None) -> Path:
    """The folder of all data sets: `root`, else the environment variable, else `data` in the current folder."""
    return Path(root or os.environ.get(VARIABLE) or "data").expanduser().absolute()


def missing_file(what: str, folder: Path, remedy: str) -> FileNotFoundError:
    """The error for a missing file of a data set.

    Arguments:
        what: data set and file.
        folder: folder where the file should be.
        remedy: how to get it.
    """
    return FileNotFoundError(
        f"{what} is not in {folder}; {remedy}, and set {VARIABLE} (or the option root) to the data root"
    )


def how_to_fetch(name: str) -> str:
    """The end of an error message: how to get a data set with a command of this project."""
    return f"with internet, run `python -m sketchbench.dataset fetch {name}`; else put it there by hand"
