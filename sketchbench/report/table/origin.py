"""The origin of a table: commits and machines behind its records, which differ between runs of one commit.

Seals in `tables/origin` name them. Git tracks the papers' scale's origins only, as their records have many machines.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sketchbench.report import seal
from sketchbench.report.seal import Seal

FOLDER = "origin"
NOT_KNOWN = "not known"  # the arithmetic of records that don't name it
Provenances = Iterable[tuple[str, Mapping[str, Any]]]  # each record's method and provenance


def place(table: Path) -> Path:
    """The path by which the origin of a table is sealed; no file is there."""
    return table.parent / FOLDER / table.name


def write(table: Path, scale: str, provenances: Provenances) -> None:
    """Write the origin of a sealed table. Raises FileError (an OSError) if the manifest can't be written."""
    commits: dict[str, set[str]] = defaultdict(set)
    machines: dict[str, set[str]] = defaultdict(set)
    for method, provenance in provenances:
        commits[method].add(provenance.get("commit") or "")
        machines["machine"].add(provenance.get("machine") or "")
        machines["arithmetic"].add(provenance.get("arithmetic") or NOT_KNOWN)
        versions = sorted(provenance.get("versions", {}).items())
        machines["versions"].add(", ".join(f"{name} {number}" for name, number in versions))
    about = {"commits": join_values(commits), "machines": join_values(machines, "; ")}
    seal.put(place(table), Seal("origin", scale, seal.digests([table]), {}, **about))


def join_values(values: Mapping[str, set[str]], by: str = " ") -> dict[str, str]:
    """Join each set of strings, without empty strings."""
    return {name: by.join(sorted(filter(None, texts))) for name, texts in values.items() if any(texts)}


def read(table: Path) -> Seal | None:
    """The origin of this table; None in a checkout without a run. Raises SealError if it is damaged."""
    origin = seal.find(place(table), seal.command("origin", None, table))
    return origin if origin and dict(origin.made_of) == seal.digests([table]) else None


def machines_of(table: Path) -> dict[str, str]:
    """`machine`, `arithmetic` and `versions` of a table's records; empty without an origin."""
    origin = read(table)
    return {"arithmetic": NOT_KNOWN, **origin.machines} if origin else {}


def commits_of(table: Path, method: str = "") -> set[str]:
    """The commits of the code behind a method's records, or behind all records; empty without an origin."""
    origin = read(table)
    texts = origin.commits if origin else {}
    return {commit for name, text in texts.items() if method in ("", name) for commit in text.split()}
