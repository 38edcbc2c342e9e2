"""CIFAR-10 from its official binary or Python version, in the data root."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sketchbench.dataset.dataset import Dataset, Split, data_root, fetching, missing

SHAPE = (3, 32, 32)
BATCHES = [f"data_batch_{k}" for k in range(1, 6)]
FIRST = [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]  # the first training labels in the official order
# MD5 of the files of the Python version, as published with it. A pickle that is not one of them isn't opened.
CHECKSUMS = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3ee",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


def load(root: str | None = None) -> Dataset:
    """50,000 training and 10,000 test images of 3 × 32 × 32 pixels, in 10 classes.

    No checksums are published for the files of the binary version; if its first labels are not those of the official
    one, the data set's label says that it is another copy.

    Arguments:
        root: the data root; see `data_root`.

    Raises:
        FileNotFoundError: where a file is missing; the message says where it was looked for, and how to get it.
        ValueError: for a damaged file.
    """
    base = data_root(root)
    binary, pickled = base / "cifar-10-batches-bin", base / "cifar-10-batches-py"
    if binary.is_dir() or not pickled.is_dir():
        train = [_binary(binary, f"{name}.bin") for name in BATCHES]
        test = _binary(binary, "test_batch.bin")
    else:
        train = [_pickled(pickled, name) for name in BATCHES]
        test = _pickled(pickled, "test_batch")
    whole = Split(*(np.concatenate(part) for part in zip(*train, strict=True)))
    official = whole.labels[: len(FIRST)].tolist() == FIRST
    label = "CIFAR-10" if official else "CIFAR-10 (a copy that is not the official one)"
    return Dataset(label, 10, 255, whole, test)


def _content(folder: Path, name: str) -> bytes:
    """The bytes of a file of the data set."""
    if not (folder / name).is_file():
        raise missing(f"CIFAR-10: {name}", folder, fetching("cifar10"))
    return (folder / name).read_bytes()


def _binary(folder: Path, name: str) -> Split:
    """A file of records, each a label and then three planes of a colour."""
    content = _content(folder, name)
    size = 1 + int(np.prod(SHAPE))
    if not content or len(content) % size:
        raise ValueError(
            f"CIFAR-10: {folder / name} has {len(content)} bytes, no multiple of {size}: it is cut off; get it again"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, size)
    return _split(records[:, 1:], records[:, 0])


def _pickled(folder: Path, name: str) -> Split:
    """A file of the Python version, opened only if its checksum is the published one."""
    content = _content(folder, name)
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != CHECKSUMS[name]:
        raise ValueError(f"CIFAR-10: {folder / name} is not the official file: its checksum differs; get it again")
    batch = pickle.loads(content, encoding="bytes")
    return _split(batch[b"data"], np.array(batch[b"labels"]))


def _split(pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> Split:
    """Flat images and their labels."""
    return Split(pixels.reshape(-1, *SHAPE), labels.astype(np.int64))
