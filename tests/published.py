"""The published reports: those of git's HEAD, whatever a run has left in the checkout since.

So tests judge the code or what is published, and `make test` says the same before and after `make results`. Where git
tracks none, or is not installed, as in an archive of the sources, those that lie there are the published ones.
"""

import functools
import io
import subprocess
import zipfile
from pathlib import Path

from once import filled_once

from sketchbench.base.project import PROJECT, git

LEFT_OUT = ":(exclude)reports/paper/records"  # which no run of the workflow writes
TRACKED = git(PROJECT, "ls-tree", "HEAD", "--", "reports")


def reports() -> Path:
    """The folder of the published reports, where nobody may write; those of the papers' sizes are in `paper`."""
    return checkout() / "reports"


@functools.cache
def checkout() -> Path:
    """The folder around them, as a checkout has it. Not known when tests are collected."""
    return filled_once("published", _extract) if TRACKED else PROJECT


def _extract(folder: Path) -> None:
    command = ["git", "-C", str(PROJECT), "archive", "--format=zip", "HEAD", "--", "reports", LEFT_OUT]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
