"""CIFAR-10 from its official binary or Python version, in the data root."""

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.learning.dataset.checksums import NAME as LISTED
from sketchbench.learning.dataset.checksums import VerifiedFolder, read_bounded
from sketchbench.learning.dataset.dataset import Dataset, Split, data_root, how_to_fetch, missing_file

SHAPE = (3, 32, 32)
BATCHES = [f"data_batch_{k}" for k in range(1, 6)]
VOUCHING = "python -m sketchbench.dataset checksum cifar10"
# Published MD5 of the files of the Python version; other pickles are not opened.
CHECKSUMS = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3ee",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
# SHA-1 of the files of the binary version, as published with Apache MXNet (gluon.data.vision.CIFAR10).
BINARY = {
    "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
}
LARGEST = 10_000 * (1 + 3072) + (1 << 20)  # bytes of the largest file; a pickle has some for file names


def load(root: str | None = None) -> Dataset:
    """50,000 training and 10,000 test images of 3 × 32 × 32 pixels, in 10 classes, from the data root (`data_root`). A
    binary version with other checksums than the official one, such as a mirror's, is read only with a list of its
    checksums (`python -m sketchbench.dataset checksum cifar10`), and has another label. Raises FileNotFoundError for a
    missing file, with the folder and how to get the file; ValueError for a file that is damaged, or has no checksum."""
    base = data_root(root)
    binary, pickled = base / "cifar-10-batches-bin", base / "cifar-10-batches-py"
    if binary.is_dir() or not pickled.is_dir():
        files = {name: _content(binary, name) for name in BINARY}
        others = [name for name, checksum in BINARY.items() if not _is(files[name], "sha1", checksum)]
        official = not others
        if others:
            if not (binary / LISTED).is_file():
                raise ValueError(
                    f"CIFAR-10: {binary / others[0]} is not the official file: its checksum differs; get it again, or, "
                    f"if this is another copy that you trust, run `{VOUCHING}` once"
                )
            verified = VerifiedFolder(binary, "CIFAR-10", VOUCHING)
            files = {name: verified.read(binary / name, LARGEST) for name in BINARY}
        *train, test = (_read_binary(binary / name, content) for name, content in files.items())
    else:
        official = True
        train = [_read_pickle(pickled, name) for name in BATCHES]
        test = _read_pickle(pickled, "test_batch")
    whole = Split(*(np.concatenate(part) for part in zip(*train, strict=True)))
    label = "CIFAR-10" if official else "CIFAR-10 (a copy that is not the official one)"
    return Dataset(label, 10, 255, whole, test)


def _content(folder: Path, name: str) -> bytes:
    if not (folder / name).is_file():
        raise missing_file(f"CIFAR-10: {name}", folder, how_to_fetch("cifar10"))
    return read_bounded(folder / name, LARGEST, "CIFAR-10")


def _is(content: bytes, algorithm: str, checksum: str) -> bool:
    return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() == checksum


def _read_binary(path: Path, content: bytes) -> Split:
    """Read a binary file of records: a label, and then a plane of pixels for each of three colours."""
    size = 1 + int(np.prod(SHAPE))
    if not content or len(content) % size:
        raise ValueError(
            f"CIFAR-10: {path} has {len(content)} bytes, no multiple of {size}: it is cut off; get it again"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, size)
    return _split(records[:, 1:], records[:, 0])


def _read_pickle(folder: Path, name: str) -> Split:
    """Read a file of the Python version, whose checksum must be the published one."""
    content = _content(folder, name)
    if not _is(content, "md5", CHECKSUMS[name]):
        raise ValueError(f"CIFAR-10: {folder / name} is not the official file: its checksum differs; get it again")
    try:
        batch = _Arrays(io.BytesIO(content), encoding="bytes").load()
    except pickle.UnpicklingError as error:
        raise ValueError(f"CIFAR-10: {folder / name} holds more than arrays: {error}") from None
    return _split(batch[b"data"], np.array(batch[b"labels"]))


class _Arrays(pickle.Unpickler):
    """An unpickler of arrays, which runs no other code that a pickle may name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.replace("._core.", ".core."), name) not in (
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("_codecs", "encode"),
        ):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in an array")
        return super().find_class(module, name)


def _split(pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> Split:
    return Split(pixels.reshape(-1, *SHAPE), labels.astype(np.int64))
