"""Damaged files of every kind: an error in one line, or the same content, and never other content or much memory."""

import functools
import gzip
import hashlib
import io
import itertools
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from PIL import Image

from sketchbench.federated import checkpoint
from sketchbench.learning.dataset import cifar10, lfw, mnist
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.fetch import vouch
from sketchbench.report import seal
from sketchbench.run import record


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """What a disk, a copy or an editor may make of a file."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "swap", "zeros", "twice"]))
    place = draw(st.integers(0, len(whole) - 1))
    length = draw(st.integers(1, 64))
    other = draw(st.integers(0, len(whole) - 1))
    content = bytearray(whole)
    if kind == "flip":
        content[place] ^= 1 << draw(st.integers(0, 7))
    elif kind == "cut":
        del content[place:]
    elif kind == "insert":
        content[place:place] = draw(st.binary(min_size=1, max_size=8))
    elif kind == "swap":
        first, second = sorted((place, other))
        length = min(length, second - first)
        block = content[first : first + length]
        content[first : first + length] = content[second : second + length]
        content[second : second + len(block)] = block
    elif kind == "zeros":
        content[place : place + length] = bytes(len(content[place : place + length]))
    else:
        content += content[place:]
    return bytes(content)


IMAGES = b"\0\0\x08\x03" + np.array([2, 2, 3], ">i4").tobytes() + bytes(range(12))
LABELS = b"\0\0\x08\x01" + np.array([2], ">i4").tobytes() + bytes([7, 1])
RECORDS = b"".join(bytes([label]) + bytes([label] * 3072) for label in (3, 8))
BATCH = pickle.dumps({b"data": np.full((2, 3072), 9, np.uint8), b"labels": [9, 0]}, protocol=2)
MB = 1 << 20


@functools.cache
def packed_zeros() -> bytes:
    """Which take a second to pack, and a thousandth of their size."""
    return gzip.compress(bytes(256 * MB))


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


Content = tuple[list[Path], Callable[[], Any]]  # files, and a function that reads them or raises an error


def written_record(root: Path) -> Content:
    path, rows = root / "one.parquet", [{"quantity": "a", "mean": 1.5, "trials": 3}, {"quantity": "b", "mean": 2.5}]
    record.write(path, record.Record(rows, {"signature": "abc", "config": {"d": 3}}))
    return [path], lambda: repr(record.read(path))


def sealed_table(root: Path) -> Content:
    path = root / "one.csv"
    path.write_text("method,label,quantity,mean\nams,AMS,a,1.5\nams,AMS,b,2.5\n")
    seal.write("table", "quick", {"ams": "00", "srht": "11"}, [path], commits={"ams": "0123456789ab"})
    return [path, root / seal.MANIFEST], lambda: (seal.read(path), seal.content(path, "table", "quick"))


def saved_checkpoint(root: Path) -> Content:
    path = checkpoint.path_of(str(root / "checkpoints"), "a training", 3)
    checkpoint.save(path, {"curve": {"values": {"accuracy": {0: 0.1, 5: 1.0}}}, "state": {"w": torch.arange(4.0)}})

    def read() -> str:
        content = checkpoint.load(path)
        if content is None:
            raise ValueError(f"{path}: set aside")
        return repr(content)

    return [path], read


STRICT = {"seal": sealed_table, "checkpoint": saved_checkpoint}  # in which every byte counts
KINDS = {"record": written_record, **STRICT}


@pytest.fixture(params=[*KINDS, *FORMATS])
def content(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Content:
    if request.param in KINDS:
        return KINDS[request.param](tmp_path)
    make, load = FORMATS[request.param]
    return sorted(make(tmp_path, monkeypatch)), lambda: load(str(tmp_path)).digest


def read_damaged(path: Path, content: bytes, read: Callable[[], Any], sound: Any) -> str:
    """The error with which a damaged file is refused, or nothing where what is read of it is sound."""
    whole, message = path.read_bytes(), ""
    path.write_bytes(content)
    try:
        assert read() == sound
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
        assert message
        assert "\n" not in message
    path.write_bytes(whole)
    return message


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_error_or_the_same(content: Content, tmp_path: Path, data: st.DataObject) -> None:
    files, read = content
    path = data.draw(st.sampled_from(files))
    message = read_damaged(path, data.draw(damaged(path.read_bytes())), read, read())
    assert not message or str(tmp_path) in message


@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_and_every_cut_end(kind: str, tmp_path: Path) -> None:
    """Hundreds, spread over the file. In a record some bits change no value: those of Parquet's statistics, say."""
    files, read = KINDS[kind](tmp_path)
    sound = read()
    for path in files:
        whole = path.read_bytes()
        passed, bits = 0, range(0, 8 * len(whole), 8 * len(whole) // 400 + 1)
        for bit in bits:
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            passed += not read_damaged(path, bytes(flipped), read, sound)
        assert passed == 0 if kind in STRICT else passed < len(bits) / 2
        for length in range(0, len(whole), len(whole) // 50 + 1):
            assert read_damaged(path, whole[:length], read, sound)


def test_swapped_files(content: Content) -> None:
    files, read = content
    sound = read()
    for one, other in itertools.pairwise(files):
        contents = one.read_bytes(), other.read_bytes()
        other.write_bytes(contents[0])
        refused = bool(read_damaged(one, contents[1], read, sound))
        other.write_bytes(contents[1])
        assert refused == (contents[0] != contents[1])


def holes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def bomb(path: Path) -> None:
    path.write_bytes(packed_zeros())


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
    with pytest.raises(ValueError, match="is not a JPEG of 250"):
        lfw.load(str(tmp_path))
