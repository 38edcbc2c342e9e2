"""The origin of a table: commits and machines behind its records, with their arithmetic and versions. They differ
between runs of one commit.

`tables/origin` has its own manifest, whose seals name the table's checksum. Git ignores the quick scale's manifest, and
tracks the manifest of the papers' scale, whose records come from many commits and machines.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sketchbench.report import seal
from sketchbench.report.seal import Seal

FOLDER = "origin"
NOT_KNOWN = "not known"  # the arithmetic of records that say nothing of it
Provenances = Iterable[tuple[str, Mapping[str, Any]]]  # of each record, its method and its provenance


def place(table: Path) -> Path:
    """The path by which the origin of a table is sealed; no file is there."""
    return table.parent / FOLDER / table.name


def write(table: Path, scale: str, provenances: Provenances) -> None:
    """Write the origin of a sealed table. Raises FileError (an OSError) where it can't be written."""
    commits: dict[str, set[str]] = {}
    machines: dict[str, set[str]] = {}
    for method, provenance in provenances:
        commits.setdefault(method, set()).add(provenance.get("commit") or "")
        machines.setdefault("machine", set()).add(provenance.get("machine") or "")
        machines.setdefault("arithmetic", set()).add(provenance.get("arithmetic") or NOT_KNOWN)
        versions = sorted(provenance.get("versions", {}).items())
        machines.setdefault("versions", set()).add(", ".join(f"{name} {number}" for name, number in versions))
    about = {"commits": join_values(commits), "machines": join_values(machines, "; ")}
    seal.put(place(table), Seal("origin", scale, seal.digests([table]), {}, **about))


def join_values(values: Mapping[str, set[str]], by: str = " ") -> dict[str, str]:
    """Sets of texts by name as one text each, without empty ones."""
    return {name: by.join(sorted(filter(None, texts))) for name, texts in values.items() if any(texts)}


def read(table: Path) -> Seal | None:
    """The origin of a table; None where there is none of this table, as in a checkout without a run.

    Raises SealError where it is damaged.
    """
    origin = seal.find(place(table), seal.command("origin", None, table))
    return origin if origin and dict(origin.made_of) == seal.digests([table]) else None


def machines_of(table: Path) -> dict[str, str]:
    """`machine`, `arithmetic` and `versions` of the records of a table; nothing where there is no origin."""
    origin = read(table)
    return {"arithmetic": NOT_KNOWN, **origin.machines} if origin else {}


def commits_of(table: Path, method: str = "") -> set[str]:
    """The commits of the code behind the records of a method, or of all methods; none where there is no origin."""
    origin = read(table)
    texts = origin.commits if origin else {}
    return {commit for name, text in texts.items() if method in ("", name) for commit in text.split()}
