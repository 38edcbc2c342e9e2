"""Gradient inversion with a prior of images: the search for the most likely image, given the view."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sketchbench.attack.adam import CosineAdam
from sketchbench.attack.inversion import LBFGS, Adam, Inversion, Matching
from sketchbench.attack.prior import Prior, uniform_prior
from sketchbench.attack.square_root import square_root
from sketchbench.attack.view import View
from sketchbench.base import seeds
from sketchbench.base.parameters import Count, NonNegative

EDGE = 0.01  # smaller differences of neighbouring pixels are squared in the total variation


@dataclass(frozen=True)
class _WithPrior(Inversion):
    """An attack whose variables are coordinates of the prior."""

    uses_prior: ClassVar[bool] = True

    stages: Count
    variation: NonNegative

    def _start(self, view: View, seed: int, start: int) -> "_Posterior":
        random = seeds.generator(seed, attack="start", start=start)
        prior = view.prior or uniform_prior(view.shape, view.observed)
        z = torch.tensor(random.standard_normal((1, prior.mean.numel()))).to(view.observed)
        label, known = self._label(view, random)
        return _Posterior(prior, self.variation, view, z * min(start, 1), label, known, self.goal)


@dataclass(frozen=True)
class MostLikely(_WithPrior, LBFGS):
    """The maximum a posteriori (MAP) image under normal noise and a prior of images, by L-BFGS.

    The attack minimises ‖predicted - observed‖²/v + ‖z‖² + `variation` TV(x) over images x = mean + root z of
    `View.prior`. TV is the total variation of x - mean, and v the noise variance of each of m measurements.

    v is estimated in `stages`: it is ‖predicted - observed‖²/m for the last stage's image, and at least the variance
    that the view states. In the first stage the whole observation counts as noise. So an exact view is matched exactly
    in the end, and the attack does not fit the part that no image can match. The first start is the prior's mean,
    further starts are random images from the prior, and the most likely result is kept.
    """

    def _minimise(self, matching: Matching) -> None:
        assert isinstance(matching, _Posterior)
        for stage in range(self.stages):
            left = self.evaluations - matching.evaluations
            if left <= 0:
                return
            self._steps(matching, -(-left // (self.stages - stage)))
            matching.weigh()


@dataclass(frozen=True)
class MostLikelyByAdam(_WithPrior, Adam):
    """`MostLikely` by Adam; the learning rate of z falls to zero along a cosine over all stages. It passes kinks, such
    as of a maximum over pixels, which stop the line search of L-BFGS."""

    def _minimise(self, matching: Matching) -> None:
        assert isinstance(matching, _Posterior)
        adam = CosineAdam(matching.variables, self.rate, self.evaluations)
        for step in range(self.evaluations):
            matching.differentiate()
            adam.step([v.grad for v in matching.variables if v.grad is not None])
            if (step + 1) % -(-self.evaluations // self.stages) == 0:
                matching.weigh()


class _Posterior(Matching):
    """The negative logarithm of the posterior density as the loss, up to scale and a constant."""

    def __init__(self, prior: Prior, variation: float, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # the arguments of Matching
        self._prior, self._variation = prior, variation
        self._noise = self.view.noise / float(self._size)
        self._weight = self._variance(1.0)

    @property
    def image(self) -> Tensor:
        return self._prior.images(self.variables[0])

    def loss(self, misfit: Tensor) -> Tensor:
        """The misfit, plus the noise variance times -2 log of the prior density."""
        return misfit + self._weight * self._unlikely()

    def weigh(self) -> None:
        """Set the noise variance from the current misfit."""
        self._weight = self._variance(float(self.misfit().detach()))

    def score(self) -> float:
        """-2 log of the posterior density, with the most likely noise variance."""
        misfit = self.misfit().detach()
        variance = self._variance(float(misfit)) + 1e-30
        measurements = self.view.observed.numel()
        return float(measurements * torch.log(torch.tensor(variance)) + misfit / variance + self._unlikely().detach())

    def _variance(self, misfit: float) -> float:
        """The noise variance of a measurement over ‖observed‖², from the misfit, and at least the view's."""
        return max(self._noise, misfit) / self.view.observed.numel()

    def _unlikely(self) -> Tensor:
        """-2 log of the prior density: ‖z‖² plus the total variation of x - mean, which is least at the mean."""
        departure = self.image - self._prior.mean
        slopes = [departure.diff(dim=axis) for axis in (-1, -2)]
        variation = sum(square_root(slope.square() + EDGE**2).sum() for slope in slopes)
        return self.variables[0].square().sum() + self._variation * variation
