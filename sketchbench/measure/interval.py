"""Confidence intervals. `error` is the probability that the true value lies outside the interval, on either side."""

from typing import NamedTuple

import numpy as np
from scipy import special

from sketchbench.base.parameters import checked
from sketchbench.measure.numbers import Finite, Sample, check_finite
from sketchbench.measure.summary import ROUNDING


class Interval(NamedTuple):
    """The numbers from low to high."""

    low: float
    high: float


def normal_quantile(error: float) -> float:
    """The z with which a standard normal variable lies outside [-z, z] with probability `error`."""
    return float(-special.ndtri(_half(error)))


def student_quantile(error: float, freedom: int) -> float:
    """Return the t that |X| exceeds with probability `error`, for a Student X with `freedom` degrees of freedom."""
    if not freedom >= 1:
        raise ValueError(f"freedom={freedom} must be >= 1")
    return float(-special.stdtrit(freedom, _half(error)))


def _half(error: float) -> float:
    """The probability error/2 of either side. Raises ValueError for an error that is not a probability."""
    if not 0 < error < 1:
        raise ValueError(f"error rate {error} must satisfy 0 < error < 1")
    return error / 2


def mean_interval(
    mean: float, sd: float, skewness: float, trials: int, *, error: float, scale: float = 0.0
) -> Interval:
    """The confidence interval of a mean over independent trials, corrected for skewness.

    Hall's transformed t statistic (Hall 1992, Journal of the Royal Statistical Society B 54) removes the first-order
    effect of skewness, which spoils normal intervals at the ends of simultaneous intervals (4 to 5 standard errors).
    The quantile is Student's, so that intervals of few normal values are exact.

    Arguments:
        mean, sd, skewness: over the trials; sd has the divisor trials - 1.
        trials: number of trials, >= 2.
        error: probability that the interval misses the true mean.
        scale: size of the quantity; its rounding error widens the interval, so that constants equal exact values.

    Raises ValueError for fewer than 2 trials, a negative sd, a non-finite number, or an error that is not a
    probability.
    """
    check_finite("mean, sd, skewness and scale", [mean, sd, skewness, scale])
    if not sd >= 0:
        raise ValueError(f"sd={sd} must be >= 0")
    if trials < 2:
        raise ValueError(f"trials={trials} must be >= 2 for an interval")
    z = student_quantile(error, trials - 1)
    standard_error = sd / np.sqrt(trials)
    rounding = ROUNDING * max(abs(mean), scale)

    def deviation(x: float) -> float:
        """The studentised mean with the transformed value x."""
        g = skewness / np.sqrt(trials)
        if abs(g) < 1e-6:
            return x
        return float(3 / g * (np.cbrt(1 + g * (x - g / 6)) - 1))

    return Interval(
        float(mean - deviation(z) * standard_error - rounding), float(mean - deviation(-z) * standard_error + rounding)
    )


def proportion_interval(successes: int, trials: int, *, error: float) -> Interval:
    """The Clopper-Pearson interval of a probability from a number of successes; it misses with probability at most
    `error`. Raises ValueError for more successes than trials, no trials, or an error that is not a probability."""
    if not 0 < error < 1:
        raise ValueError(f"error={error} must be > 0 and < 1")
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(
            f"{successes} of {trials} trials is not a proportion; successes must be from 0 to trials, and trials >= 1"
        )
    half = error / 2
    low = 0.0 if successes == 0 else special.betaincinv(successes, trials - successes + 1, half)
    high = 1.0 if successes == trials else special.betaincinv(successes + 1, trials - successes, 1 - half)
    return Interval(float(low), float(high))


class Slope(NamedTuple):
    """A slope and its interval."""

    value: float
    low: float
    high: float


@checked
def log_slope(x: Sample, mean: Finite, standard_error: Finite, *, error: float) -> Slope:
    """The least-squares slope of log(mean) over log(x), (points,) each and positive, with an interval from the means'
    standard errors: for noise in the means, not deviations from a power law. Raises ValueError for fewer than 2 points,
    equal abscissae alone, values that are not positive, a negative standard error, or another shape."""
    if not (x.ndim == 1 and x.shape == mean.shape == standard_error.shape and (standard_error >= 0).all()):
        shapes = f"{x.shape}, {mean.shape} and {standard_error.shape}"
        raise ValueError(f"x, mean and standard_error of shapes {shapes} must have one axis, and no error be negative")
    if x.size < 2 or x.min() == x.max() or (mean <= 0).any() or (x <= 0).any():
        raise ValueError("a log-log slope needs two points or more, all of them positive, and not all at the same x")
    centred = np.log(x) - np.log(x).mean()
    weights = centred / (centred**2).sum()
    value = float(weights @ np.log(mean))
    deviation = float(np.sqrt(((weights * standard_error / mean) ** 2).sum()))
    half = normal_quantile(error) * deviation
    return Slope(value, value - half, value + half)
