"""Negative controls: rows that a claim does not speak of, and that its checks must therefore reject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.measure.column import AXES, COLUMNS, Column

KINDS = ("negative_control", "near_miss")
IMPOSSIBLE = "none can be"  # the name where a reason says why no control is possible


@dataclass(frozen=True)
class NegativeControl:
    """The rows to which the checks of a claim are applied in place of its own rows, or why no such rows exist.

    An attribute that is not given is that of the claim.

    Attributes:
        method, studies: of the rows.
        where: values by columns, in place of those that a check asks for, or in addition to them.
        reference: whose `exact` and `bound` the rows are held against: their own, or those of the claim's rows that
            agree with them on all axes other than those in `where`.
        reason: why no control can be; "" where there is one.
    """

    method: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    studies: tuple[str, ...] = ()
    reference: Literal["control", "claim"] = "control"
    reason: str = ""

    @property
    def name(self) -> str:
        """What distinguishes the control from the claim, in a few words."""
        if self.reason:
            return IMPOSSIBLE
        values = [value if isinstance(value, str) else f"{column}={value}" for column, value in self.where.items()]
        return ", ".join([*([self.method] if self.method else []), *values, *self.studies])

    def selects_only(self, method: str) -> bool:
        """Whether its rows are those of this method in the claim's own studies, which then can't be its control."""
        return self.method == method and not self.where and not self.studies


def read_controls(content: Mapping[str, Any]) -> dict[str, NegativeControl]:
    """The controls of a claim by method, `default` for all others; `content` is one control, or several by method, or
    empty.

    Raises ValueError for an unknown column.
    """
    single = any(not isinstance(value, dict) or name == "where" for name, value in content.items())
    controls = {"default": content} if single else content
    for control in controls.values():
        for column in control.get("where", {}):
            choose("column", column, COLUMNS)
    return {
        name: NegativeControl(**{**control, "studies": tuple(control.get("studies", ()))})
        for name, control in controls.items()
    }


def with_references(rows: pd.DataFrame, claimed: pd.DataFrame, changed: Sequence[str]) -> pd.DataFrame:
    """The rows of a control with the `exact` and `bound` of the claim's rows in the place of their own.

    Each row is joined with each `claimed` row of the same quantity that agrees on the axes, other than the `changed`
    columns, which have other values in the control; rows without such a row are left out.
    """
    references = [Column.EXACT, Column.BOUND]
    keys = [name for name in (Column.QUANTITY, *AXES) if name in rows and name in claimed and name not in changed]
    wanted = claimed[[*keys, *references]].drop_duplicates()
    return rows.drop(columns=references).merge(wanted, on=keys)
