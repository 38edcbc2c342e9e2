"""Noise before sketching or after it (song2023 §7.2): an audit of its privacy, and the power of the noise."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from sketchbench.attack.membership import Statistics
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Positive, Probability
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.privacy import gaussian
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task.privacy.privacy_audit import audit
from sketchbench.task.sketches import trials as blocks

Placement = Literal["before", "after", "unscaled", "halved"]


class PlacementSetting(NamedTuple):
    """Operators of T trials."""

    operators: Sketch  # as a stack
    R: Array  # as matrices, (T, b, d)
    norm: Array  # their spectral norms, (T,)
    shown: Array  # R u of each, (T, b), for the unit vector u with the largest ‖R u‖


@dataclass(frozen=True)
class NoisePlacement(Checked):
    """A private release of a vector g with noise before or after the sketch, at the same (ε, δ) by the exact curve.

    The vectors of neighbouring data sets have a distance of at most 1. With noise *before* the sketch, the release is
    R(g + N(0, σ² I)), which is private for any R. With noise *after*, it is R g + N(0, ‖R‖² σ² I), as R stretches
    distances by at most its spectral norm ‖R‖. The attacker knows R, and distinguishes ½u from -½u by the likelihood
    ratio. Here u is the right singular vector of the largest singular value, so that both releases show all of u that
    their accounts assume. Rows, by `case`:

        audit: hits and false alarms in the second half of the `trials` of each world; value: the ε that they prove;
            bound: the accounted ε. The cases are `before`, `after`, and two negative controls: `unscaled`, with R g +
            N(0, σ² I), and `halved`, with half of σ before the sketch.
        noise (case `after`): the power of the noise in desketched releases, E‖Rᵀ noise‖² given R, after over before,
            which is ‖R‖² ‖R‖_F²/‖RᵀR‖_F²: its mean, and the number of trials in which it exceeds 1.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # releases in each world, an even number; the first half chooses the attacker's threshold
    epsilon: Positive  # the accounted ε
    delta: Probability  # δ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % 2:
            raise ValueError(f"trials={self.trials} must be even: one half chooses a threshold, the other is counted")

    def run(self) -> list[Row]:
        rows = [self._audit(placement) for placement in get_args(Placement)]
        ratios = np.concatenate([self._ratio(setting) for setting in self._settings("noise", "cost")])
        return [*rows, Row("noise", case="after").mean(ratios).exceedances(ratios, 1.0)]

    def _audit(self, placement: Placement) -> Row:
        present, absent = (self._statistics(placement, world) for world in ("present", "absent"))
        row = Row("audit", case=placement, delta=self.delta, bound=self.epsilon, sensitivity=1.0, sigma=self._sigma)
        return audit(row, present, absent)

    @property
    def _sigma(self) -> float:
        """The standard deviation for a sensitivity of 1."""
        return 1 / gaussian.mu(self.epsilon, self.delta)

    def _settings(self, *names: str) -> list[PlacementSetting]:
        settings = []
        xp = self.kernels.xp
        for first, count in blocks.blocks(self.trials, self.family.d * self.family.d):
            key = seeds.key(self.seed, task="placement", name=" ".join(names), first=first, family=repr(self.family))
            stack = self.family.draw(key, operators=count, kernels=self.kernels)
            R = stack.materialize()
            values, vectors = xp.linalg.eigh(R.swapaxes(-1, -2) @ R)
            shown = (R @ vectors[..., -1:])[..., 0]
            settings.append(PlacementSetting(stack, R, xp.sqrt(values[..., -1]), shown))
        return settings

    def _statistics(self, placement: Placement, world: str) -> Statistics:
        """The logarithm of the likelihood ratio up to a positive factor, in each trial, (trials,)."""
        sign = 1 if world == "present" else -1
        random = seeds.generator(self.seed, task="placement", name=f"{placement} {world}", family=repr(self.family))
        statistics = []
        for setting in self._settings(placement, world):
            sent = sign * setting.shown / 2 + self._noise(placement, setting, random)
            statistics.append(self.kernels.to_numpy((setting.shown * sent).sum(axis=-1) / setting.norm**2))
        return np.concatenate(statistics)

    def _noise(self, placement: Placement, setting: PlacementSetting, random: np.random.Generator) -> Array:
        """The noise in the releases of T trials, (T, b)."""
        trials, b, d = setting.R.shape
        asarray = self.kernels.asarray
        match placement:
            case "before" | "halved":
                sigma = self._sigma / (2 if placement == "halved" else 1)
                return setting.operators.sketch(asarray(sigma * random.standard_normal((trials, d))))
            case "after":
                return setting.norm[:, None] * asarray(self._sigma * random.standard_normal((trials, b)))
            case "unscaled":
                return asarray(self._sigma * random.standard_normal((trials, b)))

    def _ratio(self, setting: PlacementSetting) -> Statistics:
        """The power of desketched noise, after over before the sketch, (T,): that of Rᵀ N(0, τ² I) is τ²‖R‖_F²."""
        R = setting.R
        gram = R @ R.swapaxes(-1, -2)
        ratio = setting.norm**2 * (R**2).sum(axis=(-1, -2)) / (gram**2).sum(axis=(-1, -2))
        return np.asarray(self.kernels.to_numpy(ratio))
