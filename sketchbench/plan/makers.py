"""The code that makes the reports of a plan: digests that its jobs are handed.

Jobs on other machines read the plan again, perhaps by code that was edited since; so they read the digests from a file,
which the main process wrote.
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

FIGURE = "figure "  # before its name, the key of a figure among the digests


def find_codes(plan: Plan, catalogue: Mapping[str, Entry]) -> dict[str, str]:
    """The digest of the code of each kind of report, and of each figure that a plan makes, with its entry in the
    catalogue: of the tables that it makes, perhaps beside others that it would make the same; and of these others alone
    where the figure that is there is of other code."""
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
    """Whether a figure is there, and its seal does not say that it is of this code."""
    try:
        return svg.is_file() and seal.read(svg).made_of.get(CODE) != code
    except SealError:
        return True


def codes_file(places: Places) -> Path:
    """The file of these digests."""
    return Path(places.results) / "codes.json"


def planned_codes(places: Places) -> dict[str, str]:
    """What the main process wrote of `find_codes`. Raises FileError where it can't be read."""
    path = codes_file(places)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); run sketchbench results again, which writes it") from None
