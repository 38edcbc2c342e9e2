"""Gradient descent on losses that are semi-strongly convex (song2023 Appendix K), for quadratics L(x) = xᵀAx.

With λ and Λ the smallest and the largest eigenvalue of A, L is (c, d, p)-semi-strongly convex with c = 0 and d = λ, its
gradient is (α, β, p)-semi-Lipschitz with α = 0 and β = 2Λ, and it is (2√λ, 2√Λ)-non-critical. So ζ = β² and ξ = 2d.
"""


def largest_step(least: float, greatest: float) -> float:
    """ξ/(2ζ), for the eigenvalues λ and Λ: the largest step of Theorem K.3."""
    return 2 * least / (2 * (2 * greatest) ** 2)


def left_printed(least: float, eta: float) -> float:
    """1 - γ with γ = 1 - ξη/2 as printed in Theorem K.3: what is left of ‖x - x*‖ after a step."""
    return 2 * least * eta / 2


def left_proven(least: float, eta: float) -> float:
    """1 - γ with γ = ξη/2, as the theorem's proof has it: what is left of ‖x - x*‖² after a step."""
    return 1 - 2 * least * eta / 2
