"""Seal committed tables that have no seal.

Before there were seals, tables had none. A run of other studies takes such a table up only once it has one, and then
counts its rows as of older code, since nobody knows their signatures.
"""

from pathlib import Path

from sketchbench.measure.column import Column
from sketchbench.project import git
from sketchbench.report import seal
from sketchbench.report.reports import TABLE, files_of
from sketchbench.report.table.reading import COLUMNS, TableError, read_table


def adopt(path: Path, scale: str) -> str:
    """Seal a table that git has as it is here, with the commit that changed it last. Returns that commit.

    Raises:
        TableError: in one line, for what is no table, has a seal, or is not committed as it is.
        FileError: (an OSError) where the seal can't be written.
    """
    if seal.beside(path).exists():
        raise TableError(f"{path} has a seal already; if it does not fit, run its study again")
    if path.suffix != TABLE[0]:
        raise TableError(f"{path} is no CSV file; name the table's, and the page beside it is sealed with it")
    methods = read_table(path, COLUMNS)[Column.METHOD].unique()
    files = files_of(path, TABLE)
    commits = [_committed(file) for file in files]
    made_of = {str(method): "" for method in methods}
    seal.write("table", scale, made_of, files, commits=dict.fromkeys(made_of, commits[0]))
    return commits[0]


def _committed(path: Path) -> str:
    """The last commit that changed a file; TableError where there is none, or the file has changed since."""
    commit = git(path.parent, "log", "-1", "--format=%h", "--abbrev=12", "--", path.name)
    unchanged = git(path.parent, "diff", "--name-only", "HEAD", "--", path.name) == ""
    if not (commit and unchanged and path.is_file()):
        raise TableError(f"{path} is not committed as it is here, so nobody knows what made it; run its study again")
    return commit
