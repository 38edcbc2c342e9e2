"""Property inference from what the protocols send: zhang2021 §6.3 and Appendix A.2."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.attack.property import RandomForest
from sketchbench.attack.property_batches import Party, PropertyBatches
from sketchbench.attack.watched_training import Observations, Parties, Phases, WatchedTraining
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.model.autograd import device_of
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, NonNegative, Positive, Several
from sketchbench.sketch.family import Family

CHANCE = 0.5  # the area under the ROC curve of an attack that knows nothing
TOLD = 0.65  # the least mean area of an attack that is said to know something
SURELY_TOLD = 0.75  # an area that chance hardly reaches in a single training
SHUFFLED = "shuffled labels"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PropertyInference(Checked):
    """Two clients train a network to tell even from odd classes; an attacker wants to know which of the victim's
    batches contain images of certain other classes.

    Each trial is a training of its own, plain and double-blind, watched as `attack.watched_training` says; given the
    data set, trials are independent. `batches` says what is trained on, `phases` how long the attacker learns and is
    tested, `trees` how many its random forest has. Rows:

    - `auc`: the area under the ROC curve, by case. Without a defence: `plain server`, `plain client`. The server of
      double-blind training: `server` from Γ Sᵀ of the sketched layers, `server, whole reply` with the other parameters,
      which are sent as they are. The client: `client option I`, `client option II` from its estimates of the update of
      the sketched layers between two broadcasts; `client, open parameters` from the other parameters alone. Servers of
      plain training: `iterative sketching` from RᵀR∇F with a fresh R in every round (song2023), `compressed sensing`
      from Φ∇F with one Φ for all rounds (tang2021); b/d as for the layers.
    - `auc_loss`: of the plain cases, 1 - area, and in how many trials it exceeds `allowed_loss`.
    - `no_leak`: in how many trials the area is at most 3/4, which an attack that knows nothing hardly
      exceeds. `shortfall`: 0.65 - area, in the mean at most the bound 0
      where an attack tells something: midway between knowing nothing and 0.8.
    - `no_loss`: of the server's cases, and of `plain server` as a negative control, area - that of `plain server`, and
      in how many trials it is at least 0.

    The case `shuffled labels` is a negative control: the plain server's forest, which has learnt from labels in random
    order. The bound of the counts is that of a probability, 1/2: they are about the median training. The column
    `positive_control` has the number of trials in which the attack succeeds without a defence, with a loss of at most
    `allowed_loss`, in the plain case where there are fewer. Where that can't be shown to be most trials, the attack is
    too weak to show that anything is safe from it.
    """

    family: Family
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    batches: PropertyBatches
    phases: Phases
    rate: Positive
    trees: Count
    trials: Several
    allowed_loss: NonNegative

    def run(self) -> list[Row]:
        data = self.dataset()
        areas: dict[str, list[float]] = {}
        for trial in range(self.trials):
            for case, area in self._trial(data, trial).items():
                areas.setdefault(case, []).append(area)
            log.info("%d of %d trainings", trial + 1, self.trials)
        return list(self._rows({case: np.array(values) for case, values in areas.items()}))

    def _rows(self, areas: dict[str, NDArray[np.float64]]) -> Iterator[Row]:
        losses = {case: 1 - values for case, values in areas.items() if case.startswith("plain")}
        failures = {case: int((loss > self.allowed_loss).sum()) for case, loss in losses.items()}
        control = self.trials - max(failures.values())
        for case, values in areas.items():
            exact = CHANCE if case.startswith("client") else None
            yield Row("auc", case=case, positive_control=control, exact=exact).mean(values)
            yield Row("shortfall", case=case, positive_control=control, bound=0.0).mean(TOLD - values)
            counts = partial(Row, case=case, positive_control=control, bound=MEDIAN)
            yield counts("no_leak").counted((values <= SURELY_TOLD).sum(), self.trials)
            if case in losses or case == SHUFFLED:
                loss = 1 - values
                yield counts("auc_loss", count=int((loss > self.allowed_loss).sum())).mean(loss)
            if case.startswith("server") or case == "plain server":
                gain = values - areas["plain server"]
                yield counts("no_loss", count=int((gain >= 0).sum())).mean(gain)

    def _trial(self, data: Dataset, trial: int) -> dict[str, float]:
        """The area under the ROC curve of each case."""
        truth = self.batches.truth(self.phases.rounds, seeds.generator(self.seed, data="truth", trial=trial))
        seed = seeds.key(self.seed, task="property", trial=trial)
        make = partial(self.model, shape=data.shape, classes=2)
        training = WatchedTraining(make, self.family, self.kernels, self.batches, self.phases, self.rate)
        areas: dict[str, float] = {}
        for blind in (False, True):
            parties = self._parties(data, trial)
            observations = training.run(parties, truth, seed, blind=blind, device=device_of(self.kernels))
            for attacker, one in observations.items():
                forest_seed = seeds.key(self.seed, what="forest", trial=trial, attacker=attacker)
                tested = truth[self.phases.first_test :]
                areas |= self._areas(one, tested, forest_seed)
                if attacker == "plain server":
                    areas[SHUFFLED] = self._shuffled(one, tested, forest_seed)
        return areas

    def _parties(self, data: Dataset, trial: int) -> Parties:
        """Each with a third of the training images; the batches are the same in every training of a trial."""
        order = seeds.generator(self.seed, data="property", trial=trial).permutation(len(data.train.labels))
        random = seeds.generator(self.seed, data="batches", trial=trial)
        images = torch.tensor(data.train.images, device=device_of(self.kernels)).float() / data.white
        thirds = np.array_split(order, 3)
        return Parties(*(Party(images[part], data.train.labels[part], self.batches, random) for part in thirds))

    def _shuffled(self, observations: Observations, truth: NDArray[np.bool_], seed: int) -> float:
        """Of an attacker who knows its own batches, but not which is which."""
        labels = seeds.generator(seed, what=SHUFFLED).permutation(observations.labels)
        (area,) = self._areas(replace(observations, labels=list(labels)), truth, seed).values()
        return area

    def _areas(self, observations: Observations, truth: NDArray[np.bool_], seed: int) -> dict[str, float]:
        """Of the cases of one attacker."""
        own, *views = (
            torch.stack(features).cpu().numpy() for features in (observations.own, *observations.cases.values())
        )
        labels = np.array(observations.labels)
        values = RandomForest(self.trees).area_under_roc(own, labels, views, truth, seed)
        return dict(zip(observations.cases, values, strict=True))
