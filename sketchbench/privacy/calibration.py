"""Calibration: the noise for a given ε of a mechanism."""

import math

from scipy import optimize

from sketchbench.base.parameters import checked
from sketchbench.privacy.accountant import FloorError, epsilon
from sketchbench.privacy.mechanism import Mechanism, steps, with_sigma
from sketchbench.theory.privacy import OutOfRangeError

PRECISION = 1e-5  # relative precision of σ
WIDEST = math.log(1e18)  # log of the largest σ over sensitivity that is tried, and of its inverse


@checked
def calibrated_sigma(accountant: str, mechanism: Mechanism, goal: float, delta: float) -> float:
    """The smallest σ, one for all releases, at which an accountant gives a mechanism an ε of at most `goal` > 0. It is
    in the unit of the sensitivity; the mechanism's own σ is ignored.

    It is at most 1e-5 (relative) above the smallest σ that the accountant can tell, which must be from 1e-18 to 1e18
    times the sensitivity, and costs about ten calls of `epsilon`, with its arguments and errors. Raises ValueError for
    a goal out of its range, or if no σ is large enough.
    """
    if not 0 < goal < math.inf:
        raise ValueError(f"epsilon={goal} must be > 0 and finite: no finite noise gives less")
    sensitivity = max(own.gaussian.sensitivity for own in steps(mechanism))

    def excess(log_multiplier: float) -> float:
        """log(ε/goal) at a given log(σ/sensitivity)."""
        sigma = sensitivity * math.exp(log_multiplier)
        try:
            spent = epsilon(accountant, with_sigma(mechanism, sigma), delta)
        except OutOfRangeError:  # too little noise for a lemma
            return 1.0
        except FloorError as error:
            if goal < error.limit:
                raise
            return -1.0
        return math.log(max(spent, 1e-300) / goal)

    step = math.log(4)
    high = step
    while excess(high) > 0:
        high += step
        if high > WIDEST:
            raise ValueError(
                f"accountant={accountant} gives no epsilon={goal} at delta={delta} for any σ; choose "
                "another accountant, smaller batches or fewer rounds"
            )
    low = high - step
    while excess(low) <= 0:
        low, high = low - step, low
        if low < -WIDEST:
            raise ValueError(f"epsilon={goal} is so large that hardly any noise gives more; choose a smaller one")
    log_multiplier = optimize.brentq(excess, low, high, xtol=PRECISION / 2) + PRECISION / 2
    while excess(log_multiplier) > 0:  # an accountant's rounding
        log_multiplier += PRECISION
    return float(sensitivity * math.exp(log_multiplier))
