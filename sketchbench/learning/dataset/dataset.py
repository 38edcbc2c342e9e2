"""Data sets: labelled training and test images, without an image in both."""

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import AtLeastTwo, Checked, Range
from sketchbench.learning.dataset.arrays import check_array, check_range

log = logging.getLogger(__name__)
VARIABLE = "SKETCHBENCH_DATA"  # environment variable with the data root, unless the option root is set
SHARED = 1e-3  # share of test images that may also be training images: no accuracy changes by more


class Split(NamedTuple):
    """Images, uint8 (n, channels, height, width), from 0 to the data set's `white`, with classes from 0, int64 (n,)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset(Checked):
    """Training and test images, checked when it is made: O(pixels), 5 ms for MNIST. One part may lack images of a
    class, as in a small sample.

    Arguments:
        label: name in tables and pages, which says whether it is the official copy.
        classes: number of classes.
        white: largest value of a pixel.
        train: training samples.
        test: test samples.
        users: each training sample's user, as a number, int64 (n,); None if unknown.

    Raises ValueError, with the value and its place, for images, labels or users of another type or shape, or of
    different numbers, no images, test images of another shape than training images, a label outside 0 to classes - 1,
    or a pixel above white.
    """

    label: str
    classes: AtLeastTwo
    white: Annotated[int, Range(1, 255)]
    train: Split
    test: Split
    users: NDArray[np.int64] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for part, split in (("train", self.train), ("test", self.test)):
            if not isinstance(split, Split):
                raise TypeError(
                    f"{self.label}: a {type(split).__name__} for {part} must be a Split of images and labels"
                )
            images, labels = split
            where = f"{self.label}, {part}"
            check_array(f"{where} images", images, np.uint8, "n", "channels", "height", "width")
            check_array(f"{where} labels", labels, np.int64, "n")
            if len(images) != len(labels) or not images.size:
                raise ValueError(
                    f"{where}: images of shape {images.shape} for {len(labels)} labels; give at least one image, and "
                    "a label for each"
                )
            plain = Split(np.ascontiguousarray(images), np.ascontiguousarray(labels))
            object.__setattr__(self, part, plain)  # torch takes no strides below 0
            check_range(f"{where} labels", labels, 0, self.classes - 1, f"as classes={self.classes}")
            check_range(f"{where} images", images, 0, self.white, f"as white={self.white}")
        if self.test.images.shape[1:] != self.shape:
            raise ValueError(
                f"{self.label}: test images of shape {self.test.images.shape[1:]} must have the shape of training "
                f"images, {self.shape}"
            )
        if self.users is not None:
            check_array(f"{self.label}, users", self.users, np.int64, "n")
            if len(self.users) != len(self.train.labels):
                raise ValueError(
                    f"{self.label}, users: {len(self.users)} numbers must be {len(self.train.labels)}, one for each "
                    "training sample"
                )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all images, labels and users with their shapes, 64 hex digits."""
        digest = hashlib.sha256()
        parts: list[NDArray[Any]] = [*self.train, *self.test]
        for part in parts if self.users is None else [*parts, self.users]:
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
        return len(self._shared_images)

    def check_disjoint(self) -> None:
        """Raise ValueError if more than one in a thousand test images are training images. Photographs have a few
        natural twins; the log states them. MNIST, digits, and our copy of CIFAR-10 have none."""
        if not self._shared_images:
            return
        place, twin = self._shared_images[0]
        stated = (
            f"{len(self._shared_images)} test images of {self.label} are also training images; "
            f"the first is test image {place}, training image {twin}"
        )
        if len(self._shared_images) > SHARED * len(self.test.labels):
            raise ValueError(f"{stated}; use another copy of it, or another data set")
        log.warning("%s", stated)

    @cached_property
    def _shared_images(self) -> list[tuple[int, int]]:
        """The numbers of each test image that equals a training image, and of that training image."""
        known = {image.tobytes(): number for number, image in enumerate(self.train.images)}
        tested = enumerate(image.tobytes() for image in self.test.images)
        return [(number, known[image]) for number, image in tested if image in known]


MakeDataset = Callable[[], Dataset]  # a config of conf/dataset makes this function


def data_root(root: str | None) -> Path:
    """The folder of all data sets: `root`, else the environment variable, else `data` in the current folder. Raises
    ValueError for an unknown user's home folder, as in `~name/data`."""
    place = root or os.environ.get(VARIABLE) or "data"
    try:
        return Path(place).expanduser().absolute()
    except RuntimeError:
        source = "the option root" if root else VARIABLE
        raise ValueError(f"{source}={place} begins with a user without a home folder; write the whole path") from None


def missing_file(what: str, folder: Path, remedy: str) -> FileNotFoundError:
    """The error for a missing file: `what` (data set and file) should be in the folder; `remedy` says how to get it."""
    return FileNotFoundError(
        f"{what} is not in {folder}; {remedy}, and set {VARIABLE} (or the option root) to the data root"
    )


def how_to_fetch(name: str) -> str:
    """The end of an error message: how to get a data set with a command of this project."""
    return f"with internet, run `python -m sketchbench.dataset fetch {name}`; else put it there by hand"
