"""The origin of verdicts: commits with their dates, seed, kernels, versions and machine of the tables' records."""

import functools
from collections.abc import Iterable, Sequence

from sketchbench.project import DIRTY, PROJECT, git
from sketchbench.report import seal
from sketchbench.site.page import Scale, table_address
from sketchbench.site.verdicts import escaped


def section(scale: Scale, studies: Sequence[str]) -> str:
    """A table in HTML of what the tables of these studies say of themselves; "" where none is there."""
    rows = "".join(_row(scale, study) for study in studies)
    head = "<tr><th>scale</th><th>table</th><th>commit of the code</th><th>made with</th></tr>"
    return f'<div class="box"><table>{head}{rows}</table></div>' if rows else ""


def _row(scale: Scale, study: str) -> str:
    table = scale.reports / "tables" / f"{study}.csv"
    if not table.is_file():
        return ""
    try:
        told = seal.read(seal.beside(table))
    except seal.SealError:
        return _cells(scale.name, study, "its seal is missing or broken", "")
    return _cells(scale.name, study, dated(commits_of(told)), made_with(told))


def _cells(scale: str, study: str, *texts: str) -> str:
    link = f'<a href="../{table_address(study, scale)}">{study}</a>'
    return f"<tr><td>{scale}</td><td>{link}</td>{''.join(f'<td>{escaped(text)}</td>' for text in texts)}</tr>"


def commits_of(told: seal.Seal) -> set[str]:
    """The commits of the code that the records of a table are from."""
    return {commit for listed in told.commits.values() for commit in listed.split()}


def made_with(told: seal.Seal) -> str:
    """Seed, kernels, machine and versions of the records of a table, in words."""
    return "; ".join(f"{name} {value}" for name, value in {**told.settings, **told.machines}.items())


def dated(commits: Iterable[str]) -> str:
    """A text of commits with their dates, the latest first."""
    found = sorted(((date_of(commit), commit) for commit in commits), reverse=True)
    return ", ".join(f"{commit} ({date})" if date else commit for date, commit in found) or "not known"


@functools.cache
def date_of(commit: str) -> str:
    """The day of a commit, YYYY-MM-DD; "" where git does not know the commit, as outside a checkout."""
    return git(PROJECT, "show", "-s", "--format=%cs", commit.removesuffix(DIRTY), "--") or ""
