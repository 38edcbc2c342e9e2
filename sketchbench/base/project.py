"""The project's folders, and its commit according to git."""

import subprocess
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]
PROJECT = PACKAGE.parent  # a checkout, or else the folder that the package is installed in, with many others
# The folder with conf/, workflow/schemas and reports/: a checkout, or the package if installed from a wheel.
HOME = PROJECT if (PROJECT / "conf" / "run.yaml").is_file() else PACKAGE
CONF = HOME / "conf"

DIRTY = "-dirty"  # ends the name of a commit when files differ from it


class Commit(NamedTuple):
    """The name of a commit (12 digits, and `DIRTY` if files differ) and its day."""

    name: str
    day: str


def reports(place: Path | str) -> Path:
    """A path in the reports/ of the current folder, or in the published reports if it has no reports/."""
    return Path(place) if Path("reports").is_dir() else HOME / place


def checkout(what: str) -> Path:
    """The project's checkout. Raises FileNotFoundError, which says that `what` needs one, if there is none."""
    if HOME != PROJECT:
        raise FileNotFoundError(
            f"{what} needs a checkout of the project, and this package is in none: `git clone` the project, and run"
            " `make .venv/ready` there, and then this by `.venv/bin/sketchbench`"
        )
    return PROJECT


def git(root: Path, *arguments: object) -> str | None:
    """The output of git in this folder; None if git fails, as outside a checkout."""
    command = ["git", "-C", str(root), *map(str, arguments)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def code_commit(root: Path) -> Commit | None:
    """The commit of the code, marked `DIRTY` if the code has changed since. None if the folder is not the top of a
    checkout: a package may be installed below another project's checkout. Commits of reports alone don't count, so that
    committing a run's reports leaves the next run's as they are. Nor do uncommitted changes of reports, which a run
    itself makes, or of files that no result depends on."""
    if git(root, "rev-parse", "--show-prefix") != "":
        return None
    found = git(root, "log", "-1", "--format=%h %cs", "--abbrev=12", "--", ".", ":(exclude)reports")
    if not found:
        return None
    name, day = found.split()
    unchanged = git(root, "diff", "--name-only", "HEAD", "--", "sketchbench", "conf") == ""
    return Commit(name if unchanged else name + DIRTY, day)
