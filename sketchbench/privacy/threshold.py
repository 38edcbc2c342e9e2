"""The largest total ε up to which song2023 Theorem 6.2 holds."""

import math

from scipy import optimize

from sketchbench.base.parameters import checked
from sketchbench.privacy import gaussian
from sketchbench.theory.privacy import gaussian_noise

LARGEST = 1e6  # end of the search for a total, which is below 1,000 for constants up to 4 and δ from 1e-30 on


@checked
def largest_total(delta: float, constant: float = 1.0) -> float:
    """The largest total √(TK) ε̂ up to which Theorem 6.2 holds at the total δ = TK δ̂, for all T and K.

    The noise is Lemma H.7's with `constant` times its σ², for sensitivity ℓ; 4 pays for a record that is replaced in
    batches of one. TK Gaussian steps equal one, so the exact curve decides. Fewer steps are worse, as δ̂ = δ/(TK) is
    larger: TK is the least number that ε̂ < 1/√K allows, the square of the total, with K = 1. Up to a total of 1 this
    is a theorem, and beyond it is computed. Raises ValueError unless 0 < δ < 1 and constant >= 1.

    >>> round(largest_total(1e-5), 1)
    22.9
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must satisfy 0 < delta < 1")
    if not 1 <= constant < math.inf:
        raise ValueError(f"constant={constant} must be a number of at least 1; the theorem is false for a smaller one")

    def excess(log_total: float) -> float:
        """The logarithm of the exact δ over the promised one."""
        total = math.exp(log_total)  # its square is TK, so that ε̂ is 1
        sigma = math.sqrt(constant) * gaussian_noise(1.0, delta / total**2, 1.0)
        return gaussian.log_delta(total / sigma, total) - math.log(delta)

    return math.exp(float(optimize.brentq(excess, 0.0, math.log(LARGEST), xtol=1e-12)))
