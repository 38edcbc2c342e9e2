"""Checkpoints: the state of a training on disk, so that a stopped one goes on."""

import fcntl
import functools
import hashlib
import io
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sketchbench.files import clear, make_folder, set_aside, write_bytes
from sketchbench.run.course import Course, Unfinished

log = logging.getLogger(__name__)
MAGIC = "sketchbench checkpoint 1"
LONGEST = 1000  # bytes of the first line
SECONDS_BETWEEN_TRIES = 0.5  # to be alone with a folder


def path_of(folder: str, *parts: Any) -> Path:
    """The file in a folder of checkpoints for the training that these parts describe (see `described`)."""
    text = repr([describe(part) for part in parts])
    return Path(folder) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.pt"


def describe(value: Any) -> str:
    """A text that is the same in every process, unlike the repr of a function.

    >>> describe(functools.partial(describe, value=3))
    "sketchbench.federated.checkpoint.describe[]{'value': '3'}"
    """
    if isinstance(value, functools.partial):
        keywords = {name: describe(argument) for name, argument in sorted(value.keywords.items())}
        return f"{describe(value.func)}{[describe(argument) for argument in value.args]}{keywords}"
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def save(path: Path, content: dict[str, Any]) -> None:
    """Write numbers, texts, lists, dictionaries and tensors atomically, with a checksum.

    Raises FileError (an OSError) where the file can't be written.
    """
    buffer = io.BytesIO()
    torch.save(content, buffer)
    stored = buffer.getvalue()
    write_bytes(path, _heading(path, stored) + stored)


def load(path: Path) -> dict[str, Any] | None:
    """What was saved, or None where there is nothing that can be used, so that the training starts anew.

    What is no whole checkpoint, or that of another training under this one's name, is renamed, with a line in the log.
    Runs no code of the file.

    Raises FileError (an OSError) where it can't be renamed.
    """
    lines = clear(path)
    if path.is_file():
        try:
            return _read(path)
        except (ValueError, OSError) as error:
            set_aside(path)
            lines.append(f"{path}: {error}; set aside, and the training starts anew")
    for line in lines:
        log.warning("%s", line)
    return None


@contextmanager
def lock_folder(folder: Path, course: Course) -> Iterator[None]:
    """Work on the trainings of a folder while no other process does: several trials try the same learning rates, which
    the first of them to come trains with. The others wait, and find its checkpoints.

    Where the file system knows no locks of folders, as over a network, nobody waits, and each does the work.

    Raises:
        Unfinished: where the time limit of the course is reached while waiting.
        FileError: (an OSError) where the folder can't be made.
    """
    for line in clear(folder / "any"):
        log.warning("%s", line)
    make_folder(folder)
    number = os.open(folder, os.O_RDONLY)
    try:
        while not _try_lock(number):
            if course.over:
                raise Unfinished(f"{folder} is worked on by another run")
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(number)


def _try_lock(number: int) -> bool:
    """Whether this process has the lock of an open folder now, or there are none."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def verify(path: Path) -> tuple[bytes, int]:
    """The bytes of a whole checkpoint, and how far it is: the rounds that its training has made, or 0 where it is of
    something else.

    Raises:
        ValueError: for what is none, or is damaged.
        OSError: for what can't be read.
    """
    content = _read(path)
    return path.read_bytes(), int(content.get("t", 0))


def _heading(path: Path, stored: bytes) -> bytes:
    """The first line of a checkpoint: whose it is by its name (see `place`), the bytes that follow, and a checksum of
    all that."""
    about = f"{MAGIC} {path.name} {len(stored)}"
    return f"{about} {hashlib.sha256(about.encode() + stored).hexdigest()}\n".encode()


def _read(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; a ValueError says why there is none."""
    with path.open("rb") as file:
        line = file.readline(LONGEST)
        words = line.decode("utf-8", "replace").split(" ")
        if not line.startswith(MAGIC.encode()) or words[-2] != str(path.stat().st_size - len(line)):
            raise ValueError("it is no checkpoint, or not a whole one")
        stored = file.read()
    if line != _heading(path, stored):
        raise ValueError("it was changed, or belongs to another training")
    try:
        content = torch.load(io.BytesIO(stored), weights_only=True)
    except Exception as error:  # whatever unpickling raises, such as on what another version wrote
        raise ValueError(f"it can't be read ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__} in the place of a training")
    return content
