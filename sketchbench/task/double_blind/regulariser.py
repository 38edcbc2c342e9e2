"""The regulariser of training through sketches: the expected loss of a sketched linear model (zhang2021 §5.3)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, NonNegative
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials
from sketchbench.theory.double_blind import dropout_penalty, penalty
from sketchbench.theory.known import Known

Numbers = NDArray[np.float64]
LARGEST, SMALLEST = "largest feature", "smallest feature"
RANGE = 2.0  # the features' standard deviations fall from RANGE to 1/RANGE


class Model(NamedTuple):
    """A linear model: the samples' features (n, d), and the weights (d,)."""

    features: Numbers
    weights: Numbers


@dataclass(frozen=True)
class Regulariser(Checked):
    """Measures f̃(w) - f(w) for the squared loss f(w) = Σ (x_jᵀw - y_j)²/2n of a linear model (Eq. 4).

    f̃(w) is its mean over S = Rᵀ with x_jᵀSSᵀw in place of x_jᵀw (Eq. 5). Every trial draws a fresh S. The unit is the
    penalty of dropout that keeps a feature with probability b/d. Rows:

    `excess`, by `case` and `reading`: mean of f̃(w) - f(w); exact: 1 in the reading `dropout`; in the reading `family`,
    half the mean variance of x_jᵀSSᵀw by the family's second moments, if these are known.
    `small_less_large`: mean of the excess of the case `smallest feature` minus that of `largest feature`, in the
    latter's unit; bound: 0. For dropout it is negative.

    Cases:
        dense: normal features, with standard deviations that fall from 2 to 1/2, and normal weights.
        largest feature, smallest feature: the same features; a single weight, for the first or the last feature.
        flat: all features and weights equal.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of sketches
    samples: AtLeastTwo  # n, the number of samples
    residual: NonNegative  # standard deviation of y_j - x_jᵀw

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family.b >= self.family.d:
            raise ValueError(f"b={self.family.b} must be < d={self.family.d}; with b = d dropout drops nothing")

    def run(self) -> list[Row]:
        models = self._models()
        units = {name: dropout_penalty(*model, kept=self.family.b / self.family.d) for name, model in models.items()}
        excess = dict(zip(models, self._excess(list(models.values())).T, strict=True))
        rows = []
        for name, model in models.items():
            row = Row("excess", case=name).mean(excess[name] / units[name])
            rows.append(row.replace(reading="dropout", exact=1.0))
            if self.known.second_moment is not None:
                exact = penalty(*model, self.known.second_moment, size=self.family.b)
                rows.append(row.replace(reading="family", exact=exact / units[name]))
        difference = (excess[SMALLEST] - excess[LARGEST]) / units[LARGEST]
        return [*rows, Row("small_less_large", bound=0.0).mean(difference)]

    def _models(self) -> dict[str, Model]:
        """The models by case, which are the same for every family."""
        d, random = self.family.d, seeds.generator(self.seed, data="regulariser", d=self.family.d)
        features = random.standard_normal((self.samples, d)) * np.geomspace(RANGE, 1 / RANGE, d)
        first, last = np.eye(d)[[0, -1]]
        return {
            "dense": Model(features, random.standard_normal(d)),
            LARGEST: Model(features, first),
            SMALLEST: Model(features, last),
            "flat": Model(np.ones((self.samples, d)), np.ones(d) / d**0.5),
        }

    def _excess(self, models: list[Model]) -> Numbers:
        """The excess f̃(w) - f(w) of each model in each trial, (trials, models)."""
        features, weights = (np.array(part) for part in zip(*models, strict=True))
        random = seeds.generator(self.seed, data="residuals", d=self.family.d)
        residuals = self.residual * random.standard_normal(features.shape[:2])  # of the plain model, (models, samples)
        plain = np.einsum("cnd,cd->cn", features, weights)
        key = seeds.key(self.seed, task="regulariser", family=repr(self.family))
        rows = self.kernels.asarray(features.reshape(1, -1, self.family.d))
        excess = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, rows.shape[1]):
            projected = self.kernels.to_numpy(trials.sketch_and_desketch(sketch, rows))
            outputs = np.einsum("tcnd,cd->tcn", projected.reshape(-1, *features.shape), weights)
            losses = ((outputs - plain - residuals) ** 2 - residuals**2).mean(axis=-1) / 2
            excess.append(losses)
        return np.concatenate(excess)
