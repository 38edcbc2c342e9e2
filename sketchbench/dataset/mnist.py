"""MNIST from its four official IDX files, gzipped or not, where a data root has them."""

import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SKETCHBENCH_DATA"  # the data root: a folder with mnist/ in it


def load(part: str = "train") -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features (60000, 784) in [0, 1] and labels (60000,) in 0..9; `part` test has 10,000.

    Raises FileNotFoundError that says what is missing, where it was looked for and how to get it.
    """
    prefix = {"train": "train", "test": "t10k"}[part]
    images = _read(f"{prefix}-images-idx3-ubyte")
    labels = _read(f"{prefix}-labels-idx1-ubyte")
    return images.reshape(len(images), -1) / 255.0, labels.astype(np.int64)


def _read(name: str) -> NDArray[np.uint8]:
    """An IDX file of bytes."""
    folder = Path(os.environ.get(VARIABLE, "data")) / "mnist"
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            break
    else:
        raise FileNotFoundError(
            f"MNIST: {name}[.gz] is not in {folder.absolute()}; get the official files and set "
            f"{VARIABLE} to the folder above `mnist`"
        )
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    dimensions = content[3]
    shape = np.frombuffer(content, ">i4", dimensions, offset=4)
    if content[:3] != b"\0\0\x08" or len(content) != 4 + 4 * dimensions + shape.prod():
        raise ValueError(f"MNIST: {path} is no IDX file of bytes, or is cut off; get it again")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
