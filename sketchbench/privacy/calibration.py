"""How much noise a mechanism needs."""

import math

from scipy import optimize

from sketchbench.parameters import checked
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.mechanism import Mechanism, steps, with_sigma
from sketchbench.theory.privacy import OutOfRangeError

PRECISION = 1e-5  # relative, of σ
WIDEST = math.log(1e12)  # of σ over the sensitivity


@checked
def calibrated_sigma(accountant: str, mechanism: Mechanism, goal: float, delta: float) -> float:
    """The smallest σ at which this accountant gives the mechanism an ε of at most `goal`.

    The σ that the mechanism comes with plays no part; one σ is for all its releases. Larger than the
    smallest by PRECISION at most. Raises what `epsilon` does, and ValueError for a goal <= 0 or where no
    σ is enough. About ten accounts.
    """
    if not 0 < goal < math.inf:
        raise ValueError(f"epsilon={goal} must be > 0 and finite: no finite noise gives less")
    sensitivity = max(own.gaussian.sensitivity for own in steps(mechanism))

    def excess(log_multiplier: float) -> float:
        """log of the ε over the goal, for this σ over the sensitivity."""
        sigma = sensitivity * math.exp(log_multiplier)
        try:
            found = epsilon(accountant, with_sigma(mechanism, sigma), delta)
        except OutOfRangeError:  # too little noise for a lemma
            return 1.0
        return math.log(max(found, 1e-300) / goal)

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
    found = optimize.brentq(excess, low, high, xtol=PRECISION / 2)
    return float(sensitivity * math.exp(found + PRECISION / 2))
