"""Compare a run's reports with a commit's reports."""

import io
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sketchbench.base.project import git
from sketchbench.report import seal

COMPARED = ("claims.csv", ":(glob)*.csv", ":(glob)*.md", seal.MANIFEST, "tables")


class CommitError(RuntimeError):
    """A commit without the reports; the message is for the user."""


@contextmanager
def of_commit(reports: Path, names: Sequence[str] = COMPARED, commit: str = "HEAD") -> Iterator[Path]:
    """Extract files and folders of a commit's reports into a temporary folder. Raises CommitError if it has none."""
    command = ["git", "-C", str(reports), "archive", "--format=zip", commit, "--", *names]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise CommitError(f"git has no {names[0]} with its seal in {reports} at {commit}; commit them first") from None
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            packed.extractall(folder)
        yield Path(folder)


def digest(reports: Path, commit: str = "HEAD") -> str:
    """Git's digest of a commit's verdicts in a reports folder; "" if it has none."""
    return git(reports, "rev-parse", "--verify", "--quiet", f"{commit}:./claims.csv") or ""


def other_tables(committed: Path, reports: Path) -> list[str]:
    """A line for each damaged report, and for each table that one side lacks or that has other code, config or seed.

    Compares no numbers.
    """
    if lines := [*seal.damages(committed), *seal.damages(reports)]:
        return _with_remedy(lines, reports)
    before, after = (
        {study: dict(own.made_of) for study, own in seal.seals(folder / "tables").items()}
        for folder in (committed, reports)
    )
    names = [study for study in sorted(before | after) if before.get(study) != after.get(study)]
    return _with_remedy([f"{reports / 'tables' / name}.csv: differs from the commit's" for name in names], reports)


def other_page(committed: Path, reports: Path) -> list[str]:
    """A line if the page of claims differs from a commit's in a byte."""
    page = reports / "claims.md"
    same = page.is_file() and (committed / "claims.md").read_bytes() == page.read_bytes()
    return _with_remedy([] if same else [f"{page}: differs from the commit's"], reports)


def _with_remedy(lines: Sequence[str], reports: Path) -> list[str]:
    return [f"{line}; run make results and commit {reports}" for line in lines]
