"""Verdicts, and the names, settings and columns of the criteria that decide them: what a reader of verdicts needs.
`criteria` computes, and imports SciPy for it, which takes a third of a second."""

from dataclasses import dataclass
from typing import Literal

from sketchbench.base.parameters import Checked, Positive
from sketchbench.measure.column import Column

Verdict = Literal[
    "holds",
    "holds, not sharp",
    "not refuted",
    "fails",
    "inconclusive",
    "vacuous",
    "does not transfer",
    "void",
    "not run",
]
CONFIRMED: tuple[Verdict, ...] = ("holds", "holds, not sharp", "not refuted")  # the measurements agree with the claim

# The columns without which a row gives a criterion no comparison.
NEEDS: dict[str, tuple[Column, ...]] = {
    "equality": (Column.EXACT,),
    **dict.fromkeys(("upper_bound", "probability"), (Column.BOUND,)),
    "always": (Column.BOUND, Column.COUNT),
    "growth": (Column.MEAN,),
    "computed": (Column.BOUND, Column.VALUE),
    "audit": (Column.BOUND, Column.HITS),
}
# The criteria that hold a number against a bound. The two ends of an audit's interval are two probabilities.
ONE_SIDED = {"upper_bound", "probability", "always", "growth"}


@dataclass(frozen=True)
class CriterionSettings(Checked):
    """The settings of a criterion that a claim may choose; see conf/claim.

    Attributes:
        margin: the coarsest result that confirms the claim. For `equality`, the largest half-width of the interval,
            relative to max(1, |exact|); for `audit`, the largest relative distance below the bound.
        over: the column along which `growth` is measured.
    """

    margin: Positive = 0.25
    over: str = Column.D
