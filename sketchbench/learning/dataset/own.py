"""A user's own data sets, from a file of arrays or from a folder of pictures by class."""

import functools
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import Count, Natural, Probability, checked
from sketchbench.learning.dataset.dataset import Dataset, Split

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
PARTS = ("train", "test")
CHANNELS = (1, 2, 3, 4)
WHITE = 255


class _Picture(NamedTuple):
    """A file as it is now; a changed file is read again."""

    path: Path
    size: int
    changed: int  # ns


@checked
def arrays(path: str, label: str = "", test: Probability = 0.2, seed: Natural = 0) -> Dataset:
    """Images and labels of a NumPy file (.npz).

    Arguments:
        path: file with `images`, uint8 (n, height, width) or (n, channels, height, width), and `labels`, integers (n,)
            from 0; perhaps also with `test_images` and `test_labels`, and with `users`, each image's user as a number
            or name (n,).
        label: name in tables and pages; "" for the file's name.
        test: without test images, the share of all images, drawn at random, that become test images.
        seed: root of that choice.

    Raises FileNotFoundError for a missing file; ValueError, with path, value and condition, for a file or arrays of
    another form.
    """
    place = _existing(Path(path), "file")
    try:
        with np.load(place, allow_pickle=False) as content:
            found = {name: content[name] for name in content.files}
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError, EOFError) as error:
        raise ValueError(f"{path}: {error or 'cut off'}; it must be written by numpy.savez") from None
    names = {"images", "labels"} if "test_images" not in found else {"images", "labels", "test_images", "test_labels"}
    if missing := sorted(names - found.keys()):
        there = f"it has {', '.join(found) or 'nothing'}"
        raise ValueError(f"{path}: {there}, and must have {', '.join(missing)}; numpy.savez(path, images=..., ...)")
    train = Split(_channels(path, found["images"]), _labels(path, found["labels"]))
    users = _users(path, found["users"], len(train.labels)) if "users" in found else None
    if "test_images" in found:
        tested = Split(_channels(path, found["test_images"]), _labels(path, found["test_labels"]))
    else:
        train, tested, kept = _divided(path, train, test, seed)
        users = users if users is None else users[kept]
    classes = max(int(part.labels.max(initial=0)) for part in (train, tested)) + 1
    return Dataset(label or place.stem, max(2, classes), WHITE, train, tested, users=users)


@checked
def pictures(
    path: str,
    height: Count,
    width: Count,
    colour: bool = True,
    label: str = "",
    test: Probability = 0.2,
    seed: Natural = 0,
) -> Dataset:
    """Pictures in folders by class, scaled to the same size: `PATH/CLASS/*.png` (or .jpg, ...), or
    `PATH/train/CLASS/...` and `PATH/test/CLASS/...`. Classes are numbered in the order of their names.

    Arguments:
        path: folder.
        height, width: of all images, in pixels; a picture of another shape is stretched.
        colour: three channels, else one.
        label: name in tables and pages; "" for the folder's name.
        test: without folders `train` and `test`, the share of all pictures, drawn at random, that become test images.
        seed: root of that choice.

    Raises FileNotFoundError for a missing folder; ValueError for fewer than two classes, and, with its path, for a file
    that is not a picture.
    """
    top = _existing(Path(path), "folder")
    names = {entry.name for entry in top.iterdir() if entry.is_dir() and not entry.name.startswith(".")}
    apart = names == set(PARTS)
    folders = [top / part for part in PARTS] if apart else [top]
    classes = sorted({entry.name for folder in folders for entry in folder.iterdir() if entry.is_dir()})
    if len(classes) < 2:
        raise ValueError(
            f"{path}: {len(classes)} folders of classes ({', '.join(classes)}) must be at least 2; put the pictures of "
            "each class into a folder with its name"
        )
    parts = []
    for folder in folders:
        files = [(number, file) for number, name in enumerate(classes) for file in _files(folder / name)]
        if not files:
            raise ValueError(f"{folder}: no picture ({', '.join(PICTURES)}) in the folders of its classes; add some")
        images = _read(tuple(file for _, file in files), height, width, "RGB" if colour else "L")
        parts.append(Split(images, np.array([number for number, _ in files], np.int64)))
    train, tested = parts if apart else _divided(path, parts[0], test, seed)[:2]
    return Dataset(label or top.name, len(classes), WHITE, train, tested)


def _existing(path: Path, what: str) -> Path:
    place = path.expanduser()
    if not (place.is_file() if what == "file" else place.is_dir()):
        raise FileNotFoundError(f"{path}: {what} not found in {Path.cwd()}; correct `path`, or use an absolute path")
    return place


def _channels(path: str, images: NDArray[Any]) -> NDArray[Any]:
    """Images with an axis of channels; `Dataset` checks the rest."""
    if images.ndim == 3:
        return images[:, None]
    if images.ndim == 4 and images.shape[1] not in CHANNELS and images.shape[3] in CHANNELS:
        remedy = "save images.transpose(0, 3, 1, 2)"
        raise ValueError(f"{path}: images of shape {images.shape} must be (n, channels, height, width); {remedy}")
    if images.dtype.kind == "f":
        remedy = "save (255 * images).round().astype('uint8') of images in [0, 1]"
        raise ValueError(f"{path}: images of type {images.dtype} must be of type uint8; {remedy}")
    return images


def _labels(path: str, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        shown = f"labels of type {labels.dtype} and shape {labels.shape}"
        raise ValueError(f"{path}: {shown} must be integers (n,), the class of each image, from 0")
    return labels.astype(np.int64)


def _users(path: str, users: NDArray[Any], samples: int) -> NDArray[np.int64]:
    """The number of each image's user, in the order of their numbers or names."""
    if users.dtype.kind not in "iuUS" or users.shape != (samples,):
        shown = f"users of type {users.dtype} and shape {users.shape}"
        raise ValueError(f"{path}: {shown} must be integers or strings ({samples},), each image's user")
    return np.unique(users, return_inverse=True)[1].astype(np.int64)


def _divided(path: str, whole: Split, test: float, seed: int) -> tuple[Split, Split, NDArray[np.int64]]:
    """Training and test samples, at random, and the places of the training samples."""
    images, labels = whole
    if len(images) != len(labels):
        raise ValueError(f"{path}: {len(images)} images must have a label each, and there are {len(labels)}")
    count = round(test * len(labels))
    if not 0 < count < len(labels):
        raise ValueError(f"{path}: test={test} of {len(labels)} images is {count}; it must leave one in either part")
    order = seeds.generator(seed, data="own").permutation(len(labels))
    kept, tested = np.sort(order[count:]), np.sort(order[:count])
    return Split(images[kept], labels[kept]), Split(images[tested], labels[tested]), kept


def _files(folder: Path) -> list[_Picture]:
    """The pictures of a class, in the order of their names; none if there is no such folder."""
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() in PICTURES)
    return [_Picture(path, path.stat().st_size, path.stat().st_mtime_ns) for path in paths]


@functools.lru_cache(maxsize=2)  # a process trains on the same pictures again and again
def _read(files: tuple[_Picture, ...], height: int, width: int, mode: str) -> NDArray[np.uint8]:
    """The pixels of files, uint8 (n, channels, height, width), read-only."""
    from PIL import Image

    images = np.empty((len(files), height, width, 3 if mode == "RGB" else 1), np.uint8)
    for image, file in zip(images, files, strict=True):
        try:
            with Image.open(file.path) as picture:
                image[:] = np.asarray(picture.convert(mode).resize((width, height))).reshape(image.shape)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise ValueError(f"{file.path}: {error}; it must be a picture, so mend or remove it") from None
    images.flags.writeable = False
    return images.transpose(0, 3, 1, 2)
