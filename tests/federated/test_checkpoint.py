"""Checkpoints: what was saved, or nothing and a line in the log."""

import logging
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sketchbench.base.course import Course, Unfinished
from sketchbench.base.files import write_bytes
from sketchbench.federated import checkpoint, experiment
from sketchbench.federated.checkpoint import load, lock_folder, path_of, save
from sketchbench.federated.curve import Curve
from sketchbench.federated.experiment import Experiment

CONTENT: dict[str, Any] = {"curve": {"values": {"accuracy": {0: 0.1, 5: 1.0}}}, "state": {"w": torch.arange(4.0)}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = path_of(str(tmp_path / "checkpoints"), "a training", 3)
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


def test_what_is_no_checkpoint_of_this_training(path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    another = path_of(str(tmp_path), "a training", 4)
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


@dataclass(frozen=True, kw_only=True)
class Counting(Experiment[Any]):
    def _identity(self) -> tuple[Any, ...]:
        return ("counting",)

    def _states(self, packed: Any | None) -> Iterator[Any]:
        for t in range(packed["t"] if packed else 0, self.rounds + 1):
            if t == STOP[0]:
                raise KeyboardInterrupt
            yield SimpleNamespace(t=t)

    def evaluate(self, at: Any, curve: Curve) -> None:
        curve.add(at.t, {"accuracy": at.t / 7}, 3 * at.t, 2 * at.t)

    def _pack(self, at: Any) -> Any:
        return {"t": at.t}


STOP = [-1]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "another's", "folder", "none"])
def test_a_training_with_a_damaged_checkpoint_is_made_again(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a hand, and with the same curve."""
    monkeypatch.setattr(experiment, "SECONDS_BETWEEN", 0.0)
    whole = Counting(rounds=6).run()
    training = Counting(rounds=6, course=Course(checkpoints=str(tmp_path)))
    monkeypatch.setattr(f"{__name__}.STOP", [4])
    with pytest.raises(KeyboardInterrupt):
        training.run()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    if damage == "another's":
        save(path.with_name("other.pt"), {"curve": asdict(Curve()), "state": None})
        path.with_name("other.pt").replace(path)
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage != "none":
        path.write_bytes({"flip": content[:-9] + b"?" + content[-8:], "cut": content[:-1], "empty": b""}[damage])
    monkeypatch.setattr(f"{__name__}.STOP", [-1])
    with caplog.at_level(logging.WARNING):
        assert training.run() == whole
    assert len([line for line in caplog.messages if "set aside" in line]) == (damage != "none")


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


def test_who_waits_says_for_whom(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once, with the process where the kernel lists it; and a course that is over waits no longer."""
    course = Course(checkpoints=str(tmp_path), until=time.monotonic() + 1.2)
    busy = pytest.raises(Unfinished, match="is worked on by another run")
    with lock_folder(tmp_path, course), busy, lock_folder(tmp_path, course):
        pytest.fail("two processes train in one folder")
    holder = rf"process {os.getpid()}|another process"
    (line,) = caplog.messages
    assert re.fullmatch(rf"{re.escape(str(tmp_path))}: waiting for ({holder}), which trains in this folder", line)


def test_who_waits_where_the_kernel_lists_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint, "LOCKS", tmp_path / "none")
    course = Course(checkpoints=str(tmp_path), until=time.monotonic())
    with lock_folder(tmp_path, course), pytest.raises(Unfinished), lock_folder(tmp_path, course):
        pytest.fail("two processes train in one folder")
    assert caplog.messages == [f"{tmp_path}: waiting for another process, which trains in this folder"]
