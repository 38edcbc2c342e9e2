"""Damaged files of data sets: an error in one line, or the same data, but never other data; and never much memory."""

import gzip
import hashlib
import io
import itertools
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from sketchbench.dataset import cifar10, lfw, mnist
from sketchbench.dataset.dataset import Dataset
from sketchbench.dataset.fetch import vouch

IMAGES = b"\0\0\x08\x03" + np.array([2, 2, 3], ">i4").tobytes() + bytes(range(12))
LABELS = b"\0\0\x08\x01" + np.array([2], ">i4").tobytes() + bytes([7, 1])
RECORDS = b"".join(bytes([label]) + bytes([label] * 3072) for label in (3, 8))
BATCH = pickle.dumps({b"data": np.full((2, 3072), 9, np.uint8), b"labels": [9, 0]}, protocol=2)
MB = 1 << 20
BOMB = gzip.compress(bytes(256 * MB))


def idx(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    for name in mnist.CHECKSUMS:
        content = IMAGES if "images" in name else LABELS
        patch.setitem(mnist.CHECKSUMS, name, hashlib.sha256(content).hexdigest())
        write(root / "mnist" / name, content)
    return list((root / "mnist").iterdir())


def packed(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    for path in idx(root, patch):
        write(path.with_name(f"{path.name}.gz"), gzip.compress(path.read_bytes()))
        path.unlink()
    return list((root / "mnist").iterdir())


def binary(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    """The official files, or so the table of checksums says."""
    for name in cifar10.BINARY:
        patch.setitem(cifar10.BINARY, name, hashlib.sha1(RECORDS).hexdigest())
        write(root / "cifar-10-batches-bin" / name, RECORDS)
    return list((root / "cifar-10-batches-bin").iterdir())


def vouched(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    """Another copy, with a list of checksums."""
    for name in cifar10.BINARY:
        write(root / "cifar-10-batches-bin" / name, RECORDS)
    vouch("cifar10", str(root))
    return list((root / "cifar-10-batches-bin").iterdir())


def pickles(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    for name in cifar10.CHECKSUMS:
        patch.setitem(cifar10.CHECKSUMS, name, hashlib.md5(BATCH).hexdigest())
        write(root / "cifar-10-batches-py" / name, BATCH)
    return list((root / "cifar-10-batches-py").iterdir())


def faces(root: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    home = root / "lfw_home"
    noise = np.random.default_rng(0).integers(0, 255, (250, 250, 3), np.uint8)
    lines = ["#\tperson\timagenum\tMale"]
    for number in (1, 2, 3):
        stream = io.BytesIO()
        Image.fromarray(noise // number).save(stream, "JPEG", quality=10)
        write(home / "lfw_funneled" / "Ada" / f"Ada_{number:04d}.jpg", stream.getvalue())
        lines.append(f"Ada\t{number}\t{number - 1.5}")
    write(home / lfw.ATTRIBUTES, "\n".join(lines).encode())
    vouch("lfw", str(root))
    return [path for path in home.rglob("*") if path.is_file()]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


FORMATS: dict[str, tuple[Callable[..., list[Path]], Callable[..., Dataset]]] = {
    "IDX": (idx, mnist.load),
    "gzipped IDX": (packed, mnist.load),
    "binary CIFAR": (binary, cifar10.load),
    "a vouched copy of CIFAR": (vouched, cifar10.load),
    "Python's CIFAR": (pickles, cifar10.load),
    "LFW": (faces, lfw.load),
}


@pytest.fixture(params=FORMATS)
def made(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, list[Path], Callable[..., Dataset], str]:
    """The data root, its files, the reader, and the digest of the data."""
    make, load = FORMATS[request.param]
    files = sorted(make(tmp_path, monkeypatch))
    return str(tmp_path), files, load, load(str(tmp_path)).digest


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120)
@given(data=st.data())
def test_an_error_or_the_same_data(
    made: tuple[str, list[Path], Callable[..., Dataset], str], data: st.DataObject
) -> None:
    root, files, load, digest = made
    path = data.draw(st.sampled_from(files))
    whole = path.read_bytes()
    path.write_bytes(data.draw(damaged(whole)))
    message = ""
    try:
        assert load(root).digest == digest
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
    path.write_bytes(whole)
    assert "\n" not in message
    assert not message or root in message


def test_swapped_files(made: tuple[str, list[Path], Callable[..., Dataset], str]) -> None:
    """Any two of a data set."""
    root, files, load, digest = made
    for one, other in itertools.pairwise(files):
        contents = one.read_bytes(), other.read_bytes()
        one.write_bytes(contents[1])
        other.write_bytes(contents[0])
        try:
            assert load(root).digest == digest
            assert contents[0] == contents[1]
        except ValueError:
            assert contents[0] != contents[1]
        one.write_bytes(contents[0])
        other.write_bytes(contents[1])


def holes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def bomb(path: Path) -> None:
    """Zeros, gzipped to a thousandth."""
    path.write_bytes(BOMB)


@pytest.mark.parametrize("name", FORMATS)
def test_a_huge_file_takes_little_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 1 TB, all holes; a gzip that is 256 MB when it is unpacked."""
    make, load = FORMATS[name]
    files = make(tmp_path, monkeypatch)
    large = dict.fromkeys(files, holes)
    large |= {path: bomb for path in files if path.suffix == ".gz"}
    for path, enlarge in large.items():
        whole = path.read_bytes()
        enlarge(path)
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"than \d+ bytes|no IDX file"):
            load(str(tmp_path))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 150 * MB, f"{path}: {peak / MB:.0f} MB"
        path.write_bytes(whole)


def test_a_picture_that_unpacks_to_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size in its header is enough to refuse it."""
    path = next(path for path in faces(tmp_path, monkeypatch) if path.suffix == ".jpg")
    content = bytearray(path.read_bytes())
    frame = content.index(b"\xff\xc0")
    content[frame + 5 : frame + 9] = b"\xfd\xe8\xfd\xe8"
    path.write_bytes(bytes(content))
    vouch("lfw", str(tmp_path))
    with pytest.raises(ValueError, match="no JPEG of 250"):
        lfw.load(str(tmp_path))
