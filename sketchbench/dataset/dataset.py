"""What a data set is: labelled images in two parts that share none."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SKETCHBENCH_DATA"  # the data root, where no option gives one


class Split(NamedTuple):
    """images: uint8 (n, channels, height, width), from 0 to the data set's `white`; labels: int64 (n,), the
    classes from 0."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """label: what tables and pages call it, with what is special about this copy; white: the largest
    value of a pixel."""

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
        """64 hex digits over all images and labels, with their shapes."""
        found = hashlib.sha256()
        for part in (*self.train, *self.test):
            found.update(repr(part.shape).encode())
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.train.images.shape[1:]

    @property
    def whole(self) -> Split:
        """The training samples and then the test samples, for what is never tested."""
        images = np.concatenate([self.train.images, self.test.images])
        return Split(images, np.concatenate([self.train.labels, self.test.labels]))

    def features(self, split: Split) -> NDArray[np.float64]:
        """The images as rows of numbers in [0, 1]: (n, channels * height * width)."""
        return split.images.reshape(len(split.images), -1) / self.white

    def repeated(self) -> int:
        """How many test images are also training images, pixel by pixel. O(n) memory and time."""
        seen = {image.tobytes() for image in self.train.images}
        return sum(image.tobytes() in seen for image in self.test.images)

    def check_disjoint(self) -> None:
        """Raise ValueError where a test image is also a training image."""
        if repeated := self.repeated():
            raise ValueError(
                f"{repeated} test images of {self.label} are also training images; use another copy of it, or "
                "another data set"
            )


MakeDataset = Callable[[], Dataset]  # what a config of conf/dataset gives


def data_root(root: str | None) -> Path:
    """The data root: the option, else the environment variable, else `data` in the current folder."""
    return Path(root or os.environ.get(VARIABLE) or "data").expanduser().absolute()


def missing(what: str, folder: Path, remedy: str) -> FileNotFoundError:
    """The error for a file that isn't there: what, where it was looked for, and how to get it."""
    return FileNotFoundError(
        f"{what} is not in {folder}; {remedy}, and set {VARIABLE} (or the option root) to the data root"
    )


def fetching(name: str) -> str:
    """The remedy that a command of this project is."""
    return f"with internet, run `python -m sketchbench.dataset fetch {name}`; else put it there by hand"
