"""Near copies between the parts, and labels that don't fit: seen where they are, and not elsewhere."""

import io
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sketchbench.learning.dataset import cifar10, digits, mnist, synthetic
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.dataset.neighbours import compare
from sketchbench.plan.inspection.data import MOVED, SURE, doubts

RANDOM = np.random.default_rng(3)
PHOTOS = synthetic.load("cifar10", 400, 400, noise=0.05)
OWN = [digits.load, digits.mixed, synthetic.load, partial(synthetic.load, "lfw", classes=2), lambda: PHOTOS]
REAL = [mnist.load, cifar10.load]  # skipped where the data root has no files


def one_level(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    changed = images.copy()
    changed[:, 0, 0, 0] ^= 1
    return changed


def compressed(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    made = np.empty_like(images)
    for image, other in zip(images, made, strict=True):
        file = io.BytesIO()
        Image.fromarray(image.transpose(1, 2, 0)).save(file, "JPEG", quality=98, subsampling=0)
        other[:] = np.asarray(Image.open(file)).transpose(2, 0, 1)
    return made


COPIES: dict[str, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    "equal": np.copy,
    "one level": one_level,
    "noise": lambda images: (images + RANDOM.normal(0, 4, images.shape)).clip(0, 255).astype(np.uint8),
    "brighter": lambda images: (images // 2 + 100).astype(np.uint8),
    "compressed": compressed,
}


def joined(data: Dataset, images: NDArray[np.uint8]) -> Dataset:
    """A data set with further training images."""
    labels = data.test.labels[: len(images)]
    train = Split(np.concatenate([data.train.images, images]), np.concatenate([data.train.labels, labels]))
    return Dataset(data.label, data.classes, data.white, train, data.test)


@pytest.mark.parametrize("name", COPIES)
def test_each_copy_is_found(name: str) -> None:
    """And refused above one in a hundred; every pair is named."""
    data = joined(PHOTOS, COPIES[name](PHOTOS.test.images[:7]))
    found = compare(data).copies
    assert found.tolist() == [[i, len(PHOTOS.train.labels) + i] for i in range(7)]
    stated = "are also training images" if name == "equal" else r"7 of 400 .* \(1.75%\) are near copies .* more than 1%"
    with pytest.raises(ValueError, match=stated):
        doubts(data)
    (note,) = doubts(joined(PHOTOS, COPIES["one level"](PHOTOS.test.images[:1])))
    assert note.startswith("1 of 400 test images of synthetic images in the shape of cifar10 (0.25%) are near copies")


@pytest.mark.parametrize("load", [*OWN, *REAL])
def test_sound_data_are_not_doubted(load: Callable[[], Dataset]) -> None:
    """At most three of ten thousand test images are near copies (CIFAR-10); digits' other writers move 0.043 labels."""
    try:
        data = load()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    found = compare(data)
    assert len(found.copies) <= 0.0005 * len(data.test.labels)
    assert [note for note in doubts(data) if "near copies" not in note] == []


def moved(labels: NDArray[np.int64], classes: int, share: float) -> NDArray[np.int64]:
    """Labels of which a share is the next class."""
    changed = np.random.default_rng(1).random(len(labels)) < share
    return np.where(changed, (labels + 1) % classes, labels)


@pytest.mark.parametrize("load", [*OWN, *REAL])
@pytest.mark.parametrize("part", ["test", "training"])
def test_a_tenth_of_the_labels_moved(load: Callable[[], Dataset], part: str) -> None:
    """Of the test part of each data set; of the training part where this is far above the difference of the parts."""
    try:
        data = load()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    share = 0.1 if part == "test" else 0.2
    train, test = data.train, data.test
    if part == "test":
        test = Split(test.images, moved(test.labels, data.classes, share))
    else:
        train = Split(train.images, moved(train.labels, data.classes, share))
    changed = Dataset(data.label, data.classes, data.white, train, test)
    assert abs(compare(changed).moved) > MOVED + SURE * compare(changed).error
    assert any(f"of the {part} labels differ" in note for note in doubts(changed) if "labels look shifted" in note)


def test_classes_in_another_order() -> None:
    """Of one part, as where folders are numbered apart, and labels of the next row."""
    for labels in ((PHOTOS.test.labels + 1) % 10, np.roll(PHOTOS.test.labels, 1)):
        changed = Dataset("some", 10, 255, PHOTOS.train, Split(PHOTOS.test.images, labels))
        assert compare(changed).moved > 0.5


@pytest.mark.statistical
def test_labels_of_chance_are_rarely_doubted() -> None:
    """Sound parts are doubted with a probability of about 0.01: 2 standard errors, and MOVED. Of 100 data sets more
    than 6 are with a probability of 1e-4 at 0.01, and of 0.9 at 0.1."""
    doubted = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        images, labels = random.integers(0, 256, (300, 1, 6, 6), np.uint8), random.integers(0, 3, 300)
        parts = (Split(images[part], labels[part]) for part in (slice(60, None), slice(60)))
        found = compare(Dataset("noise", 3, 255, *parts))
        doubted += abs(found.moved) > MOVED + SURE * found.error
        assert not len(found.copies)
    assert doubted <= 6


def test_units_axes_and_classes_are_noted() -> None:
    images, labels = RANDOM.integers(0, 17, (60, 16, 16, 3), np.uint8), np.arange(60) % 2
    data = Dataset("some", 9, 255, Split(images[:40], labels[:40]), Split(images[40:], np.full(20, 7)))
    notes = " ".join(doubts(data))
    assert "images have 16 channels of 16 × 3 pixels; the order is (n, channels, height, width)" in notes
    assert "pixels of training images are 0 to 16, and white is 255" in notes
    assert "classes [7] have test images and no training image" in notes
    assert "classes=9 is far above the 2 classes" in notes
