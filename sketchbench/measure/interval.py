"""Confidence intervals with a stated error rate.

`error` is always the probability that the interval misses the truth, both sides together.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from sketchbench.measure.summary import ROUNDING


class Interval(NamedTuple):
    low: float
    high: float


def normal_quantile(error: float) -> float:
    """z such that a standard normal lies outside [-z, z] with this probability."""
    return float(-special.ndtri(_half(error)))


def student_quantile(error: float, freedom: int) -> float:
    """t such that Student's t with so many degrees of freedom lies outside [-t, t] with this
    probability."""
    return float(-special.stdtrit(freedom, _half(error)))


def _half(error: float) -> float:
    """What either side of an interval may miss."""
    if not 0 < error < 1:
        raise ValueError(f"error rate {error} must satisfy 0 < error < 1")
    return error / 2


def mean_interval(
    mean: float, sd: float, skewness: float, trials: int, *, error: float, scale: float = 0.0
) -> Interval:
    """Interval of a mean over independent trials, corrected for skewness.

    Hall's transformed t statistic (Hall 1992, Journal of the Royal Statistical Society B 54): the
    cubic transformation removes the first-order effect of skewness, which far out in the tail
    (simultaneous intervals live at 4 to 5 standard errors) is what spoils the normal interval. The
    quantile is Student's, so the interval of few normal values is exact.
    `scale` is the size of the quantity: its rounding widens the interval, so that a quantity that
    never varies can still be compared with its exact value.
    """
    if trials < 2:
        raise ValueError(f"trials={trials} must be >= 2 for an interval")
    z = student_quantile(error, trials - 1)
    standard_error = sd / np.sqrt(trials)
    rounding = ROUNDING * max(abs(mean), scale)

    def deviation(x: float) -> float:
        """The studentised mean whose transformed value is x."""
        g = skewness / np.sqrt(trials)
        if abs(g) < 1e-6:
            return x
        return float(3 / g * (np.cbrt(1 + g * (x - g / 6)) - 1))

    return Interval(
        float(mean - deviation(z) * standard_error - rounding),
        float(mean - deviation(-z) * standard_error + rounding),
    )


def proportion_interval(successes: int, trials: int, *, error: float) -> Interval:
    """Clopper-Pearson: exact coverage for the probability behind successes out of trials."""
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} of {trials} trials is no proportion")
    half = error / 2
    low = 0.0 if successes == 0 else special.betaincinv(successes, trials - successes + 1, half)
    high = 1.0 if successes == trials else special.betaincinv(successes + 1, trials - successes, 1 - half)
    return Interval(float(low), float(high))


class Slope(NamedTuple):
    value: float
    low: float
    high: float


def log_slope(x: np.ndarray, mean: np.ndarray, standard_error: np.ndarray, *, error: float) -> Slope:
    """Slope of log(mean) over log(x), least squares, with the error of the means carried over.

    x, mean (positive) and standard_error: shape (points,). The interval speaks of the
    noise in the means only: a curve that is no power law has a best slope all the same.
    """
    if x.size < 2 or (mean <= 0).any() or (x <= 0).any():
        raise ValueError("a log-log slope needs two points or more, all of them positive")
    centred = np.log(x) - np.log(x).mean()
    weights = centred / (centred**2).sum()
    value = float(weights @ np.log(mean))
    deviation = float(np.sqrt(((weights * standard_error / mean) ** 2).sum()))
    half = normal_quantile(error) * deviation
    return Slope(value, value - half, value + half)
