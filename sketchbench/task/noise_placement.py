"""Noise before sketching or after it (song2023 Section 7.2): what each proves to an attacker, and what it costs."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from sketchbench import seeds
from sketchbench.attack.membership import Statistics
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Positive, Probability, Several
from sketchbench.privacy import gaussian
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task import trials as blocks
from sketchbench.task.privacy_audit import audit

Placement = Literal["before", "after", "unscaled", "halved"]


class Setting(NamedTuple):
    """Drawn operators, with what it takes to release sketches of vectors of length 1/2.

    operators: a stack; R: the same as matrices (T, b, d); norm: their spectral norms (T,); shown: R u (T, b) of the
    unit vectors u that each shows best.
    """

    operators: Sketch
    R: Array
    norm: Array
    shown: Array


@dataclass(frozen=True)
class NoisePlacement(Checked):
    """A single release, private at the same (ε, δ) by the exact curve, with the noise before the sketch or after it.

    Vectors of two neighbouring data sets are 1 apart at most. *before*: R(g + N(0, σ² I)), which is private however R
    is drawn. *after*: R g + N(0, ‖R‖² σ² I), as R stretches the distance by its spectral norm ‖R‖, at most. The
    attacker knows R and has to tell ½u from -½u by the likelihood ratio; u is the right singular vector of the largest
    singular value, so that neither release shows less of it than its account assumes. Rows, by `case`:

        audit: hits and false alarms in half of the `trials` of each world, with the accounted ε as the bound. Cases:
            before, after; and two controls: *unscaled*, after the sketch for the sensitivity of what is not sketched,
            R g + N(0, σ² I), and *halved*, before it with half of σ.
        noise: the power of the noise in what is desketched, E‖Rᵀ noise‖² for the drawn R, after over before:
            ‖R‖² ‖R‖_F²/‖RᵀR‖_F² in each trial, with the number of those above 1.

    Arguments:
        trials: releases in each world, an even number; half of them choose the threshold.
        epsilon: accounted ε.
        delta: δ.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: Several
    epsilon: Positive
    delta: Probability

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % 2:
            raise ValueError(f"trials={self.trials} must be even: one half chooses a threshold, the other is counted")

    def run(self) -> list[Row]:
        rows = [self._audited(placement) for placement in get_args(Placement)]
        ratios = np.concatenate([self._ratio(setting) for setting in self._settings("noise", "cost")])
        return [*rows, Row("noise", case="after").mean(ratios).exceedances(ratios, 1.0)]

    def _audited(self, placement: Placement) -> Row:
        """What the attacker proves about one of the releases."""
        there, absent = (self._statistics(placement, world) for world in ("present", "absent"))
        row = Row("audit", case=placement, delta=self.delta, bound=self.epsilon, sensitivity=1.0, sigma=self._sigma)
        return audit(row, there, absent)

    @property
    def _sigma(self) -> float:
        """The standard deviation for a sensitivity of 1."""
        return 1 / gaussian.mu(self.epsilon, self.delta)

    def _settings(self, *names: str) -> list[Setting]:
        """The operators of all trials, in blocks."""
        settings = []
        xp = self.kernels.xp
        for first, count in blocks.blocks(self.trials, self.family.d * self.family.d):
            key = seeds.key(self.seed, task="placement", name=" ".join(names), first=first, family=repr(self.family))
            stack = self.family.draw(key, operators=count, kernels=self.kernels)
            R = stack.materialize()
            values, vectors = xp.linalg.eigh(R.swapaxes(-1, -2) @ R)
            shown = (R @ vectors[..., -1:])[..., 0]
            settings.append(Setting(stack, R, xp.sqrt(values[..., -1]), shown))
        return settings

    def _statistics(self, placement: Placement, world: str) -> Statistics:
        """The logarithm of the likelihood ratio, but for a positive factor, of every trial (trials,)."""
        sign = 1 if world == "present" else -1
        random = seeds.generator(self.seed, task="placement", name=f"{placement} {world}", family=repr(self.family))
        found = []
        for setting in self._settings(placement, world):
            sent = sign * setting.shown / 2 + self._noise(placement, setting, random)
            found.append(self.kernels.to_numpy((setting.shown * sent).sum(axis=-1) / setting.norm**2))
        return np.concatenate(found)

    def _noise(self, placement: Placement, setting: Setting, random: np.random.Generator) -> Array:
        """The noise in a release (T, b)."""
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

    def _ratio(self, setting: Setting) -> Statistics:
        """The power of desketched noise, after over before (T,): for N(0, τ² I) it is τ²‖R‖_F², for R N(0, σ² I) it is
        σ²‖RᵀR‖_F²."""
        R = setting.R
        gram = R @ R.swapaxes(-1, -2)
        ratio = setting.norm**2 * (R**2).sum(axis=(-1, -2)) / (gram**2).sum(axis=(-1, -2))
        return np.asarray(self.kernels.to_numpy(ratio))
