"""What takes long to make, and is the same for all workers: one of them makes it, and the others read it."""

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from sketchbench.base.files import write_bytes

Made = TypeVar("Made")
_FOLDERS: list[Path] = []  # of this run of the tests, once it is known


def take_folder(factory: pytest.TempPathFactory) -> None:
    """Where what is made is kept: a temporary folder of all workers of this run."""
    own = factory.getbasetemp()
    _FOLDERS[:] = [(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "once"]
    _FOLDERS[0].mkdir(exist_ok=True)


def made_once(name: str, make: Callable[[], Made]) -> Made:
    """What `make` returns in the first worker that asks for it. It is copied, by pickle, for each of the others, which
    wait for it.

    Arguments:
        name: that of what is made, unique among all tests.
    """
    if not _FOLDERS:
        return make()
    path = _FOLDERS[0] / f"{name}.pickle"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return pickle.loads(path.read_bytes())
        made = make()
        write_bytes(path, pickle.dumps(made))
        return made


def filled_once(name: str, fill: Callable[[Path], object]) -> Path:
    """A folder that `fill` writes in the first worker that asks, while tests run; all others read it."""
    folder = _FOLDERS[0] / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (whole := folder.with_suffix(".whole")).exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            fill(folder)
            whole.touch()
    return folder
