"""Writing a file so that a reader finds the old one, the new one, or none, but never a part of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, of the same suffix, that replaces it at the end of the block.

    Its name is unique, so that two writers of the same file don't disturb each other; an error leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    temporary = Path(name)
    try:
        os.close(handle)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
