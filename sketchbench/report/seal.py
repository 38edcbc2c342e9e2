"""Seals: checksums of each report's files and inputs, a line of JSON each in the folder's `seals.jsonl`.

A step seals a report after writing it. `content` verifies a report before returning it; no other function reads
reports. Only the seals in `tables/origin` differ between machines. Seals show accidents and edits; they don't stop
forgers.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from sketchbench.base.files import FileError, clear, is_plain, make_folder, remove, set_aside, write_bytes

VERSION = 2
MANIFEST, LOCK = "seals.jsonl", ".seals.lock"
AHEAD = 2.0  # seconds that clocks of one network may differ
LARGEST = 1 << 26  # bytes of a manifest; 134 tables need 150,000
RESULTS = "sketchbench results"
FORMATS = (".csv", ".md", ".svg", ".png")  # of the files in a reports folder
FOLDERS = (".", "tables", "figures", "tables/origin")  # that hold reports
UNSEALED = "times.csv"  # verdicts on times; git does not track them, and no report is made of them
OPTIONAL = ("settings", "versions", "commits", "machines")  # attributes that only some seals have
PARTS = ("kind", "scale", "made_of", "files", *OPTIONAL)


class SealError(ValueError):
    """An untrustworthy report; the message names the file, the fault and the remedy."""


@dataclass(frozen=True)
class Seal:
    """The content of a seal.

    Attributes:
        kind: table, times, origin, claims, figure, printed, frontier, history or benchmarks.
        scale: the report's scale; "" if it has none.
        made_of: the SHA-256 of each input by name, see `inputs`.
        files: the SHA-256 of each file of the report, by file name.
        settings: a table's `seed` and `kernels`, separated by spaces.
        versions: the releases of libraries behind a table, separated by spaces.
        commits: an origin's commits of the code by method, separated by spaces.
        machines: an origin's `machine`, `arithmetic` and `versions`, separated by semicolons.
    """

    kind: str
    scale: str
    made_of: Mapping[str, str]
    files: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)

    def line(self, name: str) -> bytes:
        """The line of the report of this name: JSON in one form only, so that any other byte is damage."""
        content = {"name": name, "seal": VERSION, "kind": self.kind, "scale": self.scale}
        parts = {part: dict(sorted(getattr(self, part).items())) for part in PARTS[2:]}
        content |= {part: values for part, values in parts.items() if values or part not in OPTIONAL}
        return json.dumps({**content, "checksum": digest(json.dumps(content))}).encode()


def digest(content: str | bytes) -> str:
    """SHA-256, 64 hex digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def digests(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of the bytes of each file, by file name."""
    return {path.name: digest(path.read_bytes()) for path in files}


def write(kind: str, scale: str, made_of: Mapping[str, str], files: Sequence[Path], **more: Mapping[str, str]) -> None:
    """Seal a report of these written files under the stem of the first; the other arguments are attributes of `Seal`.

    Raises FileError (an OSError) if the manifest can't be locked or written.
    """
    put(files[0], Seal(kind, scale, made_of, digests(files), **more))


def put(path: Path, seal: Seal | None) -> None:
    """Replace the seal of the report with this path, or remove it (None). Raises FileError as `write` does."""
    place, own = path.with_name(MANIFEST), json.dumps({"name": path.stem})[:-1].encode() + b","
    if seal is None and not is_plain(place):
        return
    with _lock(path.parent):
        lines = [line for line in _content(place).split(b"\n") if line and not line.startswith(own)]
        _write(place, [*lines, seal.line(path.stem)] if seal else lines)


def seals(folder: Path, again: str = RESULTS) -> dict[str, Seal]:
    """All seals in a folder by report name. Raises SealError, which names the command `again`, if one is damaged."""
    place = folder / MANIFEST
    content = _content(place)
    if _is_damaged(place, content):
        raise SealError(f"{place}: not all of its seals are whole; run {again}")
    return _whole(content)


def find(path: Path, again: str = RESULTS) -> Seal | None:
    """The seal of a report by any of its files; None if there is none. Raises SealError if it is damaged."""
    seal = _whole(_content(path.with_name(MANIFEST))).get(path.stem)
    return seal or seals(path.parent, again).get(path.stem)


def read(path: Path, again: str = RESULTS) -> Seal:
    """The seal of a report, as `find` returns it. Raises SealError if there is none."""
    seal = find(path, again)
    if seal is None:
        raise SealError(f"{path}: it has no seal in {MANIFEST}, so nobody can verify it; run {again}")
    return seal


def command(kind: str, scale: str | None, path: Path) -> str:
    """The command that makes a report again, or restores a history, which only grows."""
    if kind == "benchmarks":
        return "make bench"
    if kind == "history":
        return f"git restore {path} {path.with_name(MANIFEST)}, then {RESULTS}"
    studies = f" --studies {path.stem}" if kind in ("table", "times", "origin") else ""
    return f"{RESULTS}{f' --scale {scale}' if scale else ''}{studies}"


def content(path: Path, kind: str, scale: str | None = None) -> bytes:
    """Read a file of a report of this kind and scale (None: any), once all files of the report match its seal.

    Raises SealError, in one line, if a file is missing, changed, cut off, swapped or of another kind or scale.
    """
    again = command(kind, scale, path)
    if not path.is_file():
        raise SealError(f"{path} is {'no file' if path.exists() else 'not there'}; run {again}")
    seal = read(path, again)
    if seal.kind != kind:
        raise SealError(f"{path}: its seal is of kind {seal.kind}, not {kind}; name another file")
    if scale not in (None, seal.scale):
        raise SealError(f"{path}: it is of scale={seal.scale}, not {scale}; name another file, or run {again}")
    for name in seal.files:
        _matching(path.with_name(name), seal)
    return _matching(path, seal)


def sums(paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each table, by study, from its seal. Raises SealError if a table has no seal."""
    return {path.stem: read(path).files[path.name] for path in paths}


def damages(reports: Path) -> list[str]:
    """A line for each report in a folder that has no seal, differs from its seal or lacks a file. O(bytes)."""
    lines = []
    for folder in (reports / name for name in FOLDERS):
        files = [path for path in folder.glob("*") if path.suffix in FORMATS and path.name != UNSEALED]
        try:
            files += [folder / name for seal in seals(folder).values() for name in seal.files]
        except SealError as error:
            files = []
            lines.append(str(error))
        for path in sorted(set(files)):
            try:
                _matching(path, read(path))
            except SealError as error:
                lines.append(str(error))
    return lines


def mend(reports: Path) -> list[str]:
    """Set aside each damaged manifest of a reports folder, but keep its whole seals; a line for each.

    Raises FileError if a manifest can't be renamed or written.
    """
    lines = []
    for place in (reports / folder / MANIFEST for folder in FOLDERS):
        lines += clear(place)
        content = _content(place)
        if _is_damaged(place, content):
            set_aside(place)
            _write(place, _lines(content))
            lines.append(f"{place}: not all of its seals are whole; set aside, to be made again with their reports")
    return lines


def check(files: Sequence[Path], made_of: Mapping[str, str] | None, scale: str, mark: Path | None = None) -> list[str]:
    """Prepare for a run that makes what is missing of a report, after `mend`; a line for each damaged file. O(bytes).

    A damaged file is renamed. A report loses its seal if it is made of other things than planned (None: anything). A
    report without a seal loses its mark, which Snakemake writes once a report is sealed, so Snakemake makes it again.

    Raises FileError if a file can't be renamed or removed.
    """
    lines = [line for path in (*files, mark) if path for line in (*clear(path), *present(path))]
    seal = find(files[0])
    if seal:
        for path in filter(is_plain, files):
            try:
                _matching(path, seal)
            except SealError:
                set_aside(path)
                lines.append(f"{path}: it does not match its seal; set aside, to be made again")
    stale = seal and made_of is not None and (seal.scale != scale or dict(seal.made_of) != dict(made_of))
    if stale:
        put(files[0], None)
    if mark and (stale or not seal):
        remove(mark)
    return lines


def present(path: Path) -> list[str]:
    """Give a file from the future, as of a clock that was ahead, the time of now: Snakemake takes no output that is
    older than its input. Returns a line if it did; raises OSError if that is not permitted."""
    if not is_plain(path) or path.stat().st_mtime <= time.time() + AHEAD:
        return []
    os.utime(path)
    return [f"{path}: its time lay in the future, as of another clock; set to now"]


def _matching(path: Path, seal: Seal) -> bytes:
    """Read a file that matches its report's seal. Raises SealError if it doesn't."""
    again = f"run {command(seal.kind, seal.scale, path)}"
    if path.name not in seal.files:
        raise SealError(f"{path}: its seal names only {', '.join(seal.files)}: it was renamed or swapped; {again}")
    try:
        found = path.read_bytes()
    except OSError as error:
        raise SealError(f"{path}: it can't be read ({error.strerror}); {again}") from None
    if digest(found) != seal.files[path.name]:
        raise SealError(f"{path}: it does not match its seal: it was changed or cut off; {again}")
    return found


def _content(place: Path) -> bytes:
    """The bytes of a manifest; none if it is missing, a folder, or a link, whose target may change."""
    with suppress(OSError):
        if is_plain(place):
            with place.open("rb") as file:
                return file.read(LARGEST)
    return b""


@lru_cache(maxsize=16)
def _whole(content: bytes) -> dict[str, Seal]:
    """The whole seals of a manifest by report name."""
    found = {}
    for line in content.split(b"\n")[:-1]:
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            parts = json.loads(line)
            seal = Seal(**{name: parts[name] for name in PARTS if name in parts})
            if seal.line(parts["name"]) == line:
                found[parts["name"]] = seal
    return found


def _lines(content: bytes) -> list[bytes]:
    """The lines of the whole seals of a manifest."""
    return [seal.line(name) for name, seal in _whole(content).items()]


def _is_damaged(place: Path, content: bytes) -> bool:
    return _text(_lines(content)) != content or (not content and os.path.lexists(place))


def _text(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in sorted(lines))


def _write(place: Path, lines: Sequence[bytes]) -> None:
    write_bytes(place, _text(lines)) if lines else remove(place)


def _lock(folder: Path) -> BinaryIO:
    """Lock the manifest of a folder until the returned file is closed, since parallel jobs each replace it whole."""
    # The lock is flock, which the kernel frees when its process dies, on a file that git ignores. Nobody removes that
    # file, since two processes could then hold two of them. On NFS, Linux asks the server for the lock, so it holds
    # between nodes; Lustre needs the mount option `flock`. If an entry is lost all the same, its report is never shown,
    # and the next run makes it again.
    make_folder(folder)
    place = folder / LOCK
    try:
        file = place.open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
        list(folder.iterdir())  # so that an NFS client looks up the manifest anew
    except OSError as error:
        raise FileError(error.errno, f"{place} can't be locked ({error.strerror}); choose another folder") from None
    return file
