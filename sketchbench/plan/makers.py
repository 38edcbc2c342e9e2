"""The digests of the code that makes the reports of a plan.

Jobs on other machines plan again, perhaps with edited code; so the main process writes the digests to a file, and jobs
read it.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from sketchbench.base.files import FileError
from sketchbench.plan.plan import Plan
from sketchbench.plan.selection import Places
from sketchbench.report import codes, seal
from sketchbench.report.figure.catalogue import Entry, available
from sketchbench.report.inputs import CODE
from sketchbench.report.seal import SealError

FIGURE = "figure "  # the prefix of a figure's name in the keys of digests


def find_codes(plan: Plan, catalogue: Mapping[str, Entry]) -> dict[str, str]:
    """Return the digest of the code of each kind of report, and of each figure that a plan draws.

    A plan draws the figures of its own tables. It draws figures of kept, up-to-date tables only if other code drew the
    existing figure."""
    kinds = {kind: codes.code_of(kind) for kind in codes.MAKERS}
    drawn = {name: catalogue[name].digest(codes.DIGEST) for name in available(catalogue, plan.up_to_date_tables)}
    changed = available(catalogue, plan.up_to_date_tables, changed=plan.runs)
    folder = Path(plan.places.reports) / "figures"
    return kinds | {
        f"{FIGURE}{name}": code
        for name, code in drawn.items()
        if name in changed or _is_of_other_code(folder / f"{name}.svg", code)
    }


def figures(keys: Iterable[str]) -> list[str]:
    """The names of the figures among the keys of digests."""
    return [key.removeprefix(FIGURE) for key in keys if key.startswith(FIGURE)]


def _is_of_other_code(svg: Path, code: str) -> bool:
    """Return whether a figure exists and its seal does not name this code."""
    try:
        return svg.is_file() and seal.read(svg).made_of.get(CODE) != code
    except SealError:
        return True


def codes_file(places: Places) -> Path:
    """The file of these digests."""
    return Path(places.results) / "codes.json"


def planned_codes(places: Places) -> dict[str, str]:
    """Read the digests that the main process wrote. Raises FileError if they can't be read."""
    path = codes_file(places)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); run sketchbench results again, which writes it") from None
