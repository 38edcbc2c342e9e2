"""Write files so that a reader finds the old file, the new file, or none, never a part; set aside unusable files."""

import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sketchbench.base.errors import message

_SPACE = "no space left on device while writing {path}; free some and run the same command again"
_RIGHTS = "{path} can't be written: no permission in {path.parent}; make that folder writable, or choose another"
_FOLDER = "{path} can't be written: {blocking} is a {kind}; move it away, or choose another name"
_FOREIGN = "{path} is there already, and no whole file of this kind; choose another name, or remove it"
_REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _SPACE),
    errno.EFBIG: "{path} is larger than files may be here (ulimit -f); raise that and run the same command again",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _RIGHTS),
    errno.ENAMETOOLONG: "{path} can't be written: the name is too long; choose a shorter one",
}


class FileError(OSError):
    """A file that can't be written or set aside. The message is for the user, in one line."""

    def __str__(self) -> str:
        return str(self.args[-1])


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, with the umask's permissions, and make missing folders. It replaces whatever is at the
    path, a link included. Concurrent writers don't disturb each other, and an error leaves nothing behind. Raises
    FileError with reason and remedy if the file can't be written."""
    with _explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.stem[:40]}.{secrets.token_hex(8)}")
        try:
            _write(temporary, content)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def check_writable(path: Path, read: Callable[[Path], object] | None = None) -> None:
    """Check before long work that a file can be written, and make its folders. Raises FileError if it can't, or if an
    existing file is not ours (`read` rejects it)."""
    with _explaining(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        with suppress(FileNotFoundError):
            path.lstat()  # also raises for too long a name
            try:
                if read is None or not path.is_file():
                    raise ValueError
                read(path)
            except (ValueError, LookupError, OSError):
                raise FileError(errno.EEXIST, _FOREIGN.format(path=path)) from None
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = path.with_name(f".{secrets.token_hex(8)}")
        try:
            _write(probe, bytes(1 << 16))
        finally:
            probe.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and its parents. Raises FileError if it can't."""
    with _explaining(path):
        path.mkdir(parents=True, exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def set_aside(path: Path) -> Path:
    """Rename an unusable file, link or folder to its name with `.rejected` behind, and return the new path. An earlier
    rejected file or link is replaced, a folder is not. Raises FileError if it can't be renamed."""
    rejected = path.with_name(f"{path.name}.rejected")
    number = 1
    while rejected.is_dir() or (path.is_dir() and os.path.lexists(rejected)):
        number += 1
        rejected = path.with_name(f"{path.name}.{number}.rejected")
    try:
        path.replace(rejected)
    except OSError as error:
        raise FileError(error.errno, f"{path} can't be used, nor renamed ({error.strerror}); move it away") from None
    return rejected


def clear(path: Path) -> list[str]:
    """Rename whatever blocks a path: a link, a directory, or a file where a directory belongs. Returns one line for
    each; raises FileError if one can't be renamed."""
    lines = []
    for place in (*reversed(path.parents), path):
        if os.path.lexists(place) and not (is_plain(place) if place == path else place.is_dir()):
            set_aside(place)
            wanted = "a file of its own" if place == path else "a folder"
            lines.append(f"{place}: it is not {wanted}; set aside, to be made again")
    return lines


def remove(path: Path) -> None:
    """Remove a file. Raises FileError if that is not permitted."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(error.errno, f"{path} can't be removed ({error.strerror}); remove it by hand") from None


def is_plain(path: Path) -> bool:
    """Return whether the path is a regular file, not a link, whose target may change."""
    return path.is_file() and not path.is_symlink()


def _write(path: Path, content: bytes) -> None:
    """Write a new file to the disk, with the umask's permissions, which `tempfile` ignores."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Turn an error of writing a file or folder into FileError."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(error.errno, _explained(path, error)) from None


def _explained(path: Path, error: OSError) -> str:
    blocking = next((place for place in (path, *path.parents) if os.path.lexists(place)), path)
    if error.errno in (errno.EISDIR, errno.EEXIST, errno.ENOTDIR) or (blocking != path and not blocking.is_dir()):
        kind = "folder" if blocking.is_dir() else "file"
        return _FOLDER.format(path=path, blocking=blocking, kind=kind)
    message = _REASONS.get(error.errno or 0, "{path} can't be written: {reason}; choose another place")
    return message.format(path=path, reason=error.strerror or error)


def display_path(path: Path) -> str:
    """A path relative to the current folder if it lies there; else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def parse_json(text: str, name: str) -> Any:
    """Parse JSON. Raises ValueError, in one line that calls the text `name`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON: {message(error)}") from None


def check_entries(entries: Any, fields: dict[str, type], name: str) -> None:
    """Raise ValueError unless the entries are a list of mappings that have these fields, of these types."""
    if not isinstance(entries, list):
        raise ValueError(f"{name} must be a list, not {type(entries).__name__}; Snakemake makes it of the plan")
    for number, entry in enumerate(entries):
        for field, kind in fields.items():
            if not isinstance(entry, dict) or not isinstance(entry.get(field), kind):
                raise ValueError(f"{name}: entry {number} needs {field}, of type {kind.__name__}")
