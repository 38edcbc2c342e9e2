"""Problems with the constants that theorems need: smoothness, convexity, noise and minimum."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.learning.objective.problem import Problem, Vector

MakeObjective = Callable[..., "Objective"]  # a config of conf/objective makes this function of kernels and seed


class Objective(Problem):
    """A problem with known constants, derived from its definition, never fitted to a run.

    The noise of stochastic gradients does not depend on the weights. To write an objective: `loss`, `gradients`, and
    the attributes; `noise` and `mean_noise` for stochastic gradients.

    Attributes:
        smoothness: L, such that every ∇f_c is L-Lipschitz.
        convexity: μ >= 0, such that every f_c is μ-strongly convex; -inf if they are not convex.
        gradient_bound: G >= ‖∇f_c(w)‖₂ for all c and w; inf for unbounded gradients.
        noise_energy: E‖noise‖² of the mean of all clients' stochastic gradients.
        minimiser: w*, a NumPy vector (d,).
        minimum: f(w*).
    """

    smoothness: float
    convexity: float
    gradient_bound: float = float("inf")
    noise_energy: float = 0.0
    minimiser: Vector
    minimum: float

    def noise(self, random: np.random.Generator, trials: int) -> Array:
        """Draw the clients' noise, of mean 0, in stochastic gradients: (trials, N, d); a scalar 0 unless overridden."""
        return self.kernels.xp.zeros(())

    def mean_noise(self, random: np.random.Generator, trials: int) -> Array:
        """Draw from the distribution of the clients' mean noise: (trials, d); a scalar 0 unless overridden."""
        return self.kernels.xp.zeros(())

    def stochastic_gradients(self, w: Array, random: np.random.Generator) -> Array:
        return self.gradients(w) + self.noise(random, len(w))

    def stochastic_gradient(self, w: Array, random: np.random.Generator) -> Array:
        return self.gradient(w) + self.mean_noise(random, len(w))

    @cached_property
    def mean_smoothness(self) -> float:
        """L of f itself, which may be smaller than the L of the f_c."""
        return self.smoothness

    @cached_property
    def mean_convexity(self) -> float:
        """μ of f itself, which may be larger than the μ of the f_c."""
        return self.convexity

    @cached_property
    def gap(self) -> float:
        """f(w⁰) - f(w*)."""
        return float(self.loss(self.kernels.asarray(self.start))) - self.minimum

    @cached_property
    def squared_distance(self) -> float:
        """‖w⁰ - w*‖₂²."""
        return float(((self.start - self.minimiser) ** 2).sum())

    @cached_property
    def heterogeneity(self) -> float:
        """σ² = (1/N) Σ_c ‖∇f_c(w*)‖₂² (song2023 Definition F.1)."""
        best = np.broadcast_to(self.minimiser, (self.clients, self.d))
        gradients: Any = self.kernels.to_numpy(self.gradients(self.kernels.asarray(best.copy())))
        return float((gradients**2).sum(axis=-1).mean())
