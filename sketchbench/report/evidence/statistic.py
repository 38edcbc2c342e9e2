"""The statistic of a claim, by name and unit: what its criterion makes of the quantity that its checks select."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.config.schema import load
from sketchbench.report.claim.claims import Check

# By criterion: what it makes of a quantity, in words; and what it holds the statistic against.
WORDS = {
    "equality": ("mean over the trials", "the exact value lies in its interval, which is narrow enough"),
    "upper_bound": ("mean over the trials", "its interval lies below the bound"),
    "probability": ("probability", "its interval lies below the bound"),
    "always": ("share of trials beyond the bound", "there is none"),
    "growth": ("slope on logarithmic axes", "it is nearer the claimed slope than the alternative"),
    "computed": ("number, computed without trials", "it is at most the bound"),
    "audit": ("ε that the attack proves", "it is at most the ε accounted for, and close to it"),
}
COUNTED = ("trials", "operators")  # units of what happens in a trial or not


class Quantity(NamedTuple):
    """The meaning of a quantity, and its unit ("" where it has none)."""

    meaning: str
    unit: str


@functools.cache
def listed_quantities() -> dict[str, Quantity]:
    """The quantities that quantities.yaml lists, by name."""
    content = load(Path(__file__).with_name("quantities.yaml"))
    return {name: Quantity(*(part.strip() for part in f"{text}|".split("|")[:2])) for name, text in content.items()}


def quantity(name: str) -> Quantity:
    """The meaning and unit of a quantity; of one that is not listed, its name."""
    return listed_quantities().get(name, Quantity(name.replace("_", " "), ""))


def quantities(check: Check) -> list[str]:
    """The quantities that a check selects; none where it selects by other columns."""
    chosen: Any = check.where.get("quantity", [])
    return [chosen] if isinstance(chosen, str) else list(chosen)


def name_of(check: Check) -> str:
    """The statistic of a check in a few words, with its unit, as the axis of a picture has it."""
    what, _ = WORDS[check.criterion]
    found = [quantity(name) for name in quantities(check)]
    if not found:
        return what
    meanings = "; ".join(dict.fromkeys(each.meaning for each in found))
    if check.criterion in ("probability", "always"):
        counted = all(each.unit in COUNTED for each in found)
        return f"{what}: {meanings}" if counted else f"{what}, where too much is: {meanings}"
    over = f" over {check.settings.over}" if check.criterion == "growth" else ""
    units = ", ".join(dict.fromkeys(each.unit for each in found if each.unit and each.unit != "trials"))
    return f"{what}{over}: {meanings}{f' [{units}]' if units and not over else ''}"


def axis_name(checks: Sequence[Check]) -> str:
    """The statistics of several checks of one criterion, as the axis of a picture has them: what they share once."""
    names = list(dict.fromkeys(map(name_of, checks)))
    heads = {name.partition(": ")[0] for name in names}
    if len(heads) > 1:
        return "; ".join(names)
    return ": ".join(filter(None, [*heads, "; ".join(filter(None, (name.partition(": ")[2] for name in names)))]))


def axis_names(checks: Sequence[Check]) -> dict[str, str]:
    """The names of the axes of a claim's picture, by criterion."""
    by = {check.criterion for check in checks}
    return {name: axis_name([check for check in checks if check.criterion == name]) for name in by}
