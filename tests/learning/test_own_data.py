"""Data sets of one's own: arrays of a file, and pictures by class."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sketchbench.learning.dataset import own, partition

IMAGES = np.arange(10 * 2 * 3 * 4, dtype=np.uint8).reshape(10, 2, 3, 4)
LABELS = np.arange(10) % 3


def saved(folder: Path, **content: Any) -> str:
    path = folder / "photos.npz"
    np.savez(path, **content)
    return str(path)


def test_arrays_are_divided_once(tmp_path: Path) -> None:
    data = own.arrays(saved(tmp_path, images=IMAGES, labels=LABELS), test=0.3)
    assert (data.label, data.classes, data.shape) == ("photos", 3, (2, 3, 4))
    assert len(data.test.labels) == 3
    whole = data.whole
    order = np.argsort(whole.images[:, 0, 0, 0])
    assert np.array_equal(whole.images[order], IMAGES)
    assert np.array_equal(whole.labels[order], LABELS)
    other = own.arrays(saved(tmp_path, images=IMAGES, labels=LABELS), test=0.3, seed=1)
    assert other.digest != data.digest


def test_arrays_with_a_test(tmp_path: Path) -> None:
    content = {"images": IMAGES[:6, 0], "labels": LABELS[:6], "test_images": IMAGES[6:, 0], "test_labels": LABELS[6:]}
    data = own.arrays(saved(tmp_path, **content), label="Photos")
    assert (data.label, data.shape, len(data.train.labels)) == ("Photos", (1, 3, 4), 6)
    assert np.array_equal(data.test.images[:, 0], IMAGES[6:, 0])


@pytest.mark.parametrize("names", [True, False])
def test_users_of_a_file(tmp_path: Path, names: bool) -> None:
    """Of the images that are left for training, and by name or number."""
    numbers = np.arange(10) // 4
    users = np.array(["ann", "bob", "cy"])[numbers] if names else 7 * numbers
    content = {"images": IMAGES, "labels": LABELS, "users": users}
    data = own.arrays(saved(tmp_path, **content), test=0.3)
    kept = data.train.images[:, 0, 0, 0] // IMAGES[1, 0, 0, 0]
    assert data.users.tolist() == numbers[kept].tolist()
    tested = {"test_images": IMAGES[:3] + 1, "test_labels": LABELS[:3]}
    assert own.arrays(saved(tmp_path, **content, **tested)).users.tolist() == numbers.tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"images": IMAGES}, "it has images, and must have labels"),
        ({"images": IMAGES, "labels": LABELS, "test_images": IMAGES}, "must have test_labels"),
        ({"images": IMAGES / 255, "labels": LABELS}, "of type float64 must be of type uint8"),
        ({"images": IMAGES, "labels": LABELS * 0.5}, "labels of type float64 and shape"),
        ({"images": IMAGES, "labels": LABELS, "users": LABELS[:4]}, r"users of type int64 and shape .4,. must be"),
        ({"images": IMAGES, "labels": LABELS, "users": LABELS / 2}, "users of type float64 .* integers or texts"),
        ({"images": IMAGES, "labels": LABELS[:4]}, "10 images must have a label each, and there are 4"),
        ({"images": np.zeros((4, 9, 9, 3), np.uint8), "labels": LABELS[:4]}, r"save images.transpose\(0, 3, 1, 2\)"),
        ({"images": IMAGES[:2], "labels": LABELS[:2]}, "test=0.2 of 2 images is 0"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels: -1 at"),
    ],
)
def test_wrong_arrays(tmp_path: Path, content: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        own.arrays(saved(tmp_path, **content))


@given(st.binary(max_size=200), st.integers(0, 400))
@examples(20)
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, noise: bytes, cut: int) -> None:
    path = Path(saved(tmp_path_factory.getbasetemp(), images=IMAGES, labels=LABELS))
    path.write_bytes(path.read_bytes()[:cut] + noise)
    with pytest.raises(ValueError, match=r"photos\.npz: .*numpy.savez"):
        own.arrays(str(path))


def draw(path: Path, shade: int, size: tuple[int, int] = (6, 5)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (shade, 0, 0)).save(path)


def test_pictures_by_class(tmp_path: Path) -> None:
    for number in range(5):
        draw(tmp_path / "b" / f"{number}.png", 10 + number)
        draw(tmp_path / "a" / f"{number}.png", 100 + number, (9, 9))
    data = own.pictures(str(tmp_path), height=4, width=3)
    assert (data.shape, data.classes, len(data.test.labels)) == ((3, 4, 3), 2, 2)
    assert all((images[0].max() >= 100) == (label == 0) for images, label in zip(*data.whole, strict=True))
    assert own.pictures(str(tmp_path), height=4, width=3, colour=False).shape == (1, 4, 3)
    draw(tmp_path / "b" / "0.png", 90)
    assert own.pictures(str(tmp_path), height=4, width=3).digest != data.digest


def test_pictures_with_a_test(tmp_path: Path) -> None:
    for part, each in (("train", 3), ("test", 1)):
        for name in "ab":
            for number in range(each):
                draw(tmp_path / part / name / f"{number}.png", number)
    data = own.pictures(str(tmp_path), height=4, width=4)
    assert (len(data.train.labels), len(data.test.labels)) == (6, 2)


def test_wrong_pictures(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        own.pictures(str(tmp_path / "none"), height=4, width=4)
    draw(tmp_path / "a" / "1.png", 1)
    with pytest.raises(ValueError, match=r"1 folders of classes \(a\) must be at least 2"):
        own.pictures(str(tmp_path), height=4, width=4)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"b/2\.png: .*it must be a picture"):
        own.pictures(str(tmp_path), height=4, width=4)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 2**64 - 1))
@examples(15)
def test_even_clients(sizes: list[int], seed: int) -> None:
    """As many samples for every client, each of its own."""
    ends = np.cumsum(sizes)
    labels = np.zeros(ends[-1], np.int64)
    parts = np.split(np.arange(ends[-1]), ends[:-1])
    even = partition.even(labels, seed, lambda labels, seed: parts, min(sizes))
    partition.check_parts(even, len(labels))
    assert all(len(own) == min(sizes) and set(own) <= set(part) for own, part in zip(even, parts, strict=True))
    with pytest.raises(ValueError, match=f"must be <= {min(sizes)}, those of the client with the fewest"):
        partition.even(labels, seed, lambda labels, seed: parts, min(sizes) + 1)
