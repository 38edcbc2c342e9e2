"""Seals: a file beside each report, with the checksums of its files and of everything that they were made of.

A report is one or more files that anyone can edit, cut, swap or copy from elsewhere. The step that writes a report
writes `NAME.seal` last, a small JSON file with a checksum of its own; `content` reads a report, and verifies its seal
first. There is no other way to read one. Seals hold nothing that differs between machines or times, but those in
`tables/origin`, which say where the rows of a table come from. They show accidents and edits; they don't stop someone
who makes a new seal for what they forged.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sketchbench.base.files import clear, is_plain, remove, set_aside, write_text

VERSION = 1
LARGEST = 1 << 20  # bytes of a seal; one of 200 tables has 20,000
KINDS = ("table", "times", "origin", "claims", "figure", "printed", "frontier", "history", "benchmarks")
RESULTS = "sketchbench results"
FORMATS = (".csv", ".md", ".svg", ".png", ".seal")  # of the files of a folder of reports
FOLDERS = (".", "tables", "figures", "tables/origin")  # where they are in it
UNSEALED = "times.csv"  # the verdicts on times, which git does not track and nothing reads
OPTIONAL = ("settings", "versions", "commits", "machines")  # attributes that only some seals have


class SealError(ValueError):
    """A report that can't be trusted; the message names the file, what is wrong with it and what to do."""


@dataclass(frozen=True)
class Seal:
    """The content of a seal.

    Attributes:
        kind: one of KINDS.
        scale: the scale of the report; "" where it has none.
        made_of: the SHA-256 of each thing that the report was made of, by name (see `inputs`): the records of each
            method for a table, the tables for all else, and the code.
        files: the SHA-256 of each file of the report, by file name.
        settings: of a table, `seed` and `kernels` of its records.
        versions: of a table, the releases of libraries that computed its records, several separated by spaces.
        commits: of an origin, by method, the commits of the code behind the records, separated by spaces.
        machines: of an origin, `machine`, `arithmetic` and `versions` of the records, several separated by semicolons.
    """

    kind: str
    scale: str
    made_of: Mapping[str, str]
    files: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The content of the file: JSON in one form only, so that every other byte is a damage."""
        parts = {name: dict(sorted(getattr(self, name).items())) for name in ("made_of", "files", *OPTIONAL)}
        content = {"seal": VERSION, "kind": self.kind, "scale": self.scale}
        content |= {name: part for name, part in parts.items() if part or name not in OPTIONAL}
        return json.dumps({**content, "checksum": digest(json.dumps(content))}, indent=1) + "\n"


def digest(content: str | bytes) -> str:
    """SHA-256, 64 hex digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def beside(path: Path) -> Path:
    """The place of the seal of a report's file, whatever its format."""
    return path.with_suffix(".seal")


def digests(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of the bytes of each file, by file name."""
    return {path.name: digest(path.read_bytes()) for path in files}


def write(kind: str, scale: str, made_of: Mapping[str, str], files: Sequence[Path], **more: Mapping[str, str]) -> None:
    """Seal a report, after all of its files have been written; the seal stands beside the first of them.

    Arguments are the attributes of `Seal`, except `files`: the paths of the report's files.

    Raises FileError (an OSError) where the seal can't be written.
    """
    write_text(beside(files[0]), Seal(kind, scale, made_of, digests(files), **more).text)


def read(path: Path, again: str = RESULTS) -> Seal:
    """A whole seal; `again` is the command that makes it again, for the message.

    Raises SealError for a seal that is missing, a link, cut off or changed.
    """
    if not is_plain(path):
        raise SealError(f"{path}: no such seal; run {again}")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST).decode("utf-8")
        content = json.loads(text)
        parts = (content[name] for name in ("kind", "scale", "made_of", "files"))
        seal = Seal(*parts, **{name: content[name] for name in OPTIONAL if name in content})
        whole = seal.text == text
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise SealError(f"{path}: no whole seal, or changed since it was written; run {again}")
    return seal


def command(kind: str, scale: str | None, path: Path) -> str:
    """The command that makes a report again; for a history, which only grows, the one that brings it back."""
    if kind == "benchmarks":
        return "make bench"
    if kind == "history":
        return f"git restore {path} {beside(path)}"
    settings = [f"scale={scale}"] if scale else []
    settings += [f"studies={path.stem}"] if kind in ("table", "times", "origin") else []
    return f"{RESULTS} --config {' '.join(settings)}" if settings else RESULTS


def content(path: Path, kind: str, scale: str | None = None) -> bytes:
    """The bytes of a file of a report of this kind and scale (None: any) whose files are all as its seal says.
    Everything that shows a report reads it by this function.

    Raises SealError, in one line, for a file that is missing, changed, cut off, swapped or of another kind or scale.
    """
    again = command(kind, scale, path)
    if not path.is_file():
        raise SealError(f"{path} is {'no file' if path.exists() else 'not there'}; run {again}")
    if not beside(path).exists():
        raise SealError(f"{path}: it has no seal ({beside(path).name}), so nobody can verify it; run {again}")
    seal = read(beside(path), again)
    if seal.kind != kind:
        raise SealError(f"{path}: its seal is of kind {seal.kind}, not {kind}; name another file")
    if scale not in (None, seal.scale):
        raise SealError(f"{path}: it is of scale={seal.scale}, not {scale}; name another file, or run {again}")
    for name in seal.files:
        _matching(path.with_name(name), seal)
    return _matching(path, seal)


def sums(paths: Iterable[Path]) -> dict[str, str]:
    """What a report is made of: the SHA-256 of each table, by study, from the table's seal.

    Raises SealError where a table has no seal.
    """
    return {path.stem: read(beside(path)).files[path.name] for path in paths}


def damages(reports: Path) -> list[str]:
    """A line for each report in a folder that has no seal, differs from its seal or lacks a file. O(bytes)."""
    lines = []
    for folder in FOLDERS:
        files = {path for path in (reports / folder).glob("*") if path.suffix in FORMATS and path.name != UNSEALED}
        for place in sorted({beside(path) for path in files}):
            own = {path for path in files if beside(path) == place} - {place}
            try:
                seal = read(place)
                for path in sorted(own | {place.with_name(name) for name in seal.files}):
                    _matching(path, seal)
            except SealError as error:
                lines.append(str(error))
    return lines


def check(files: Sequence[Path], made_of: Mapping[str, str] | None, scale: str) -> list[str]:
    """Prepare for a run that makes what is missing of a report. O(bytes of the files).

    A damaged file is renamed. A whole report that is made of something else than planned loses its seal: Snakemake
    makes a report again that misses a file, and until then nothing reads it. A report without a seal stays as it is.
    The files are all but the seal; `made_of`, see `Seal`, is what the report is to be made of (None: anything).

    Returns a line for each damaged file. Raises FileError where one can't be renamed, or a seal can't be removed.
    """
    place = beside(files[0])
    lines = [line for path in (*files, place) for line in clear(path)]
    if not is_plain(place):
        return lines
    try:
        seal = read(place)
    except SealError:
        return [*lines, _rejected(place, "no whole seal, or changed since it was written")]
    for path in filter(is_plain, files):
        try:
            _matching(path, seal)
        except SealError:
            lines.append(_rejected(path, "it is not what its seal says"))
    if made_of is not None and (seal.scale != scale or dict(seal.made_of) != dict(made_of)):
        remove(place)
    return lines


def _rejected(path: Path, reason: str) -> str:
    set_aside(path)
    return f"{path}: {reason}; set aside, to be made again"


def _matching(path: Path, seal: Seal) -> bytes:
    """The bytes of a file that is as its seal says; SealError otherwise."""
    again = f"run {command(seal.kind, seal.scale, path)}"
    if path.name not in seal.files:
        raise SealError(f"{path}: its seal is one of {', '.join(seal.files)}: it was renamed or swapped; {again}")
    try:
        found = path.read_bytes()
    except OSError as error:
        raise SealError(f"{path}: it can't be read ({error.strerror}); {again}") from None
    if digest(found) != seal.files[path.name]:
        raise SealError(f"{path}: it is not what its seal says: it was changed or cut off; {again}")
    return found
