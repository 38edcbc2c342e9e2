"""Seals: what stands beside a report and says what its files contain, and what they were made of.

A table, the page of claims and a figure are files that anyone can edit, cut, swap or copy from elsewhere. Whoever
writes one writes `NAME.seal` last, a small JSON file with the SHA-256 of each of its files, what they were made of, and
a checksum of its own; whoever reads one verifies it first. A seal holds nothing that differs between machines or times,
but that of a table names the commit of the code that it is from.
It shows accidents and edits; it doesn't stop someone who makes a new seal for what they forged.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sketchbench.files import FileError, clear, is_plain, remove, set_aside, write_text

VERSION = 1
LARGEST = 1 << 20  # bytes of a seal; one of 200 tables has 20,000
KINDS = {"table": "a table", "times": "times of a table", "claims": "a page of claims", "figure": "a figure"}
AGAIN = "run snakemake again, which makes it anew"
WITHDRAWN = ".withdrawn"  # behind the name of a seal whose report is to be made again
GONE = ".html"  # the ending of files that reports once had, too; seals from before still list them
ORIGIN = ("commits", "settings", "machines")  # what the seal of a table says beside what every seal does


class SealError(ValueError):
    """A report that can't be trusted; the message names the file, what is wrong with it and what to do."""


@dataclass(frozen=True)
class Seal:
    """What a seal says.

    Attributes:
        kind: a key of KINDS.
        scale: the scale that the report is of.
        made_of: the SHA-256 of each thing that it was made of, by name: what a table has of each method, the tables of
            others.
        files: the SHA-256 of each of its files, by file name.
        commits: of a table, by method, the commit of the code that its records are from, several separated by spaces;
            "" outside a checkout.
        settings: of a table, `seed` and `kernels` of its records.
        machines: of a table, `machine` and `versions` of its records, several separated by semicolons.
    """

    kind: str
    scale: str
    made_of: Mapping[str, str]
    files: Mapping[str, str]
    commits: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The content of the file: JSON in one form only, so that every other byte is a damage."""
        about = {"seal": VERSION, "kind": self.kind, "scale": self.scale}
        parts = {name: dict(sorted(getattr(self, name).items())) for name in ("made_of", "files", *ORIGIN)}
        content = {**about, **{name: part for name, part in parts.items() if part or name not in ORIGIN}}
        return json.dumps({**content, "checksum": digest(json.dumps(content))}, indent=1) + "\n"


def digest(content: str | bytes) -> str:
    """SHA-256, 64 hex digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def beside(path: Path) -> Path:
    """The place of the seal of a report's file, whatever its format."""
    return path.with_suffix(".seal")


def write(
    kind: str, scale: str, made_of: Mapping[str, str], files: Sequence[Path], **origin: Mapping[str, str]
) -> None:
    """Seal a report, after all of its files have been written; the seal stands beside the first.

    Arguments are the attributes of `Seal`, but `files`, the paths of those; `origin`, of a table, is the last three.

    Raises FileError (an OSError) where it can't be written.
    """
    sums = {path.name: digest(path.read_bytes()) for path in files}
    write_text(beside(files[0]), Seal(kind, scale, made_of, sums, **origin).text)
    remove(_withdrawn(beside(files[0])))


def read(path: Path) -> Seal:
    """A seal that is whole.

    Raises:
        SealError: for one that is missing, no file of its own, cut off or changed.
    """
    if not is_plain(path):
        raise SealError(f"{path}: no such seal; {AGAIN}")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST).decode("utf-8")
        content = json.loads(text)
        parts = (content[name] for name in ("kind", "scale", "made_of", "files"))
        seal = Seal(*parts, **{name: content[name] for name in ORIGIN if name in content})
        whole = seal.text == text
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise SealError(f"{path}: no whole seal, or changed since it was written; {AGAIN}")
    return seal


def content(path: Path, kind: str, scale: str | None = None) -> bytes:
    """The bytes of a report's file, verified: they are what its seal says.

    Arguments:
        path: the file.
        kind: a key of KINDS, what the file must be.
        scale: the scale that it must be of; None for any.

    Raises:
        SealError: in one line, for a file that is missing, changed, cut off, swapped or of another kind or scale.
    """
    if not path.is_file():
        raise SealError(f"{path} is {'no file' if path.exists() else 'not there'}; run snakemake first")
    if not beside(path).exists():
        raise SealError(f"{path}: it has no seal ({beside(path).name}), so nobody knows whether it is whole; {AGAIN}")
    seal = read(beside(path))
    if seal.kind != kind:
        raise SealError(f"{path}: it is {KINDS.get(seal.kind, seal.kind)}, not {KINDS[kind]}; name another file")
    if scale not in (None, seal.scale):
        raise SealError(f"{path}: it is of scale={seal.scale}, not {scale}; name another file, or {AGAIN}")
    return _matching(path, seal)


def sums(paths: Iterable[Path]) -> dict[str, str]:
    """What a report says that it was made of: of each table, by study, the SHA-256 that its seal gives it.

    Raises SealError where a table has none.
    """
    return {path.stem: read(beside(path)).files[path.name] for path in paths}


def check(files: Sequence[Path], made_of: Mapping[str, str] | None, scale: str) -> list[str]:
    """Prepare for a run that makes what is missing of a report: whatever is damaged is renamed.

    Where a report is whole, but made of something else than is planned, its seal is withdrawn: Snakemake makes again
    what misses a file, and until it does so `restore` can undo it. A report without a seal stays as it is.
    O(bytes of the files).

    Arguments:
        files: all of the report, but for its seal.
        made_of: what the report is to be made of, see `Seal`; None: whatever it is, it stays.
        scale: the scale that it is to be of.

    Returns:
        A line for each damaged file.

    Raises:
        FileError: where something damaged can't be renamed.
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
        _withdraw(place)
    return lines


def restore(folder: Path) -> None:
    """Undo what `check` withdrew for a run that did not come to make it again, as one that was stopped: the report is
    still there, whole, and another run may leave it as it is.

    Arguments:
        folder: of reports; those in the folders in it count, too.
    """
    for place in sorted([*folder.glob(f"*.seal{WITHDRAWN}"), *folder.glob(f"*/*.seal{WITHDRAWN}")]):
        with suppress(SealError, OSError):
            seal = read(place)
            files = [place.with_name(name) for name in seal.files if not name.endswith(GONE)]
            sealed = place.with_name(place.name.removesuffix(WITHDRAWN))
            if not os.path.lexists(sealed) and all(is_plain(path) and _matching(path, seal) for path in files):
                place.replace(sealed)


def _withdraw(place: Path) -> None:
    try:
        place.replace(_withdrawn(place))
    except OSError as error:
        raise FileError(error.errno, f"{place} can't be renamed ({error.strerror}); remove it by hand") from None


def _withdrawn(place: Path) -> Path:
    return place.with_name(place.name + WITHDRAWN)


def _rejected(path: Path, reason: str) -> str:
    set_aside(path)
    return f"{path}: {reason}; set aside, to be made again"


def _matching(path: Path, seal: Seal) -> bytes:
    """The bytes of a file that is as its seal says; SealError otherwise."""
    if path.name not in seal.files:
        raise SealError(f"{path}: its seal is one of {', '.join(seal.files)}: it was renamed or swapped; {AGAIN}")
    try:
        found = path.read_bytes()
    except OSError as error:
        raise SealError(f"{path}: it can't be read ({error.strerror}); {AGAIN}") from None
    if digest(found) != seal.files[path.name]:
        raise SealError(f"{path}: it is not what its seal says: it was changed or cut off; {AGAIN}")
    return found
