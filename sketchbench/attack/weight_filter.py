"""A client's memory of sketched weights in double-blind learning: a Kalman filter over the broadcasts of all rounds.

Two broadcasts reveal little about the step between them, since each has its own sketch. But all broadcasts are about
one W, which moves slowly. A client that knows the law of fresh weights, every sketch and its own steps follows W, and
so sees most of the other clients' steps.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sketchbench.attack.door import check_axes

ROUNDING = 1e-10  # variance of an observed entry, over the mean variance of a weight


class _Move(NamedTuple):
    """A step of W that the attacker does not know: the step of the other client minus its own."""

    own: Tensor  # the attacker's step, (out, d)
    covariance: Tensor  # of a row of the move, (d, d)


class WeightFilter:
    """The mean (out, d) and the covariance (d, d) of a layer's weights, given all broadcasts W S so far. All rows have
    the same covariance. At first, weights are those of torch's layers: uniform, with variance 1/(3 d)."""

    def __init__(self, out: int, d: int, device: torch.device | str = "cpu") -> None:
        self.mean = torch.zeros(out, d, dtype=torch.float64, device=device)
        self.covariance = torch.eye(d, dtype=torch.float64, device=device) / (3 * d)
        self._tiny = ROUNDING / (3 * d)
        self._move: _Move | None = None

    def observe(self, sketched: Tensor, sketch: Tensor) -> Tensor:
        """Take in a broadcast W S (out, s) with the sketch S (d, s). Return the estimate (out, d) of the other client's
        last step, 0 before the first. O(d³)."""
        check_axes("sketched", sketched, len(self.mean), sketch.shape[1])
        S = sketch.double()
        seen = S.T @ self.covariance @ S + self._tiny * torch.eye(S.shape[1], dtype=S.dtype, device=S.device)
        weights = torch.linalg.solve(seen, S.T)
        surprise = (sketched.double() - self.mean @ S) @ weights  # (out, d)
        move, self._move = self._move, None
        self.mean = self.mean + surprise @ self.covariance
        self.covariance = self.covariance - self.covariance @ S @ weights @ self.covariance
        return torch.zeros_like(self.mean) if move is None else move.own - 2 * surprise @ move.covariance

    def step(self, own: Tensor, sketch: Tensor) -> None:
        """Let the weights move by the mean of two clients' steps, of which one is `own` (out, d). The other is expected
        to be like it, with the spread of its coordinates in the span of the round's sketch (d, s)."""
        own, S = own.double(), sketch.double()
        spread = own.square().sum() / (len(own) * S.square().sum())  # variance of the entries of Γ, for own = Γ Sᵀ
        covariance = spread / 2 * S @ S.T  # of half of the difference of two such steps
        self._move = _Move(own, covariance)
        self.mean = self.mean - own
        self.covariance = self.covariance + covariance
