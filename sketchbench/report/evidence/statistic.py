"""The name and unit of a claim's statistic, from its criterion and the quantities that its checks select."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.report.claim.claims import Check
from sketchbench.run.config.schema import load

# By criterion: the statistic of a quantity in words, and the condition for the check to hold.
WORDS = {
    "equality": (
        "mean over the trials",
        "the interval contains the exact value, and is narrow enough to see a difference",
    ),
    "upper_bound": ("mean over the trials", "the interval lies below the bound"),
    "probability": ("probability", "the interval lies below the bound"),
    "always": ("share of trials beyond the bound", "no trial is beyond the bound"),
    "growth": ("slope on logarithmic axes", "the interval is nearer to the claimed slope than to the alternative"),
    "computed": ("number, computed without trials", "the number is at most the bound"),
    "audit": ("ε that the attack proves", "the ε is at most the accounted ε, and close to it"),
}
COUNTED = ("trials", "operators")  # units of events, which may happen in a trial


class Quantity(NamedTuple):
    """The meaning of a quantity, and its unit ("" for none)."""

    meaning: str
    unit: str


@functools.cache
def read_quantities() -> dict[str, Quantity]:
    """The quantities of quantities.yaml, by name."""
    content = load(Path(__file__).with_name("quantities.yaml"))
    return {name: Quantity(*(part.strip() for part in f"{text}|".split("|")[:2])) for name, text in content.items()}


def quantity(name: str) -> Quantity:
    """The meaning and unit of a quantity; its name is its meaning if quantities.yaml has no entry."""
    return read_quantities().get(name, Quantity(name.replace("_", " "), ""))


def quantities(check: Check) -> list[str]:
    """The names of the quantities that a check selects; none if it selects by other columns only."""
    chosen: Any = check.where.get("quantity", [])
    return [chosen] if isinstance(chosen, str) else list(chosen)


def name_of(check: Check) -> str:
    """The label of an axis: a check's statistic in a few words, with its unit."""
    what, _ = WORDS[check.criterion]
    selected = [quantity(name) for name in quantities(check)]
    if not selected:
        return what
    meanings = "; ".join(dict.fromkeys(each.meaning for each in selected))
    if check.criterion == "computed":
        return meanings
    if check.criterion in ("probability", "always"):
        counted = all(each.unit in COUNTED for each in selected)
        return f"{what}: {meanings}" if counted else f"{what} of: {meanings}"
    over = f" over {check.settings.over}" if check.criterion == "growth" else ""
    units = ", ".join(dict.fromkeys(each.unit for each in selected if each.unit and each.unit != "trials"))
    return f"{what}{over}: {meanings}{f' [{units}]' if units and not over else ''}"


def axis_name(checks: Sequence[Check]) -> str:
    """One label for the statistics of several checks of one criterion, without repeated words."""
    names = list(dict.fromkeys(map(name_of, checks)))
    heads = {name.partition(": ")[0] for name in names}
    if len(heads) > 1:
        return "; ".join(names)
    return ": ".join(filter(None, [*heads, "; ".join(filter(None, (name.partition(": ")[2] for name in names)))]))


def axis_names(checks: Sequence[Check]) -> dict[str, str]:
    """The labels of the axes of a claim's picture, by criterion."""
    by = {check.criterion for check in checks}
    return {name: axis_name([check for check in checks if check.criterion == name]) for name in by}
