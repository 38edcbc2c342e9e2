"""A user's own data sets, from a file of arrays or from a folder of pictures by class. Their arrays are read-only: code
that would change them, such as a partition that sorts the labels, raises ValueError."""

import functools
import logging
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.errors import one_line
from sketchbench.base.parameters import Count, Natural, Probability, checked
from sketchbench.learning.dataset.dataset import Dataset, Split

if TYPE_CHECKING:
    from PIL.Image import Image

log = logging.getLogger(__name__)

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
PARTS = ("train", "test")
CHANNELS = (1, 2, 3, 4)
WHITE = 255
MODES = ("1", "L", "P", "RGB", "RGBA", "RGBX", "LA", "PA", "CMYK", "YCbCr", "HSV")  # of Pillow, with 8 bits a channel
BITS, PHOTOMETRIC, SIGNED = 258, 262, 339  # tags of a TIFF; its sample format 2 is signed
LINE = 150  # characters of a library's words
MEMBERS = ("images", "labels", "test_images", "test_labels", "users")  # of a file of arrays


class _Picture(NamedTuple):
    """A file as it is now; a changed file is read again."""

    path: Path
    size: int
    changed: int  # ns


@checked
def arrays(
    path: str,
    label: str = "",
    test: Probability = 0.2,
    seed: Natural = 0,
    white: Count | None = None,
    channels: Literal["first", "last"] | None = None,
) -> Dataset:
    """Images and labels of a NumPy file (.npz).

    Arguments:
        path: file with `images`, uint8 (n, height, width), (n, channels, height, width) or (n, height, width,
            channels), and `labels`, integers (n,) from 0; perhaps also with `test_images` and `test_labels`, and with
            `users`, each image's user as a number or name (n,).
        label: name in tables and pages; "" for the file's name.
        test: without test images, the share of all images, drawn at random, that become test images.
        seed: root of that choice.
        white: the largest value that a pixel can have; None for 255, if a pixel of each part exceeds half of it.
        channels: the place of the axis of channels; None if the shape leaves no doubt.

    Raises FileNotFoundError for a missing file; ValueError, with path, value and condition, for a file or arrays of
    another form, and for units, axes or classes in doubt.
    """
    place = _existing(Path(path), "file")
    found = _members(path, place)
    tests = {"test_images", "test_labels"}
    names = {"images", "labels"} | (tests if tests & found.keys() else set())
    if missing := sorted(names - found.keys()):
        there = f"it has {', '.join(found) or 'nothing'}"
        raise ValueError(f"{path}: {there}, and must have {', '.join(missing)}; numpy.savez(path, images=..., ...)")
    train, *given = (
        Split(_images(path, part, found[part], white, channels), _labels(path, found[part.replace("images", "labels")]))
        for part in ("images", "test_images")
        if part in found
    )
    users = _users(path, found["users"], len(train.labels)) if "users" in found else None
    if given:
        (tested,) = given
    else:
        train, tested, kept = _divided(path, train, test, seed)
        users = users if users is None else users[kept]
    classes = _classes(path, train, tested)
    return _kept(Dataset(label or place.stem, classes, white or WHITE, train, tested, users=users))


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

    Pictures of 16 bits are scaled to 8 bits. Raises FileNotFoundError for a missing folder; ValueError for fewer than
    two classes, for a folder beside `train` and `test`, and, with its path, for a file that is not a picture, or has
    pixels without a range, transparent pixels, or several frames.
    """
    top = _existing(Path(path), "folder")
    names = {entry.name for entry in top.iterdir() if entry.is_dir() and not entry.name.startswith(".")}
    apart = names >= set(PARTS)
    if more := sorted(names - set(PARTS)) if apart else []:
        raise ValueError(f"{path}: {', '.join(more)} must not be beside {' and '.join(PARTS)}; remove it, or merge it")
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
            raise ValueError(
                f"{folder}: no picture ({', '.join(PICTURES)}) in the folders of its classes ({', '.join(classes)}); "
                "add some, as CLASS/1.png, or as train/CLASS/1.png and test/CLASS/1.png"
            )
        images = _read(tuple(file for _, file in files), height, width, "RGB" if colour else "L")
        parts.append(Split(images, np.array([number for number, _ in files], np.int64)))
    train, tested = parts if apart else _divided(path, parts[0], test, seed)[:2]
    return _kept(Dataset(label or top.name, len(classes), WHITE, train, tested))


def _existing(path: Path, what: str) -> Path:
    place = path.expanduser()
    if not (place.is_file() if what == "file" else place.is_dir()):
        raise FileNotFoundError(f"{path}: {what} not found in {Path.cwd()}; correct `path`, or use an absolute path")
    return place


def _members(path: str, place: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a NumPy file with names of MEMBERS; errors as of `arrays`."""
    remedy = "it must be written by numpy.savez(path, images=..., labels=...)"
    try:
        with place.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                raise ValueError(f"a single array of shape {content.shape}")
            names = content.files
            if len(set(names)) < len(names):
                raise ValueError("two arrays of one name")
            found = {name: content[name] for name in names if name in MEMBERS}
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError, EOFError, RuntimeError, MemoryError) as error:
        raise ValueError(f"{path}: {one_line(str(error))[:LINE] or 'cut off'}; {remedy}") from None
    if ignored := sorted(set(names) - found.keys()):
        shown = one_line(", ".join(ignored))[:LINE]
        log.warning("%s: %s ignored; its arrays are %s", path, shown, ", ".join(MEMBERS))
    if other := [name for name, value in found.items() if not isinstance(value, np.ndarray)]:
        raise ValueError(f"{path}: {other[0]} is not an array; {remedy}")
    return found


def _images(path: str, part: str, images: NDArray[Any], white: int | None, channels: str | None) -> NDArray[Any]:
    """Images with an axis of channels after the first, in units of white; `Dataset` checks the rest."""
    if images.ndim == 3:
        images = images[:, None]
    elif images.ndim == 4 and _are_last(path, part, images.shape, channels):
        images = images.transpose(0, 3, 1, 2)
    if images.size and images.dtype.kind in "iufb":
        least, most = images.min().item(), images.max().item()
        if images.dtype != np.uint8:
            remedy = (
                f"scale {least:g} to {most:g} to 0 to 255 and save it as uint8, as (255 * images).round() of [0, 1]"
            )
            raise ValueError(f"{path}: {part} of type {images.dtype} must be of type uint8; {remedy}")
        if white is None and 2 * most <= WHITE:
            raise ValueError(
                f"{path}: pixels of {part} are {least} to {most}, and white is {WHITE} by default; write "
                f"`white: {most}` if that is white, or `white: {WHITE}` if the images are dark"
            )
    return images


def _are_last(path: str, part: str, shape: tuple[int, ...], channels: str | None) -> bool:
    """Whether the last of four axes has the channels; ValueError if both orders, or neither, are plausible."""
    first, last = shape[1] in CHANNELS, shape[3] in CHANNELS
    if channels is None and first == last and shape[1:] != (1, 1, 1):
        raise ValueError(
            f"{path}: {part} of shape {shape} can be (n, channels, height, width) or (n, height, width, channels); "
            "write `channels: first` or `channels: last`"
        )
    return channels == "last" if channels else last and not first


def _labels(path: str, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        shown = f"labels of type {labels.dtype} and shape {labels.shape}"
        raise ValueError(f"{path}: {shown} must be integers (n,), the class of each image, from 0")
    return labels.astype(np.int64)


def _classes(path: str, *parts: Split) -> int:
    """The number of classes, at least 2; ValueError if the largest label is far above the number of labels."""
    present = np.unique(np.concatenate([part.labels for part in parts]))
    classes = max(2, int(present.max(initial=0)) + 1)
    if len(present) and classes > 2 * max(2, len(present)):
        raise ValueError(
            f"{path}: labels up to {present[-1]} are only {len(present)} classes, and must be 0 to {len(present) - 1}; "
            "number them by numpy.unique(labels, return_inverse=True)[1]"
        )
    return classes


def _kept(data: Dataset) -> Dataset:
    """The same data set with read-only arrays."""
    for array in (*data.train, *data.test, *(() if data.users is None else (data.users,))):
        array.flags.writeable = False
    return data


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
                scaled = _eight_bits(picture).convert(mode).resize((width, height))
                image[:] = np.asarray(scaled).reshape(image.shape)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise ValueError(
                f"{file.path}: {error}; it must be a picture of 8 or 16 bits, so mend or remove it"
            ) from None
    images.flags.writeable = False
    return images.transpose(0, 3, 1, 2)


def _eight_bits(picture: "Image") -> "Image":
    """A picture with pixels from 0 to 255, turned as its camera says. Raises ValueError for pixels of unknown range,
    transparent pixels, and several frames."""
    from PIL import Image, ImageOps

    if getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO":  # of cameras: the picture and its previews
        frames = picture.n_frames  # type: ignore[attr-defined]
        raise ValueError(f"{frames} frames, of which one would count; save that one")
    tags = getattr(picture, "tag_v2", {})  # of a TIFF
    deep = picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format in ("PNG", "PPM"))
    if (picture.mode not in MODES and not deep) or 2 in np.atleast_1d(tags.get(SIGNED, 1)):
        kind = f"mode {picture.mode}" if picture.mode not in MODES else "signed integers"
        raise ValueError(f"pixels of {kind} have no known range; scale them to 0 to 255, and save 8 bits")
    if deep:
        clear = picture.info.get("transparency") in np.asarray(picture)
    else:
        clear = picture.has_transparency_data and picture.convert("RGBA").getchannel("A").getextrema()[0] != WHITE
    if clear:
        raise ValueError("transparent pixels have no known colour; put the picture on a background")
    bits = np.atleast_1d(tags.get(BITS, 16))[0]  # a TIFF may have 12 of 16
    dark_is_high = deep and tags.get(PHOTOMETRIC) == 0
    upright = ImageOps.exif_transpose(picture)
    if not deep:
        return upright
    pixels = np.asarray(upright) * (WHITE / (2**bits - 1))
    return Image.fromarray((WHITE - pixels if dark_is_high else pixels).round().astype(np.uint8))
