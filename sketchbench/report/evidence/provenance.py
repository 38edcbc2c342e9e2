"""The origin of verdicts: commits with their dates, seed, kernels, versions and machine of the tables' records."""

import functools
from collections.abc import Iterable
from pathlib import Path

from sketchbench.base.project import DIRTY, PROJECT, git
from sketchbench.report import seal
from sketchbench.report.table import origin


def made_with(table: Path) -> str:
    """Seed and kernels of a table's records, and machine, arithmetic and versions if known, in words."""
    facts = {**seal.read(table).settings, **origin.machines_of(table)}
    return "; ".join(f"{name} {value}" for name, value in facts.items())


@functools.cache
def last_commit(path: Path) -> list[str]:
    """The last commit that changed a report; none outside a checkout."""
    commit = git(path.parent, "log", "-1", "--format=%h", "--abbrev=12", "--", path.name)
    return [commit] if commit else []


def dated(commits: Iterable[str]) -> str:
    """The commits with their dates, in words, the latest first."""
    days = sorted(((date_of(commit), commit) for commit in commits), reverse=True)
    return ", ".join(f"{commit} ({date})" if date else commit for date, commit in days) or "not known"


@functools.cache
def date_of(commit: str) -> str:
    """The day of a commit, YYYY-MM-DD; "" if git does not know the commit, as outside a checkout."""
    return git(PROJECT, "show", "-s", "--format=%cs", commit.removesuffix(DIRTY), "--") or ""
