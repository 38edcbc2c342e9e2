"""Inversion by damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963) under a prior of images.

After some training the norm of a gradient varies by orders of magnitude with the image, so that a squared error
measures little but the norm. The residuals are therefore the direction of a message and the logarithm of its norm.
Steps of the second order match both to the last digit, where Adam stops far from the image.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sketchbench.attack.prior import ClassPriors
from sketchbench.attack.square_root import square_root
from sketchbench.attack.target import Target
from sketchbench.base.parameters import Checked, Count, Positive

Residuals = Callable[[Tensor], Tensor]  # from coordinates (T, n, pixels) to residuals (T, m)

DAMPING = 0.1  # at first, relative to the curvature along the gradient
LESS, MORE = 0.3, 4.0  # factors of the damping after a step that is taken, and after one that is not
FADING = 0.7  # factor of the weight of the prior from step to step
TINY = 1e-300


class Fit(NamedTuple):
    """The result of a search from one start."""

    z: Tensor  # coordinates, (T, n, pixels)
    misfit: Tensor  # ‖residuals‖², (T,)


@dataclass(frozen=True)
class GaussNewton(Checked):
    """The search for the coordinates z of a prior that minimise ‖residuals‖² + w‖z‖². w is the last misfit over the
    number m of residuals, so that the prior counts for less as the message is matched."""

    steps: Count  # damped steps from each start
    inner: Count  # steps of conjugate gradients for each of them
    starts: Count  # the mean of the prior, and public images with the nearest messages
    size: Positive  # weight of the logarithm of a message's norm, beside its direction

    def search(self, residuals: Residuals, z: Tensor) -> Fit:
        """Search from coordinates z, (T, n, pixels), float64. Each step takes `inner` products with the Jacobian and
        its transpose, by differentiating twice."""
        damping: Tensor | None = None
        for number in range(self.steps):
            z = z.detach().requires_grad_()
            r = residuals(z)
            misfit = _square(r.detach())
            weight = FADING**number * misfit / r[0].numel()
            jacobian = _Jacobian(r, z)
            slope = jacobian.transposed(r.detach()) + _times(weight, z.detach())
            if damping is None:
                along = _square(jacobian.times(slope)) / _square(slope).clamp_min(TINY)
                damping = DAMPING * along
            step = self._solve(jacobian, weight + damping, -slope)
            with torch.no_grad():
                proposed = z + step
                now = misfit + weight * _square(z)
                then = _square(residuals(proposed)) + weight * _square(proposed)
                better = then < now
                z = torch.where(better[:, None, None], proposed, z)
                damping = damping * torch.where(better, LESS, MORE)
        with torch.no_grad():
            return Fit(z.detach(), _square(residuals(z)))

    def _solve(self, jacobian: "_Jacobian", shift: Tensor, right: Tensor) -> Tensor:
        """The solution of (JᵀJ + shift I) x = right in each trial, by conjugate gradients."""
        x, rest = torch.zeros_like(right), right.clone()
        direction, power = rest.clone(), _square(rest)
        for _ in range(self.inner):
            image = jacobian.transposed(jacobian.times(direction)) + _times(shift, direction)
            length = power / _dot(direction, image).clamp_min(TINY)
            x = x + _times(length, direction)
            rest = rest - _times(length, image)
            power, old = _square(rest), power
            direction = rest + _times(power / old.clamp_min(TINY), direction)
        return x


def match_messages(target: Target, attack: GaussNewton) -> Tensor:
    """Reconstruct the single image of each trial, (T, 1, pixels), from the mean image of its class and from the public
    images of its class whose messages are nearest to the victim's. Each trial keeps the result of the least misfit."""
    known = target._replace(networks=[networks.double() for networks in target.networks])
    labels = target.labels
    classes = ClassPriors(*(x.double() for x in target.classes))
    images, means = classes.of(labels), classes.means[labels]

    def residuals(z: Tensor) -> Tensor:
        both = zip(known.sights, known.updates(images(z)), strict=True)
        return torch.cat([_apart(one.seen.double(), one.predicted(x), attack.size) for one, x in both], dim=1)

    offsets = torch.linalg.solve(classes.roots[labels[:, 0]], target.public.images.double() - means, left=False)
    same = target.public.labels == labels
    near = offsets.where(same[..., None], 0.0)  # another class: the mean image, once more
    with torch.no_grad():
        order = torch.stack([_square(residuals(z[:, None])) for z in near.unbind(1)]).argsort(dim=0)
    trials = torch.arange(len(labels))
    starts = [torch.zeros_like(means), *(near[trials, places][:, None] for places in order[: attack.starts - 1])]
    fits = [attack.search(residuals, z) for z in starts]
    best = torch.stack([fit.misfit for fit in fits]).nan_to_num(nan=torch.inf).argmin(dim=0)
    return images(torch.stack([fit.z for fit in fits])[best, trials]).float().clamp(0, 1)


def _apart(seen: Tensor, predicted: Tensor, size: float) -> Tensor:
    """The differences (T, m + 1) of the directions of two messages (T, m), and `size` times the logarithm of the ratio
    of their norms."""
    norms = [square_root(_square(x).clamp_min(TINY)) for x in (predicted, seen)]
    apart = predicted / norms[0][:, None] - seen / norms[1][:, None]
    return torch.cat([apart, size * (norms[0] / norms[1]).log()[:, None]], dim=1)


class _Jacobian:
    """Products with the Jacobian of residuals (T, m) by coordinates (T, n, pixels), in each trial."""

    def __init__(self, residuals: Tensor, z: Tensor) -> None:
        self._residuals, self._z = residuals, z
        self._weights = torch.zeros_like(residuals, requires_grad=True)
        (self._pulled,) = torch.autograd.grad(residuals, z, self._weights, create_graph=True)

    def transposed(self, r: Tensor) -> Tensor:
        (pulled,) = torch.autograd.grad(self._residuals, self._z, r, retain_graph=True)
        return pulled

    def times(self, z: Tensor) -> Tensor:
        (pushed,) = torch.autograd.grad(self._pulled, self._weights, z, retain_graph=True)
        return pushed


def _times(factors: Tensor, z: Tensor) -> Tensor:
    return factors[:, None, None] * z


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).flatten(1).sum(dim=1)


def _square(x: Tensor) -> Tensor:
    return _dot(x, x)
