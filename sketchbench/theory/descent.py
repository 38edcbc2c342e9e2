"""Gradient descent on semi-strongly convex losses (song2023 Appendix K), for quadratics L(x) = xᵀAx.

With λ (`least`) and Λ (`greatest`) the extreme eigenvalues of A, L is (c, d, p)-semi-strongly convex with c = 0 and
d = λ, its gradient is (α, β, p)-semi-Lipschitz with α = 0 and β = 2Λ, and it is (2√λ, 2√Λ)-non-critical. So ζ = β² and
ξ = 2d.
"""

from sketchbench.parameters import Positive, checked


@checked
def largest_step(least: Positive, greatest: Positive) -> float:
    """ξ/(2ζ), the largest step size of Theorem K.3."""
    if least > greatest:
        raise ValueError(f"least={least} must be <= greatest={greatest}")
    return 2 * least / (2 * (2 * greatest) ** 2)


@checked
def contraction_printed(least: Positive, eta: Positive) -> float:
    """The factor 1 - γ of ‖x - x*‖ in a step, with γ = 1 - ξη/2 as Theorem K.3 prints it."""
    return 2 * least * eta / 2


@checked
def contraction_proven(least: Positive, eta: Positive) -> float:
    """The factor 1 - γ of ‖x - x*‖² in a step, with γ = ξη/2 as in the proof of Theorem K.3."""
    return 1 - 2 * least * eta / 2
