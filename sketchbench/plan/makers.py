"""The code that makes the reports of a plan: digests that its jobs are handed.

Jobs on other machines read the plan again, perhaps by code that was edited since; so they read the digests from a file,
which the main process wrote.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from sketchbench.files import FileError
from sketchbench.plan.selection import Places
from sketchbench.report import codes
from sketchbench.report.figure.catalogue import Entry


def figure(name: str) -> str:
    """The key of a figure among the digests."""
    return f"figure {name}"


def find_codes(catalogue: Mapping[str, Entry]) -> dict[str, str]:
    """The digest of the code of each kind of report, and of each figure with its entry in the catalogue."""
    kinds = {kind: codes.code_of(kind) for kind in codes.MAKERS}
    return kinds | {figure(name): entry.digest(codes.DIGEST) for name, entry in catalogue.items()}


def codes_file(places: Places) -> Path:
    """The file of these digests."""
    return Path(places.results) / "codes.json"


def planned_codes(places: Places) -> dict[str, str]:
    """What the main process wrote of `find_codes`. Raises FileError where it can't be read."""
    path = codes_file(places)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); start snakemake again, which writes it") from None
