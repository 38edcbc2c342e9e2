"""Whether the committed reports are those that the code of the same commit makes."""

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sketchbench.report import seal

COMPARED = ("claims.csv", "claims.md", "claims.seal", "tables")


class CommitError(RuntimeError):
    """A commit without these reports; the message is for the user."""


@contextmanager
def of_commit(reports: Path, commit: str = "HEAD") -> Iterator[Path]:
    """Verdicts and tables of a folder of reports as a commit has them, in a temporary folder.

    Raises CommitError outside a checkout, or where the commit has none.
    """
    command = ["git", "-C", str(reports), "archive", commit, "--", *COMPARED]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise CommitError(f"git has no {', '.join(COMPARED)} of {reports} at {commit}; commit them first") from None
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        yield Path(folder)


def differences(committed: Path, reports: Path) -> list[str]:
    """Compare committed reports with those that a run has made: tables by what they were made of (code, config and
    seed, but no number, which another processor may change), and the page of claims byte for byte.

    Returns:
        A line for each report that differs, is damaged or is on one side only.
    """
    lines = seal.damages(committed) or seal.damages(reports)
    if not lines:
        before, after = (_made_of(folder) for folder in (committed, reports))
        names = [f"tables/{study}.csv" for study in sorted(before | after) if before.get(study) != after.get(study)]
        same = (committed / "claims.md").read_bytes() == (reports / "claims.md").read_bytes()
        lines = [f"{reports / name}: not that of the commit" for name in (*names, *([] if same else ["claims.md"]))]
    return [f"{line}; run make results and commit {reports}" for line in lines]


def _made_of(reports: Path) -> dict[str, dict[str, str]]:
    """What each table was made of, by study."""
    return {path.stem: dict(seal.read(path).made_of) for path in (reports / "tables").glob("*.seal")}
