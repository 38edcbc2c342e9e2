"""Where the project is, and what git says of its checkout."""

import subprocess
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]
PROJECT = PACKAGE.parent  # a checkout, or else the folder that the package is installed in, with many others
# What has conf/, workflow/schemas and reports/: a checkout, or the package where it was installed from a wheel.
HOME = PROJECT if (PROJECT / "conf" / "run.yaml").is_file() else PACKAGE
CONF = HOME / "conf"

DIRTY = "-dirty"  # ends the name of a commit that is not the whole story


class Commit(NamedTuple):
    """Its name, of 12 digits, which `DIRTY` may follow, and its day."""

    name: str
    day: str


def reports(place: Path | str) -> Path:
    """A path in reports/: of the current folder, or of the project's published reports where that has none."""
    return Path(place) if Path("reports").is_dir() else HOME / place


def checkout(what: str) -> Path:
    """The checkout that the package is in. Raises FileNotFoundError where it is in none; `what` needs one."""
    if HOME != PROJECT:
        raise FileNotFoundError(
            f"{what} needs a checkout of the project, and this package is in none: `git clone` the project, and run"
            " `make .venv/ready` there, and then this by `.venv/bin/sketchbench`"
        )
    return PROJECT


def git(root: Path, *arguments: object) -> str | None:
    """What git answers in this folder; None where it fails, as outside a checkout."""
    command = ["git", "-C", str(root), *map(str, arguments)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def code_commit(root: Path) -> Commit | None:
    """The commit of the code, marked `DIRTY` where the code has changed since; None where there is none, as in a
    folder that is not the top of a checkout: a package may be installed below a checkout of something else.

    It is the last that changed anything but reports, so that committing what a run made leaves the next run's reports
    as they are. Nor do changes of reports count, which go on while it runs, or of what no result depends on.
    """
    if git(root, "rev-parse", "--show-prefix") != "":
        return None
    found = git(root, "log", "-1", "--format=%h %cs", "--abbrev=12", "--", ".", ":(exclude)reports")
    if not found:
        return None
    name, day = found.split()
    unchanged = git(root, "diff", "--name-only", "HEAD", "--", "sketchbench", "conf") == ""
    return Commit(name if unchanged else name + DIRTY, day)
