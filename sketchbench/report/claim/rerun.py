"""The chance that a rerun with new trials gives a method another verdict, as far as counts decide it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sketchbench.report.claim.criteria import Verdict
from sketchbench.report.claim.judging import Judgement, decide


def chance_of_another(
    verdict: Verdict, judgements: Sequence[Judgement], controls: Mapping[str, Sequence[Judgement]]
) -> float:
    """The chance of another verdict, if new trials were independent of each other; NaN where no count decides.

    A claim that holds needs all of its comparisons, and a control that is still rejected. A claim that fails needs one
    of those that fail. An inconclusive claim needs one that stays so.
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
    """The chance that all change; NaN for one without a chance, which stays as it is."""
    return float(np.prod(list(chances) or [np.nan]))


def _any(chances: Sequence[float]) -> float:
    """The chance that any changes, among those that have a chance; NaN for none."""
    known = [chance for chance in chances if not np.isnan(chance)]
    return float(1 - np.prod([1 - chance for chance in known])) if known else np.nan
