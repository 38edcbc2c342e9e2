"""MNIST from its four official IDX files, gzipped or not, in the folder `mnist` of the data root."""

import gzip
import hashlib
import io
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sketchbench.learning.dataset.checksums import read_bounded
from sketchbench.learning.dataset.dataset import Dataset, Split, data_root, how_to_fetch, missing_file

# SHA-256 of the official files, decompressed.
CHECKSUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
SLACK = 1 << 16  # bytes that gzip may add to incompressible data
SIZES = {  # bytes of the official files, decompressed
    "train-images-idx3-ubyte": 16 + 60_000 * 28 * 28,
    "train-labels-idx1-ubyte": 8 + 60_000,
    "t10k-images-idx3-ubyte": 16 + 10_000 * 28 * 28,
    "t10k-labels-idx1-ubyte": 8 + 10_000,
}


def load(root: str | None = None) -> Dataset:
    """60,000 training and 10,000 test images of 28 × 28 pixels, in 10 classes, from the data root (`data_root`). Raises
    FileNotFoundError, with the remedy, for a missing file; ValueError for a damaged or not official one."""
    folder = data_root(root) / "mnist"
    parts = []
    for prefix in ("train", "t10k"):
        images = _read(folder, f"{prefix}-images-idx3-ubyte")
        labels = _read(folder, f"{prefix}-labels-idx1-ubyte")
        parts.append(Split(images[:, None], labels.astype(np.int64)))
    return Dataset("MNIST", 10, 255, *parts)


def _read(folder: Path, name: str) -> NDArray[np.uint8]:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            break
    else:
        raise missing_file(f"MNIST: {name}[.gz]", folder, how_to_fetch("mnist"))
    broken = ValueError(f"MNIST: {path} is no IDX file of bytes, or is cut off; get it again")
    stored = read_bounded(path, SIZES[name] + SLACK, "MNIST")
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(stored)).read(SIZES[name] + 1) if path.suffix == ".gz" else stored
    except (OSError, EOFError, zlib.error):
        raise broken from None
    start = 4 + 4 * (content[3] if len(content) > 3 else 0)
    if content[:3] != b"\0\0\x08" or len(content) < start:
        raise broken
    shape = np.frombuffer(content[4:start], ">i4")
    if len(content) != start + math.prod(map(int, shape)):
        raise broken
    if hashlib.sha256(content).hexdigest() != CHECKSUMS[name]:
        raise ValueError(f"MNIST: {path} is not the official file: its checksum differs; get it again")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
