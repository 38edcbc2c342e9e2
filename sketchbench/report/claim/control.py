"""Negative controls: rows outside a claim, which its checks must therefore reject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.measure.column import AXES, COLUMNS, Column

KINDS = ("negative_control", "near_miss")
IMPOSSIBLE = "none can be"  # the name of a control that is impossible, for a reason


@dataclass(frozen=True)
class NegativeControl:
    """The rows to which a claim's checks are applied instead of its own rows, or the reason why no such rows exist.

    A missing attribute defaults to the claim's.
    """

    method: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)  # values by column, which replace or extend a check's
    studies: tuple[str, ...] = ()
    # The source of `exact` and `bound`: the control's rows, or the claim's rows that agree with them on all axes that
    # are not in `where`.
    reference: Literal["control", "claim"] = "control"
    reason: str = ""  # why no control is possible; "" if there is a control

    @property
    def name(self) -> str:
        """The difference between the control and the claim, in a few words."""
        if self.reason:
            return IMPOSSIBLE
        values = [value if isinstance(value, str) else f"{column}={value}" for column, value in self.where.items()]
        return ", ".join([*([self.method] if self.method else []), *values, *self.studies])

    def selects_only(self, method: str) -> bool:
        """Whether it selects this method in the claim's own studies, so that it can't be the method's control."""
        return self.method == method and not self.where and not self.studies


def read_controls(content: Mapping[str, Any]) -> dict[str, NegativeControl]:
    """The controls of a claim by method, `default` for all other methods. `content` is one control, several controls
    by method, or empty. Raises ValueError for an unknown column."""
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
    """The rows of a control, with the `exact` and `bound` of the claim's rows.

    Each row is joined with each `claimed` row of the same quantity and equal axes; the `changed` columns, which have
    other values in the control, are ignored. Rows without a partner are left out.
    """
    references = [Column.EXACT, Column.BOUND]
    keys = [name for name in (Column.QUANTITY, *AXES) if name in rows and name in claimed and name not in changed]
    wanted = claimed[[*keys, *references]].drop_duplicates()
    return rows.drop(columns=references).merge(wanted, on=keys)
