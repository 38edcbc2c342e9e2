"""Gradient descent on semi-strongly convex losses (song2023 Appendix K, p = 1/2), with two such losses; descent with
momentum by sketched gradients (§8).

(c, d, p)-semi-strongly convex: L(x) >= L(y) + ⟨∇L(y), x - y⟩ + d‖x - y‖² - c‖x - y‖^(2-2p) L(y)^p (Definition K.1). (α,
β, p)-semi-Lipschitz gradient: ‖∇L(x) - ∇L(y)‖² <= β²‖x - y‖² + α²‖x - y‖^(2-2p) L(x)^p (Definition I.5). (θ₁,
θ₂)-non-critical: θ₁²L <= ‖∇L‖² <= θ₂²L (Definition I.6).
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count, NonNegative, Positive, checked

Numbers = NDArray[np.float64]
HEIGHT, FREQUENCY = 0.05, 60.0  # of the ripples; their product exceeds 2, so the loss is not convex


@dataclass(frozen=True)
class DescentConstants(Checked):
    """c, d, α, β, θ₁ and θ₂ of a loss, for p = 1/2; ValueError unless α² < θ₁, θ₁ <= θ₂ and ξ > 0."""

    c: NonNegative
    d: Positive
    alpha: NonNegative
    beta: Positive
    theta_1: Positive
    theta_2: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha**2 >= self.theta_1 or self.theta_1 > self.theta_2:
            raise ValueError(
                f"alpha={self.alpha}, theta_1={self.theta_1} and theta_2={self.theta_2} must satisfy α² < θ₁ <= θ₂"
            )
        if self.xi <= 0:
            raise ValueError(f"{self} has ξ = {self.xi:.3g}, which must be > 0; a smaller c allows it")

    @property
    def zeta(self) -> float:
        """ζ of Theorem K.3."""
        return self.theta_1 / (self.theta_1 - self.alpha**2) * (self.beta**2 + self.alpha**2 / self.theta_1)

    @property
    def xi(self) -> float:
        """ξ of Theorem K.3, which must be positive."""
        return 2 * (self.d - self.c / self.theta_1**2 * self.zeta - self.c)

    def smooth(self) -> "DescentConstants":
        """The same constants with c = α = 0: strongly convex, with a Lipschitz gradient."""
        return replace(self, c=0.0, alpha=0.0)


@checked
def largest_step(constants: DescentConstants) -> float:
    """ξ/(2ζ), the largest step size of Theorem K.3."""
    return constants.xi / (2 * constants.zeta)


@checked
def printed(constants: DescentConstants, eta: Positive) -> float:
    """The factor 1 - γ of ‖x - x*‖ in a step, with γ = 1 - ξη/2 as Theorem K.3 prints it."""
    return constants.xi * eta / 2


@checked
def proven(constants: DescentConstants, eta: Positive) -> float:
    """The factor 1 - γ of ‖x - x*‖² in a step, with γ = ξη/2 as in the proof of Theorem K.3."""
    return 1 - constants.xi * eta / 2


class Loss(Protocol):
    """A loss L with its minimum, 0, at x* = 0."""

    @property
    def constants(self) -> DescentConstants:
        """The constants with which the loss fulfils the definitions."""

    def move(self, x: Numbers, eta: float) -> Numbers:
        """η∇L at x, (..., d): of the same shape."""


@dataclass(frozen=True)
class Ellipsoid(Checked):
    """L(x) = xᵀAx, with the eigenvalues of A evenly spread from 1 to `condition`; α = c = 0."""

    condition: Positive

    @property
    def constants(self) -> DescentConstants:
        """The constants for the extreme eigenvalues λ and Λ: d = λ, β = 2Λ, θ₁ = 2√λ and θ₂ = 2√Λ."""
        return DescentConstants(0.0, 1.0, 0.0, 2 * self.condition, 2.0, 2 * self.condition**0.5)

    def move(self, x: Numbers, eta: float) -> Numbers:
        return np.asarray(eta * 2 * np.linspace(1.0, self.condition, x.shape[-1]) * x)


class Rippled:
    """L(x) = Σ x_i² + r(x_i), r(u) = (h/k)(1 - cos k(|u| - 1)) beyond |u| = 1 and 0 within, h = 0.05 and k = 60.
    r'' = hk cos k(|u| - 1) is between -3 and 3, so L'' is negative at some places and above β at others: L is not
    convex, and its gradient not β-Lipschitz. By Cauchy-Schwarz, a single entry's constants are the sum's."""

    constants = DescentConstants(c=0.0625, d=1.0, alpha=0.75, beta=2.05, theta_1=1.94, theta_2=2.05)

    def value(self, x: Numbers) -> Numbers:
        """L at x, (..., d): (...)."""
        beyond = np.maximum(abs(x) - 1, 0.0)
        return np.asarray((x**2 + HEIGHT / FREQUENCY * (1 - np.cos(FREQUENCY * beyond))).sum(axis=-1))

    def move(self, x: Numbers, eta: float) -> Numbers:
        beyond = np.maximum(abs(x) - 1, 0.0)
        return np.asarray(eta * (2 * x + HEIGHT * np.sign(x) * np.sin(FREQUENCY * beyond)))

    def excess(self, x: Numbers, y: Numbers, constants: DescentConstants) -> Numbers:
        """The largest ratio (...) of pairs x, y (..., d) to the constants' limits in the three definitions; <= 1 if
        met."""
        c, at_x, at_y = constants, self.value(x), self.value(y)
        slope, other, apart = self.move(x, 1.0), self.move(y, 1.0), x - y
        distance = np.linalg.norm(apart, axis=-1)
        allowed = c.beta**2 * distance**2 + c.alpha**2 * distance * np.sqrt(at_x)
        lipschitz = ((slope - other) ** 2).sum(axis=-1) / allowed
        least = at_y + (other * apart).sum(axis=-1) + c.d * distance**2
        convex = least / (at_x + c.c * distance * np.sqrt(at_y))
        square = (slope**2).sum(axis=-1)
        critical = np.maximum(square / (c.theta_2**2 * at_x), c.theta_1**2 * at_x / square)
        return np.asarray(np.max([lipschitz, convex, critical], axis=0))


@checked
def with_momentum(momentum: NonNegative, eta: Positive, alpha: NonNegative) -> float:
    """The factor by which E‖w‖² falls in a round, in the long run, on f = ½‖w‖² with momentum m; from 1 on it diverges.
    A round is v ← m v + RᵀRw, w ← w - ηv. The factor is exact, from the linear map of E‖w‖², E⟨w, v⟩ and E‖v‖² by a
    fresh R with E RᵀR = I and E‖RᵀRw‖² = (1 + α)‖w‖²."""
    v = np.array([1 + alpha, 2 * momentum, momentum**2])
    product = np.array([1.0, momentum, 0.0]) - eta * v
    w = np.array([1 - 2 * eta, -2 * eta * momentum, 0.0]) + eta**2 * v
    return float(abs(np.linalg.eigvals(np.array([w, product, v]))).max())


@checked
def beside_sgd(alpha: Positive, rounds: Count, *, quieter: Positive = 1.0) -> float:
    """E‖w‖² on ½‖w‖² after descent by sketched gradients with the step 1/(1 + α), over that after SGD with the best
    steps. The noise of SGD is absolute: in every round it has the variance α‖w⁰‖² of the first sketched gradient, over
    `quieter`. With η = x/(x + V) a round takes x = E‖w‖² to xV/(x + V), so that T rounds leave V/(V + T) of 1."""
    sketched = (alpha / (1 + alpha)) ** rounds
    variance = alpha / quieter
    return sketched * (variance + rounds) / variance


def first_gradients() -> tuple[float, float, float]:
    """|f'(w⁰)|², |f'(w¹)|² and the bound of song2023 Theorem E.3 at T = 1, for w⁰ = 0, η = L = 1 and no sketch. f' is
    -1 below 0, -(1 + w) up to 1, -(3 - w) up to 3, and 0 from there on; f(w⁰) - f* is the area, 3/2 + 2."""

    def slope(w: float) -> float:
        return -1.0 if w < 0 else -(1 + w) if w < 1 else -max(3 - w, 0.0)

    return slope(0.0) ** 2, slope(0.0 - slope(0.0)) ** 2, 2 * 3.5 / (1 + 1)
