"""The chance that new trials give another decision."""

from collections.abc import Callable

from scipy import special

from sketchbench.measure.interval import proportion_interval


def chance_of_change(count: int, trials: int, *, bound: float, error: float) -> float:
    """The chance that as many new trials decide differently on which side of a bound a probability lies, if the
    measured share, `count` of `trials`, is the truth. It is 0 for events that happened never or always. The
    Clopper-Pearson interval misses with probability `error`, on both sides together. O(log trials). Raises ValueError
    for more successes than trials, no trials, or an error that is not a probability.

    >>> round(chance_of_change(1, 24, bound=0.5, error=3e-6), 3)
    0.264
    """
    low, high = decided_counts(trials, bound=bound, error=error)
    share = count / trials
    below = float(special.bdtr(low, trials, share)) if low >= 0 else 0.0
    above = float(special.bdtrc(high - 1, trials, share)) if high <= trials else 0.0
    return 1 - below if count <= low else 1 - above if count >= high else below + above


def decided_counts(trials: int, *, bound: float, error: float) -> tuple[int, int]:
    """The largest number of successes that puts a probability below a bound (-1 if there is none), and the smallest
    that puts it above (trials + 1 if there is none). Arguments, errors and O(log trials) as `chance_of_change`."""
    proportion_interval(0, trials, error=error)  # checks
    low = _last(lambda count: proportion_interval(count, trials, error=error).high <= bound, trials)
    high = _last(lambda count: proportion_interval(count, trials, error=error).low <= bound, trials) + 1
    return low, high


def _last(holds: Callable[[int], bool], trials: int) -> int:
    """The last count from 0 to trials for which a condition holds that holds up to some count; -1 if it never holds."""
    at, end = -1, trials
    while at < end:
        middle = (at + end + 1) // 2
        at, end = (middle, end) if holds(middle) else (at, middle - 1)
    return at
