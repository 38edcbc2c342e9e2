"""Checkpoints: what was saved, or nothing and a line in the log."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sketchbench.federated.checkpoint import load, place, save
from sketchbench.files import write_bytes

CONTENT: dict[str, Any] = {"curve": {"values": {"accuracy": {0: 0.1, 5: 1.0}}}, "state": {"w": torch.arange(4.0)}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = place(str(tmp_path / "checkpoints"), "a training", 3)
    save(path, CONTENT)
    return path


def same(content: dict[str, Any] | None) -> bool:
    return (
        content is not None
        and content["curve"] == CONTENT["curve"]
        and torch.equal(content["state"]["w"], CONTENT["state"]["w"])
    )


def refused(path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The content is put aside, with one line that names the file."""
    path.write_bytes(content)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert load(path) is None
    (line,) = caplog.messages
    assert line.startswith(f"{path}: ")
    assert line.endswith("; set aside, and the training starts anew")
    assert [entry.name for entry in path.parent.iterdir()] == [f"{path.name}.rejected"]


def test_round_trip(path: Path) -> None:
    assert same(load(path))
    assert load(path.with_name("none.pt")) is None


def test_every_flipped_bit_is_noticed(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All of 201 and more, spread over the whole file."""
    whole = path.read_bytes()
    places = range(0, 8 * len(whole), 8 * len(whole) // 400 + 1)
    assert len(places) > 201
    for bit in places:
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        refused(path, bytes(content), caplog)
    path.write_bytes(whole)
    assert same(load(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_an_error_or_the_same(path: Path, data: st.DataObject) -> None:
    save(path, CONTENT)
    whole = path.read_bytes()
    content = data.draw(damaged(whole))
    path.write_bytes(content)
    assert same(load(path)) is (content == whole)


def test_what_is_no_checkpoint_of_this_training(path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    another = place(str(tmp_path), "a training", 4)
    save(another, CONTENT)
    plain = tmp_path / "plain"
    torch.save(CONTENT, plain)
    for content in (another.read_bytes(), plain.read_bytes(), b"", b"sketchbench checkpoint 1\n"):
        refused(path, content, caplog)
    save(path, [1, 2])  # type: ignore[arg-type]
    refused(path, path.read_bytes(), caplog)
    path.mkdir()
    assert load(path) is None
    path.symlink_to("nowhere")
    assert load(path) is None
    save(path, CONTENT)
    assert same(load(path))


def test_a_huge_file_is_not_read(path: Path) -> None:
    """One of 1 TB, all holes, in the place of a checkpoint."""
    head = path.read_bytes()[:200]
    with path.open("wb") as file:
        file.write(head)
        file.truncate(1 << 40)
    assert load(path) is None


def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="no space left on device while writing"):
            save(path, {"other": 1})
        with pytest.raises(OSError, match="no space left"):
            write_bytes(path, b"")
    assert same(load(path))
