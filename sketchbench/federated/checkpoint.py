"""Checkpoints: the state of a training on disk, from which a stopped training resumes."""

import fcntl
import functools
import hashlib
import io
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from sketchbench.base.course import Course, Unfinished
from sketchbench.base.files import clear, make_folder, set_aside, write_bytes

log = logging.getLogger(__name__)
MAGIC = "sketchbench checkpoint 1"
LONGEST = 1000  # bytes that the first line may have
LOCKS = Path("/proc/locks")  # of Linux
SECONDS_BETWEEN_TRIES = 0.5  # to lock a folder


def path_of(folder: str, *parts: Any) -> Path:
    """The path of a training's checkpoint; its name is a hash of the parts that identify the training."""
    text = repr([describe(part) for part in parts])
    return Path(folder) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.pt"


def describe(value: Any) -> str:
    """Return the repr of a value; functions appear by module and name, because their repr differs between processes.

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
    """Write numbers, strings, lists, dictionaries and tensors atomically, with a checksum. Raises FileError (an
    OSError) if the file can't be written."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    stored = buffer.getvalue()
    write_bytes(path, _heading(path, stored) + stored)


def load(path: Path) -> dict[str, Any] | None:
    """Return the content of a checkpoint, or None if no usable one exists, so that the training starts anew. A damaged
    checkpoint, or another training's under this name, is renamed, and the log says so. No code in the file is run.
    Raises FileError (an OSError) if a file can't be renamed."""
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
    """Lock a folder of checkpoints against other processes while its trainings run.

    Trials that tune share a folder: the first process trains with every learning rate; the others wait, and find its
    checkpoints. The log names the process that holds the lock. On a file system without locks of folders, such as some
    network file systems, each process does the work.

    Raises:
        Unfinished: if the time limit of the course passes while waiting.
        FileError: (an OSError) if the folder can't be made.
    """
    for line in clear(folder / "any"):
        log.warning("%s", line)
    make_folder(folder)
    number = os.open(folder, os.O_RDONLY)
    try:
        waiting = False
        while not _try_lock(number):
            if not waiting:
                log.warning("%s: waiting for %s, which trains in this folder", folder, _holder(number))
            waiting = True
            if course.over:
                raise Unfinished(f"{folder} is worked on by another run")
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(number)


def _try_lock(number: int) -> bool:
    """Try to lock an open folder; False if another process holds the lock. True on file systems without locks."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _holder(number: int) -> str:
    """The process that holds the lock of an open folder, if the kernel lists it; else `another process`."""
    place = os.fstat(number)
    about = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
    with suppress(OSError):
        for line in LOCKS.read_text().splitlines():
            if line.split()[1:2] == ["FLOCK"] and about in line.split():
                return f"process {line.split()[4]}"
    return "another process"


def verify(path: Path) -> tuple[bytes, int]:
    """Return the bytes of a checkpoint, and the number of its training's rounds (0 for a trial's values). Raises
    ValueError for a file that is damaged or no checkpoint, and OSError for a file that can't be read."""
    content = _read(path)
    return path.read_bytes(), int(content.get("t", 0))


def _heading(path: Path, stored: bytes) -> bytes:
    """The first line of a checkpoint: its file name, the number of following bytes, and a checksum of all these."""
    about = f"{MAGIC} {path.name} {len(stored)}"
    return f"{about} {hashlib.sha256(about.encode() + stored).hexdigest()}\n".encode()


def _read(path: Path) -> dict[str, Any]:
    """The content of a checkpoint. Raises ValueError for a file that is damaged or no checkpoint."""
    with path.open("rb") as file:
        line = file.readline(LONGEST)
        words = line.decode("utf-8", "replace").split(" ")
        if not line.startswith(MAGIC.encode()) or words[-2] != str(path.stat().st_size - len(line)):
            raise ValueError("not a checkpoint, or incomplete")
        stored = file.read()
    if line != _heading(path, stored):
        raise ValueError("it was changed, or belongs to another training")
    try:
        content = torch.load(io.BytesIO(stored), weights_only=True)
    except Exception as error:  # unpickling raises all kinds, such as for a file of another version
        raise ValueError(f"it can't be read ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__} instead of a dictionary")
    return content
