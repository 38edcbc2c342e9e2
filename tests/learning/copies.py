"""Small copies of the real data sets in their official layouts, so that every data set loads without a download."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sketchbench.learning.dataset import cifar10, lfw, mnist
from sketchbench.learning.dataset.fetch import vouch

EACH = 20  # images in a file
RANDOM = np.random.default_rng(5)


def write_copies(root: Path, patch: pytest.MonkeyPatch) -> None:
    for name in mnist.CHECKSUMS:
        shape = (EACH, 28, 28) if "images" in name else (EACH,)
        head = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">i4").tobytes()
        content = head + RANDOM.integers(0, 256 if "images" in name else 10, shape, np.uint8).tobytes()
        patch.setitem(mnist.CHECKSUMS, name, hashlib.sha256(content).hexdigest())
        _write(root / "mnist" / name, content)
    for name in cifar10.BINARY:
        records = RANDOM.integers(0, 256, (EACH, 3073), np.uint8)
        records[:, 0] %= 10
        _write(root / "cifar-10-batches-bin" / name, records.tobytes())
        patch.setitem(cifar10.BINARY, name, hashlib.sha1(records.tobytes()).hexdigest())
    home, lines = root / "lfw_home", ["#\tperson\timagenum\tMale\tBlack"]
    (home / lfw.IMAGES / "Ada").mkdir(parents=True)
    for number in range(1, EACH + 1):
        pixels = RANDOM.integers(0, 256, (250, 250, 3), np.uint8)
        Image.fromarray(pixels).save(home / lfw.IMAGES / "Ada" / f"Ada_{number:04d}.jpg", quality=5)
        lines.append(f"Ada\t{number}\t{number % 2 - 0.5}\t{number % 3 - 0.5}")
    _write(home / lfw.ATTRIBUTES, "\n".join(lines).encode())
    vouch("lfw", str(root))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
