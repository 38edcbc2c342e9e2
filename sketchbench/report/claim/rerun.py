"""The chance that a rerun with new trials changes a method's verdict, if counts decide it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sketchbench.report.claim.judging import Judgement, decide
from sketchbench.report.claim.verdict import Verdict


def chance_of_another(
    verdict: Verdict, judgements: Sequence[Judgement], controls: Mapping[str, Sequence[Judgement]]
) -> float:
    """The chance of another verdict, for independent new trials; NaN if no count decides.

    A claim keeps holding if all of its comparisons hold and its controls are still rejected. A claim keeps failing, or
    stays inconclusive, if one of its comparisons does.
    """
    own = [one.comparison.flips for one in judgements if one.comparison.verdict == verdict]
    if verdict != "holds":
        return _all(own)
    rejected = [
        _all(one.comparison.flips for one in rows if one.comparison.verdict == "fails")
        for rows in controls.values()
        if decide(one.comparison for one in rows) == "fails"
    ]
    return _any([*own, *rejected])


def _all(chances: Iterable[float]) -> float:
    """The chance that all change; NaN if one has no chance, and so stays."""
    return float(np.prod(list(chances) or [np.nan]))


def _any(chances: Sequence[float]) -> float:
    """The chance that any changes, among the known chances; NaN if none is known."""
    known = [chance for chance in chances if not np.isnan(chance)]
    return float(1 - np.prod([1 - chance for chance in known])) if known else np.nan
