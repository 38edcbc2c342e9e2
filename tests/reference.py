"""FIHT (tang2021 Appendix E) word by word, and IHT, with a dense matrix and nothing clever."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.sketch import Sketch
from sketchbench.sketch.recovery import FIHT
from sketchbench.sketch.recovery.iterative import Iterative

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
MARGIN = 1e-6


@dataclass
class Outcome:
    """g(s + 1) and ‖y - Φ g(s + 1)‖ of every iteration.

    `margin`: how far the computation stayed from a step length 0/0 (the residual vanishes on the support
    but not elsewhere, so rounding decides how far to go), from a tie for the support, and from the edge
    of a stopping rule. Below MARGIN, two correct programs may differ.
    """

    iterates: list[Vector] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    margin: float = 1.0

    def near(self, distance: Any) -> None:
        self.margin = min(self.margin, float(distance))

    def step(self, part: Vector, whole: Vector, phi: Matrix) -> float:
        """‖part‖²/‖Φ part‖², for a step along `whole`."""
        if not whole.any():
            return 0.0
        self.near(np.linalg.norm(part) / np.linalg.norm(whole))
        return quotient(part @ part, np.sum((phi @ part) ** 2))

    def principal_support(self, h: Vector, k: int, domain: int) -> NDArray[np.intp]:
        """The places of the k largest magnitudes, among the first `domain`."""
        order = np.argsort(-abs(h[:domain]), kind="stable")
        if k < domain and h.any():
            self.near((abs(h[order[k - 1]]) - abs(h[order[k]])) / np.linalg.norm(h))
        return order[:k]

    def ends(self, norms: list[float], small: float) -> bool:
        """The paper's second and third criteria."""
        limit = 0.01 * np.mean(norms[-4:])
        spread = np.std(norms[-4:]) if len(norms) >= 4 else np.inf
        if norms[-1] > 0:
            self.near(abs(norms[-1] - small) / norms[-1])
            self.near(abs(spread - limit) / limit)
        return bool(norms[-1] <= small or spread <= limit)


def project(x: Vector, places: Any) -> Vector:
    projected = np.zeros_like(x)
    projected[places] = x[places]
    return projected


def quotient(above: Any, below: Any) -> float:
    return float(above / below) if below > 0 else 0.0


def fiht(
    y: Vector, phi: Matrix, k: int, domain: int, small: float, iterations: int, by_residual: bool = False
) -> Outcome:
    """Algorithm 2, with eight matrix products an iteration."""
    outcome = Outcome()
    norms: list[float] = []
    before, w = np.zeros(phi.shape[1]), phi.T @ y
    g = project(w, outcome.principal_support(w, k, domain))
    for s in range(1, iterations + 2):
        tau = 0.0
        if s > 1:
            change = phi @ (g - before)
            left = y - phi @ g
            tau = quotient(left @ change, change @ change)
            if left.any():
                outcome.near(np.linalg.norm(change) / np.linalg.norm(left))
        w = g + tau * (g - before)
        norms.append(float(np.linalg.norm(y - phi @ w if by_residual else w)))
        if s > 1:
            outcome.iterates.append(g)
            outcome.residuals.append(float(np.linalg.norm(y - phi @ g)))
            if s > iterations or outcome.ends(norms, small):
                break
        r = phi.T @ (y - phi @ w)
        h = w + outcome.step(project(r, np.flatnonzero(w)), r, phi) * r
        omega = outcome.principal_support(h, k, domain)
        g_tilde = project(h, omega)
        r = project(phi.T @ (y - phi @ g_tilde), omega)
        before, g = g, g_tilde + outcome.step(r, r, phi) * r
    return outcome


def iht(
    y: Vector, phi: Matrix, k: int, domain: int, small: float, iterations: int, by_residual: bool = False
) -> Outcome:
    outcome = Outcome()
    start = phi.T @ y
    omega = outcome.principal_support(start, k, domain)
    g = project(start, omega)
    norms = [float(np.linalg.norm(y - phi @ g if by_residual else g))]
    while len(outcome.iterates) < iterations:
        r = phi.T @ (y - phi @ g)
        h = g + outcome.step(project(r, omega), r, phi) * r
        omega = outcome.principal_support(h, k, domain)
        g = project(h, omega)
        norms.append(float(np.linalg.norm(y - phi @ g if by_residual else g)))
        outcome.iterates.append(g)
        outcome.residuals.append(float(np.linalg.norm(y - phi @ g)))
        if outcome.ends(norms, small):
            break
    return outcome


def expected(recovery: Iterative, sketch: Sketch, y: Vector) -> Outcome:
    """What a recovery should find, by the reference, on the operator's dense matrix."""
    phi = np.asarray(sketch.kernels.to_numpy(sketch.padded().materialize()))
    small = 1e-4 * (float(np.linalg.norm(phi.T @ y)) if recovery.stopping == "relative" else 1.0)
    domain = phi.shape[1] if recovery.support == "padded" else sketch.d
    algorithm = fiht if isinstance(recovery, FIHT) else iht
    by_residual = recovery.stopping == "residual"
    return algorithm(y, phi, recovery.k, domain, small, recovery.iterations, by_residual)


def check_iterates(recovery: Iterative, sketch: Sketch, y: Matrix) -> int:
    """Every iterate, residual norm and number of iterations of y (N, b); returns of how many signals."""
    kernels = sketch.kernels
    outcomes = [expected(recovery, sketch, row) for row in y]
    chosen = [n for n, outcome in enumerate(outcomes) if outcome.margin > MARGIN]
    for s in range(1, max((len(outcomes[n].iterates) for n in chosen), default=0) + 1):
        found = replace(recovery, iterations=s).recover(sketch, kernels.asarray(y))
        iterations, estimates, trace = (kernels.to_numpy(part) for part in (found.iterations, found.x, found.trace))
        for n in chosen:
            last = min(s, len(outcomes[n].iterates))
            assert iterations[n] == last
            size = max(1e-8, 1e-12 / outcomes[n].margin)  # a step length loses the digits of its margin
            close = {"rtol": size, "atol": size * float(np.linalg.norm(y[n]))}
            iterate = outcomes[n].iterates[last - 1][: sketch.d]
            np.testing.assert_allclose(estimates[n], iterate, **close)
            np.testing.assert_allclose(trace[n, :last], outcomes[n].residuals[:last], **close)
    return len(chosen)
