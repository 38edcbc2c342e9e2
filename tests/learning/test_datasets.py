"""Every data set: its shape, its checks, and what it says where files are missing."""

import dataclasses
import gzip
import hashlib
import io
import pickle
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from sketchbench.learning.dataset import cifar10, digits, lfw, mnist, own, partition, synthetic
from sketchbench.learning.dataset.dataset import VARIABLE, Dataset, Split
from sketchbench.learning.dataset.fetch import vouch


def test_repeated_images_are_counted() -> None:
    data = digits.load()
    leaked = Split(*(np.concatenate([a, b[:3]]) for a, b in zip(data.train, data.test, strict=True)))
    assert Dataset("leaked", 10, 16, leaked, data.test).count_shared_images() == 3


IMAGES = np.zeros((4, 1, 2, 3), np.uint8)
LABELS = np.array([0, 1, 1, 0])
BRIGHT = IMAGES.copy()
BRIGHT[2, 0, 1, 0] = 17


def dataset(part: str, **given: Any) -> Dataset:
    split = Split(given.pop("images", IMAGES), given.pop("labels", LABELS))
    parts = {"train": Split(IMAGES, LABELS), "test": Split(IMAGES, LABELS)} | {part: split}
    return Dataset(**{"label": "some", "classes": 2, "white": 16, **parts, **given})


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": np.array([0, 1, np.nan, 0.5])}, "labels: .* type float64 must be .* can't hold nan at 2"),
        ({"labels": np.array([0, 0.5, 1, 1])}, "can't hold 0.5 at 1"),
        ({"labels": np.array([0, 1, 2**63, 1], np.uint64)}, "can't hold 9223372036854775808 at 2"),
        ({"labels": LABELS.astype(float)}, "type float64 must be a NumPy array .n,. of type int64"),
        ({"labels": LABELS.astype(bool)}, "type bool must be"),
        ({"labels": LABELS.astype(object)}, "type object must be"),
        ({"labels": LABELS.astype(np.int32)}, "type int32 must be"),
        ({"labels": LABELS[:, None]}, r"shape .4, 1. .* must be a NumPy array .n,."),
        ({"labels": LABELS.tolist()}, "a list must be a NumPy array"),
        ({"labels": np.ma.array(LABELS, mask=[0, 0, 0, 1])}, "a masked array must be .* leave out what is masked"),
        ({"labels": np.array([0, 1, -1, 5])}, "labels: -1 at 2 must be 0 to 1, as classes=2"),
        ({"labels": np.array([0, 2, 1, 1])}, "labels: 2 at 1 must be 0 to 1, as classes=2"),
        ({"labels": LABELS[:3]}, r"images of shape .4, 1, 2, 3. for 3 labels"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "for 0 labels; give at least one image"),
        ({"images": IMAGES[:, :0]}, r"images of shape .4, 0, 2, 3. for 4 labels"),
        ({"images": BRIGHT}, r"images: 17 at .2, 0, 1, 0. must be 0 to 16, as white=16"),
        ({"images": IMAGES.astype(float)}, "type float64 must be a NumPy array .* of type uint8"),
        ({"images": IMAGES * np.nan}, r"can't hold nan at .0, 0, 0, 0."),
        ({"images": IMAGES - np.inf}, r"can't hold -inf at .0, 0, 0, 0."),
        ({"images": IMAGES.astype(int) + 256}, r"can't hold 256 at .0, 0, 0, 0."),
        ({"images": IMAGES[:, 0]}, r"shape .4, 2, 3. .* must be a NumPy array .n, channels, height, width."),
        ({"images": np.ma.array(IMAGES)}, "images: a masked array must be"),
        ({"classes": 1}, "classes=1 must be >= 2"),
        ({"classes": 2.0}, "classes=2.0 must be an integer"),
        ({"white": 0}, "white=0 must be >= 1 and <= 255"),
        ({"white": 256}, "white=256 must be >= 1 and <= 255"),
        ({"white": float("nan")}, "white=nan must be an integer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_data_set(part: str, given: dict[str, Any], message: str) -> None:
    """The error has the part, the first wrong value and its place."""
    about = "" if given.keys() & {"classes", "white"} else f"some, {part}.*"
    with pytest.raises((ValueError, TypeError), match=about + message) as caught:
        dataset(part, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (np.arange(3), "3 numbers must be 4, one for each training sample"),
        (np.array([0, 0.5, 1, 1]), "type float64 must be .* can't hold 0.5 at 1"),
        ([0, 1, 1, 0], "a list must be a NumPy array"),
    ],
    ids=["too few", "fractions", "list"],
)
def test_wrong_users(users: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"some, users.*{message}"):
        dataset("train", users=users)


def test_users_are_of_the_data() -> None:
    one, other, none = (dataset("train", users=users) for users in (np.arange(4), np.arange(4) % 2, None))
    assert len({one.digest, other.digest, none.digest}) == 3


def test_test_images_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"test images of shape .1, 3, 2. must have the shape .*, .1, 2, 3."):
        dataset("test", images=IMAGES.reshape(4, 1, 3, 2))


@given(data=st.data())
def test_one_wrong_value_is_found(data: st.DataObject) -> None:
    part, white = data.draw(st.sampled_from(["train", "test"])), data.draw(st.integers(1, 254))
    images = data.draw(arrays(np.uint8, (5, 1, 3, 2), elements=st.integers(0, white)))
    labels = data.draw(arrays(np.int64, 5, elements=st.integers(0, 3)))
    given_ = {"classes": 4, "white": white, "images": images, "labels": labels}
    other = {"test" if part == "train" else "train": Split(np.zeros_like(images), labels.copy())}
    assert dataset(part, **given_, **other).white == white
    if data.draw(st.booleans()):
        place = data.draw(st.tuples(*(st.integers(0, length - 1) for length in images.shape)))
        wrong = images[place] = data.draw(st.integers(white + 1, 255))
        about = f"{part} images: {wrong} at {place} must be"
    else:
        number = data.draw(st.integers(0, 4))
        wrong = labels[number] = data.draw(st.integers(-(2**63), -1) | st.integers(4, 2**63 - 1))
        about = f"{part} labels: {wrong} at {number} must be"
    with pytest.raises(ValueError, match=re.escape(about)):
        dataset(part, **given_, **other)


def test_splits_and_strides() -> None:
    """Arrays may run backwards, which torch doesn't take; what is no split is refused."""
    data = dataset("train", images=IMAGES[::-1, ..., ::-1], labels=LABELS[::-1])
    assert torch.equal(torch.from_numpy(data.train.images), torch.zeros(4, 1, 2, 3, dtype=torch.uint8))
    assert torch.from_numpy(data.train.labels).tolist() == [0, 1, 1, 0]
    for other in (None, (IMAGES, LABELS), IMAGES):
        with pytest.raises(TypeError, match=f"some: a {type(other).__name__} for test must be a Split of images"):
            Dataset("some", 2, 16, data.train, other)  # type: ignore[arg-type]


def test_test_images_among_the_training_images(caplog: pytest.LogCaptureFixture) -> None:
    """One in a thousand is stated, more are refused, and both name the first."""
    images = np.arange(3000, dtype=">u2").view(np.uint8).reshape(3000, 1, 1, 2)
    labels = np.arange(3000) % 2
    for shared, refused in ((1, False), (2, True)):
        train, test = Split(images[: 2000 + shared], labels[: 2000 + shared]), Split(images[2000:], labels[2000:])
        data = Dataset("some", 2, 255, train, test)
        assert data.count_shared_images() == shared
        stated = (
            f"{shared} test images of some are also training images; the first is test image 0, training image 2000"
        )
        if refused:
            with pytest.raises(ValueError, match=f"{stated}; use another copy of it"):
                data.check_disjoint()
        else:
            data.check_disjoint()
            assert caplog.messages == [stated]


def test_synthetic_images_follow_from_the_seed() -> None:
    one, same, other = (synthetic.load(train=20, test=5, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.train.images, same.train.images)
    assert not np.array_equal(one.train.images, other.train.images)
    faces = synthetic.load("lfw", 2000, 5, classes=2, minority=0.1)
    assert faces.train.labels.mean() == pytest.approx(0.1, abs=0.04)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (mnist.load, r"MNIST: train-images-idx3-ubyte\[.gz\] is not in .*/mnist; .* fetch mnist`"),
        (cifar10.load, "CIFAR-10: data_batch_1.bin is not in .*/cifar-10-batches-bin; .* fetch cifar10`"),
        (lfw.load, "LFW: lfw_attributes.txt is not in .*/lfw_home; .* fetch lfw`"),
    ],
)
def test_missing_files(load: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    for root, folder in ((None, "elsewhere"), (str(tmp_path / "here"), "here")):
        with pytest.raises(FileNotFoundError, match=message) as caught:
            load(root)
        assert f"/{folder}/" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_mnist_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mnist"
    folder.mkdir()
    images = b"\0\0\x08\x03" + np.array([2, 2, 3], ">i4").tobytes() + bytes(range(12))
    labels = b"\0\0\x08\x01" + np.array([2], ">i4").tobytes() + bytes([7, 1])
    for name in mnist.CHECKSUMS:
        content = images if "images" in name else labels
        (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match="is not the official file: its checksum differs"):
        mnist.load(str(tmp_path))
    for name in mnist.CHECKSUMS:
        checksum = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setitem(mnist.CHECKSUMS, name, checksum)
    data = mnist.load(str(tmp_path))
    assert data.train.images.reshape(2, 6).tolist() == np.arange(12).reshape(2, 6).tolist()
    assert data.test.labels.tolist() == [7, 1]
    assert len({data.digest, dataclasses.replace(data, test=data.train).digest}) == 1
    other = Split(data.train.images + 1, data.train.labels)
    assert dataclasses.replace(data, train=other).digest != data.digest
    packed = gzip.compress(labels)
    for name, content in (("", labels[:-1]), ("", labels[:5]), ("", b""), (".gz", packed[:-4]), (".gz", labels)):
        (folder / f"train-labels-idx1-ubyte{name}").write_bytes(content)
        with pytest.raises(ValueError, match="is no IDX file of bytes, or is cut off"):
            mnist.load(str(tmp_path))


def cifar(folder: Path, labels: list[int]) -> Path:
    """A made-up binary version, with the same few records in every file."""
    binary = folder / "cifar-10-batches-bin"
    binary.mkdir()
    records = b"".join(bytes([label]) + bytes([label] * 3072) for label in labels)
    for name in (*cifar10.BATCHES, "test_batch"):
        (binary / f"{name}.bin").write_bytes(records)
    return binary


def test_cifar10_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planes of a colour, one after the other; another copy must be vouched for, and is labelled so."""
    binary = cifar(tmp_path, [6, 9, 9, 4, 1, 1, 2, 7, 8, 3])
    with pytest.raises(
        ValueError, match=r"1\.bin is not the official file: .* run `python -m .* checksum cifar10` once"
    ):
        cifar10.load(str(tmp_path))
    with monkeypatch.context() as patched:
        for name in cifar10.BINARY:
            patched.setitem(cifar10.BINARY, name, hashlib.sha1((binary / name).read_bytes()).hexdigest())
        data = cifar10.load(str(tmp_path))
        assert data.label == "CIFAR-10"
    assert (data.train.images.shape, data.test.images.shape) == ((50, 3, 32, 32), (10, 3, 32, 32))
    assert data.train.images[3].min() == data.train.images[3].max() == data.train.labels[3] == 4
    (binary / "data_batch_1.bin").write_bytes(bytes([5]) + bytes(1024) + bytes([1] * 2048))
    assert vouch("cifar10", str(tmp_path)) == binary / "SHA256SUMS"
    other = cifar10.load(str(tmp_path))
    assert "not the official one" in other.label
    assert other.train.images[0].reshape(3, -1).max(axis=1).tolist() == [0, 1, 1]
    (binary / "data_batch_1.bin").write_bytes(bytes(3000))
    with pytest.raises(ValueError, match=r"1\.bin was changed: its checksum differs from that in SHA256SUMS"):
        cifar10.load(str(tmp_path))
    vouch("cifar10", str(tmp_path))
    with pytest.raises(ValueError, match="has 3000 bytes, no multiple of 3073: it is cut off"):
        cifar10.load(str(tmp_path))


def test_cifar10_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle is opened only if it is the published one."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    batch = {b"data": np.full((2, 3072), 9, np.uint8), b"labels": [9, 0]}
    for name in cifar10.CHECKSUMS:
        (folder / name).write_bytes(pickle.dumps(batch))
    monkeypatch.setattr(cifar10, "_Arrays", lambda *a, **k: pytest.fail("an unknown pickle was opened"))
    with pytest.raises(ValueError, match="is not the official file: its checksum differs"):
        cifar10.load(str(tmp_path))
    monkeypatch.undo()
    for name in cifar10.CHECKSUMS:
        checksum = hashlib.md5((folder / name).read_bytes()).hexdigest()
        monkeypatch.setitem(cifar10.CHECKSUMS, name, checksum)
    assert cifar10.load(str(tmp_path)).train.labels.tolist() == [9, 0] * 5
    code = pickle.dumps({b"data": Path("x"), b"labels": [0]})
    (folder / "data_batch_1").write_bytes(code)
    monkeypatch.setitem(cifar10.CHECKSUMS, "data_batch_1", hashlib.md5(code).hexdigest())
    with pytest.raises(ValueError, match=r"data_batch_1 holds more than arrays: .* has no place in an array"):
        cifar10.load(str(tmp_path))


def test_lfw_files(tmp_path: Path) -> None:
    """A made-up folder in the real layout: names with spaces, tabs, a comment, a picture that isn't there."""
    home = tmp_path / "lfw_home"
    people = [("Ada Lovelace", 1, -1.5), ("Ada Lovelace", 2, -0.2), ("Alan Turing", 1, 2.0)]
    people += [("Carl Gauss", number, 0.7) for number in range(1, 5)]
    lines = ["#\tlfw_attributes.txt of somewhere", "#\tperson\timagenum\tYoung\tMale"]
    lines += [f"{name}\t{number}\t{number - 2.5}\t{male}" for name, number, male in people]
    lines += ["Nobody Here\t1\t0.3\t1.0"]
    for name, number, male in people:
        folder = home / "lfw_funneled" / name.replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        colour = (200, 0, 0) if male > 0 else (0, 0, 200)
        Image.new("RGB", (250, 250), colour).save(folder / f"{folder.name}_{number:04d}.jpg")
    (home / lfw.ATTRIBUTES).write_text("\n".join(lines) + "\n")
    vouch("lfw", str(tmp_path))
    data = lfw.load(str(tmp_path))
    assert data.shape == (3, 64, 47)
    assert (len(data.train.labels), len(data.test.labels)) == (4, 3)
    for split in (data.train, data.test):
        red, _, blue = split.images.mean(axis=(2, 3)).T
        assert ((red > blue) == split.labels).all()
    young = lfw.load(str(tmp_path), attribute="Young")
    assert young.classes == 4
    assert (young.train.labels % 2 == data.train.labels).all()
    both = np.concatenate([young.train.labels, young.test.labels])
    assert np.bincount(both).tolist() == [2, 3, 0, 2]
    listed = (home / lfw.ATTRIBUTES).read_text()

    def edited(text: str) -> str:
        """The data root with another list, vouched for."""
        (home / lfw.ATTRIBUTES).write_text(text)
        vouch("lfw", str(tmp_path))
        return str(tmp_path)

    assert lfw.load(edited(listed + "\n")).digest == data.digest
    for wrong in ("Ada Lovelace\t3", "Ada Lovelace\t1\t0.5\tnan"):
        with pytest.raises(ValueError, match="line 11 has no number of an image, or no numbers for"):
            lfw.load(edited(f"{listed}{wrong}\n"))
    with pytest.raises(ValueError, match="has no header with person, imagenum and Male and Old"):
        lfw.load(edited(listed), attribute="Old")
    with pytest.raises(ValueError, match="has no header with person, imagenum and Male"):
        lfw.load(edited("#\tperson\tMale\n"))
    edited(listed)
    Image.new("RGB", (4000, 4000)).save(home / "lfw_funneled" / "Ada_Lovelace" / "Ada_Lovelace_0001.jpg", quality=1)
    with pytest.raises(ValueError, match=r"0001.jpg was changed: its checksum differs .* checksum lfw`"):
        lfw.load(str(tmp_path))
    vouch("lfw", str(tmp_path))
    with pytest.raises(ValueError, match=r"is not a JPEG of 250 × 250 pixels \(4000 × 4000 pixels\)"):
        lfw.load(str(tmp_path))


def test_digits_are_those_of_the_library() -> None:
    from sklearn.datasets import load_digits

    data, whole = digits.load(), load_digits()
    np.testing.assert_array_equal(data.features(data.whole), whole.data / 16)
    np.testing.assert_array_equal(data.whole.labels, whole.target)


# Data sets of one's own: arrays of a file, and pictures by class


PHOTOS = np.arange(10 * 2 * 2 * 6, dtype=np.uint8).reshape(10, 2, 2, 6)
PHOTO_LABELS = np.arange(10) % 3


DARK = {"test_images": PHOTOS // 200, "test_labels": PHOTO_LABELS}


def saved(folder: Path, **content: Any) -> str:
    path = folder / "photos.npz"
    np.savez(path, **content)
    return str(path)


def test_arrays_are_divided_once(tmp_path: Path) -> None:
    data = own.arrays(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS), test=0.3)
    assert (data.label, data.classes, data.shape) == ("photos", 3, (2, 2, 6))
    assert len(data.test.labels) == 3
    whole = data.whole
    order = np.argsort(whole.images[:, 0, 0, 0])
    assert np.array_equal(whole.images[order], PHOTOS)
    assert np.array_equal(whole.labels[order], PHOTO_LABELS)
    other = own.arrays(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS), test=0.3, seed=1)
    assert other.digest != data.digest


def test_arrays_with_a_test(tmp_path: Path) -> None:
    content = {
        "images": PHOTOS[:6, 0],
        "labels": PHOTO_LABELS[:6],
        "test_images": PHOTOS[6:, 0],
        "test_labels": PHOTO_LABELS[6:],
    }
    data = own.arrays(saved(tmp_path, **content), label="Photos")
    assert (data.label, data.shape, len(data.train.labels)) == ("Photos", (1, 2, 6), 6)
    assert np.array_equal(data.test.images[:, 0], PHOTOS[6:, 0])


@pytest.mark.parametrize("names", [True, False])
def test_users_of_a_file(tmp_path: Path, names: bool) -> None:
    numbers = np.arange(10) // 4
    users = np.array(["ann", "bob", "cy"])[numbers] if names else 7 * numbers
    content = {"images": PHOTOS, "labels": PHOTO_LABELS, "users": users}
    data = own.arrays(saved(tmp_path, **content), test=0.3)
    kept = data.train.images[:, 0, 0, 0] // PHOTOS[1, 0, 0, 0]
    assert data.users.tolist() == numbers[kept].tolist()
    tested = {"test_images": PHOTOS[-3:] + 1, "test_labels": PHOTO_LABELS[:3]}
    assert own.arrays(saved(tmp_path, **content, **tested)).users.tolist() == numbers.tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"images": PHOTOS}, "it has images, and must have labels"),
        (
            {"images": PHOTOS, "labels": PHOTO_LABELS, "test_images": PHOTOS},
            "must have test_labels",
        ),
        ({"images": PHOTOS / 255, "labels": PHOTO_LABELS}, "of type float64 must be of type uint8"),
        ({"images": PHOTOS, "labels": PHOTO_LABELS * 0.5}, "labels of type float64 and shape"),
        (
            {"images": PHOTOS, "labels": PHOTO_LABELS, "users": PHOTO_LABELS[:4]},
            r"users of type int64 and shape .4,. must be",
        ),
        (
            {"images": PHOTOS, "labels": PHOTO_LABELS, "users": PHOTO_LABELS / 2},
            "users of type float64 .* integers or strings",
        ),
        (
            {"images": PHOTOS, "labels": PHOTO_LABELS[:4]},
            "10 images must have a label each, and there are 4",
        ),
        ({"images": PHOTOS[..., :3], "labels": PHOTO_LABELS}, r"of shape .10, 2, 2, 3. can be .* `channels: first` or"),
        ({"images": PHOTOS.reshape(10, 24, 1, 1)[:, None, :, 0], "labels": PHOTO_LABELS}, r"10, 1, 24, 1. can be"),
        ({"images": PHOTOS.reshape(8, 6, 5, 1)[..., [0] * 5], "labels": PHOTO_LABELS[:8]}, r"8, 6, 5, 5. can be"),
        ({"images": PHOTOS // 15, "labels": PHOTO_LABELS}, r"images are 0 to 15, .* `white: 15` .* or `white: 255`"),
        ({"images": PHOTOS > 100, "labels": PHOTO_LABELS}, "of type bool must be of type uint8; scale 0 to 1"),
        ({"images": PHOTOS * 257.0, "labels": PHOTO_LABELS}, "of type float64 .*; scale 0 to 61423 to 0 to 255"),
        ({"images": PHOTOS, "labels": PHOTO_LABELS, **DARK}, "pixels of test_images are 0 to 1, and white is 255"),
        ({"images": PHOTOS, "labels": PHOTO_LABELS, "test_labels": PHOTO_LABELS}, "must have test_images"),
        ({"images": PHOTOS, "labels": PHOTO_LABELS % 2 * 999_993 + 7}, "labels up to 1000000 are only 2 classes, and"),
        ({"images": PHOTOS[-2:], "labels": PHOTO_LABELS[-2:]}, "test=0.2 of 2 images is 0"),
        ({"images": PHOTOS, "labels": PHOTO_LABELS - 1}, "labels: -1 at"),
    ],
)
def test_wrong_arrays(tmp_path: Path, content: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        own.arrays(saved(tmp_path, **content))


def test_units_and_axes_are_read_as_said(tmp_path: Path) -> None:
    """Channels may be last, and pixels of any range; arrays are read-only, so that nobody relabels them."""
    first = own.arrays(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS))
    last, few = PHOTOS[:, :1].transpose(0, 2, 3, 1), PHOTOS[:, :1, :, :4]
    for data in (
        own.arrays(saved(tmp_path, images=last, labels=PHOTO_LABELS), channels="last"),
        own.arrays(saved(tmp_path, images=few, labels=PHOTO_LABELS), channels="first"),
    ):
        assert np.array_equal(data.train.images, first.train.images[:, :1, :, : data.shape[2]])
    wide = PHOTOS.reshape(10, 1, 1, 24).repeat(5, axis=2)
    for images in (wide, wide.transpose(0, 2, 3, 1), wide[:, 0]):
        assert own.arrays(saved(tmp_path, images=images, labels=PHOTO_LABELS)).shape == (1, 5, 24)
    swapped = own.arrays(saved(tmp_path, images=PHOTOS[..., :4], labels=PHOTO_LABELS), channels="last")
    assert swapped.shape == (4, 2, 2)
    dim = own.arrays(saved(tmp_path, images=PHOTOS // 15, labels=PHOTO_LABELS), white=15)
    assert dim.features(dim.whole).max() == 1
    for array in (*first.train, *first.test):
        with pytest.raises(ValueError, match="read-only"):
            array.sort()


def test_files_of_another_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    np.save(tmp_path / "one.npy", PHOTOS)
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(ValueError, match=r"one.npz: a single array of shape .*; it must be written by numpy.savez"):
        own.arrays(str(tmp_path / "one.npz"))
    path = saved(tmp_path, labels=PHOTO_LABELS)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("images", b"some bytes")
    with pytest.raises(ValueError, match=r"images is not an array; it must be written by numpy\.savez"):
        own.arrays(path)
    own.arrays(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS, lables=PHOTO_LABELS))
    assert caplog.messages[-1].endswith(
        "photos.npz: lables ignored; its arrays are images, labels, test_images, test_labels, users"
    )


def test_odd_members(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line that names the file; what is ignored is not read."""
    path = tmp_path / "odd.npz"
    npy = io.BytesIO()
    np.save(npy, PHOTOS)
    huge = npy.getvalue().replace(b"(10, 2, 2, 6), }", b"(9000000000, 2, 2, 60)}", 1)
    long = npy.getvalue()[:8] + struct.pack("<H", 20_000) + 20_000 * b" "
    for name, member, words in (
        ("images.npy", huge, "Unable to allocate"),
        ("images.npy", long, "Header info length .20000. is large"),
        ("labels", npy.getvalue(), "two arrays of one name"),
    ):
        with zipfile.ZipFile(saved(tmp_path, labels=PHOTO_LABELS), "a") as archive:
            archive.writestr(name, member)
        (tmp_path / "photos.npz").rename(path)
        with pytest.raises(ValueError, match=rf"odd\.npz: .*{words}.*; it must be written by") as caught:
            own.arrays(str(path))
        assert "\n" not in str(caught.value)
    for place, value in ((6, 1), (8, 99)):  # a password, an unknown compression
        content = bytearray(Path(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS)).read_bytes())
        for mark, further in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
            content[content.index(mark) + place + further] = value
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"odd\.npz: .*; it must be written by"):
            own.arrays(str(path))
    with zipfile.ZipFile(saved(tmp_path, images=PHOTOS, labels=PHOTO_LABELS), "a") as archive:
        archive.writestr("\x1b[31mred.npy", huge)
    assert own.arrays(str(tmp_path / "photos.npz")).classes == 3
    assert "[31mred ignored" in caplog.messages[-1]
    assert "\x1b" not in caplog.messages[-1]


@given(st.binary(max_size=200), st.integers(0, 400))
@examples(20)
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, noise: bytes, cut: int) -> None:
    path = Path(saved(tmp_path_factory.getbasetemp(), images=PHOTOS, labels=PHOTO_LABELS))
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
    with pytest.raises(FileNotFoundError, match="folder not found"):
        own.pictures(str(tmp_path / "none"), height=4, width=4)
    draw(tmp_path / "a" / "1.png", 1)
    with pytest.raises(ValueError, match=r"1 folders of classes \(a\) must be at least 2"):
        own.pictures(str(tmp_path), height=4, width=4)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"b/2\.png: .*it must be a picture"):
        own.pictures(str(tmp_path), height=4, width=4)


GREY = np.full((6, 6), 100, np.uint8)
COLOUR = Image.fromarray(np.stack([GREY, GREY + 50, GREY - 90], axis=2))
DEEP = Image.fromarray(GREY.astype(np.uint16) * 257)


@pytest.mark.parametrize(
    ("picture", "kind", "value"),
    [
        (DEEP, "png", 100),
        (DEEP, "tif", 100),
        (DEEP, "pgm", 100),
        (Image.fromarray(GREY), "bmp", 100),
        (Image.fromarray(GREY > 0), "png", 255),
        (COLOUR, "png", 120),
        (COLOUR.convert("RGBA"), "png", 120),
        (COLOUR.convert("CMYK"), "tif", 120),
        (COLOUR.convert("YCbCr"), "tif", 120),
        (COLOUR.quantize(), "gif", 120),
        (Image.fromarray(GREY.astype(np.int32) * 257), "tif", "mode I have no known range"),
        (Image.fromarray(GREY / np.float32(255)), "tif", "mode F have no known range"),
        (Image.new("LAB", (6, 6)), "tif", "mode LAB have no known range"),
        (Image.fromarray(np.stack([GREY] * 4, axis=2)), "png", "transparent pixels have no known colour"),
        (Image.fromarray(np.stack([GREY] * 2, axis=2)), "png", "transparent pixels have no known colour"),
    ],
    ids=lambda value: value.mode if isinstance(value, Image.Image) else str(value)[:9],
)
def test_every_mode_is_read_rightly_or_refused(
    tmp_path: Path, picture: Image.Image, kind: str, value: float | str
) -> None:
    for name in "ab":
        draw(tmp_path / name / "0.png", 1)
        picture.save(tmp_path / name / f"1.{kind}")
    if isinstance(value, str):
        with pytest.raises(ValueError, match=rf"a/1\.{kind}: .*{value}"):
            own.pictures(str(tmp_path), height=6, width=6)
        return
    data = own.pictures(str(tmp_path), height=6, width=6, colour=False, test=0.25)
    assert sorted(data.whole.images.max(axis=(1, 2, 3)))[-1] == pytest.approx(value, abs=4)


@pytest.mark.parametrize("kind", ["png", "jpg", "tif", "webp"])
@pytest.mark.parametrize("deep", [False, True])
def test_pictures_are_turned_as_their_camera_says(tmp_path: Path, kind: str, deep: bool) -> None:
    pixels = np.zeros((6, 6), np.uint8)
    pixels[:2] = 200
    whole = Image.fromarray(pixels.astype(np.uint16) * 257 if deep and kind in ("png", "tif") else pixels)
    exif = whole.getexif()
    exif[274] = 6  # the top is at the right
    for name in "ab":
        for number in range(2):
            (tmp_path / name).mkdir(exist_ok=True)
            whole.save(tmp_path / name / f"{number}.{kind}", exif=exif)
    image = own.pictures(str(tmp_path), height=6, width=6, colour=False).whole.images[0, 0]
    assert image[:, -1].mean() > image[:, 0].mean() + 100


def test_signs_and_meanings_of_pixels(tmp_path: Path) -> None:
    """In a TIFF of 16 bits 0 may be white; numbers of 8 bits may be signed; a PNG of 16 bits may be transparent."""
    for name in "ab":
        draw(tmp_path / name / "1.png", 1)
    path = tmp_path / "a" / "1.tif"
    DEEP.save(path)
    black_is_0 = struct.pack("<HHII", 262, 3, 1, 1)
    assert black_is_0 in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(black_is_0, struct.pack("<HHII", 262, 3, 1, 0)))
    data = own.pictures(str(tmp_path), height=6, width=6, colour=False, test=0.4)
    assert data.whole.images.max() == 155
    Image.fromarray(GREY).save(path, tiffinfo={339: 2})
    with pytest.raises(ValueError, match=r"a/1\.tif: pixels of signed integers have no known range"):
        own.pictures(str(tmp_path), height=6, width=6)
    path.unlink()
    DEEP.save(tmp_path / "a" / "2.png")
    chunk = b"tRNS" + struct.pack(">H", 25700)
    noted = struct.pack(">I", 2) + chunk + struct.pack(">I", zlib.crc32(chunk))
    whole = (tmp_path / "a" / "2.png").read_bytes()
    (tmp_path / "a" / "2.png").write_bytes(whole[:33] + noted + whole[33:])
    with pytest.raises(ValueError, match=r"a/2\.png: transparent pixels have no known colour"):
        own.pictures(str(tmp_path), height=6, width=6)


def test_several_frames_and_folders(tmp_path: Path) -> None:
    for part in ("train", "test", "val"):
        for name in "ab":
            draw(tmp_path / part / name / "1.png", 1)
    with pytest.raises(ValueError, match="val must not be beside train and test; remove it, or merge it"):
        own.pictures(str(tmp_path), height=4, width=4)
    (tmp_path / "test").rename(tmp_path / "tests")
    with pytest.raises(ValueError, match=r"no picture .* of its classes \(tests, train, val\); add some"):
        own.pictures(str(tmp_path), height=4, width=4)
    COLOUR.save(tmp_path / "train" / "a" / "1.gif", save_all=True, append_images=[DEEP.convert("RGB")])
    with pytest.raises(ValueError, match=r"a/1\.gif: 2 frames, of which one would count"):
        own.pictures(str(tmp_path / "train"), height=4, width=4)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 2**64 - 1))
@examples(15)
def test_even_clients(sizes: list[int], seed: int) -> None:
    ends = np.cumsum(sizes)
    labels = np.zeros(ends[-1], np.int64)
    parts = np.split(np.arange(ends[-1]), ends[:-1])
    even = partition.even(labels, seed, lambda labels, seed: parts, min(sizes))
    partition.check_parts(even, len(labels))
    assert all(len(own) == min(sizes) and set(own) <= set(part) for own, part in zip(even, parts, strict=True))
    with pytest.raises(ValueError, match=f"must be <= {min(sizes)}, those of the client with the fewest"):
        partition.even(labels, seed, lambda labels, seed: parts, min(sizes) + 1)
