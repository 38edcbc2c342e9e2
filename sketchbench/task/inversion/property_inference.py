"""Property inference from the messages of protocols (zhang2021 §6.3 and Appendix A.2)."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.attack.property import Classifier, RandomForest, Ridge
from sketchbench.attack.property_batches import Party, PropertyBatches
from sketchbench.attack.watched_training import REMEMBERING, Observations, Parties, Phases, WatchedTraining
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative, Positive
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.family import Family

CHANCE = 0.5  # area under the ROC curve of a random guess
TOLD = 0.65  # the least mean area of an attack that infers the property
SURELY_TOLD = 0.75  # an area that a random guess hardly reaches in a single training
SHUFFLED = "shuffled labels"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PropertyInference(Checked):
    """Two clients train a network to tell even from odd classes; an attacker infers a property of the victim's batches.

    The property is that a batch contains images of certain classes. Each trial trains a plain and a double-blind
    network, observed as in `attack.watched_training`; given the data set, trials are independent. Cases are the
    attackers:

    - `plain server`, `plain client`: of plain training, without a defence.
    - `iterative sketching`: a server that sees RᵀR∇F with a fresh R in every round (song2023).
    - `compressed sensing`: a server that sees Φ∇F with one Φ for all rounds (tang2021).
    - `server`: of double-blind training, from Γ Sᵀ of the sketched layers; `server, whole reply` also sees the steps of
      all other parameters.
    - `client option I`, `client option II`: a client, from its estimates of the sketched layers' update between two
      broadcasts; `client, remembering`: from the broadcasts of all rounds (`attack.weight_filter`), by a linear
      classifier; `client, open parameters`: from the other parameters alone.
    - `shuffled labels`: the plain server with a classifier trained on labels in random order: a negative control.

    Rows by `case`:

    - `auc`: mean area under the ROC curve; exact, for clients: 1/2, the area of a random guess.
    - `auc_loss`, for the plain cases: mean of 1 - area, and the `count` of trials in which it exceeds `allowed_loss`.
    - `no_leak`: the number of trials with an area of at most 3/4, which a random guess hardly exceeds.
    - `shortfall`: mean of 0.65 - area, midway between 1/2 and 0.8; bound: 0, which an attack that infers the property
      does not exceed.
    - `no_loss`, for double-blind servers, and `plain server` as a negative control: mean of the area minus that of
      `plain server`, and the `count` of trials in which the difference is at least 0.

    The bound of counts is 1/2, for a probability, as they are about the median training. The column `positive_control`
    has the number of trials in which the attack on plain training has a loss of at most `allowed_loss`, in the plain
    case with the fewest: unless this is shown to be most trials, the attack is too weak to judge a defence.
    """

    family: Family  # of the sketches: of layers, and at the same b/d of whole gradients
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    batches: PropertyBatches  # the size of batches, and how many have the property
    phases: Phases  # the rounds in which the attacker waits, learns and is tested
    rate: Positive  # learning rate of the clients
    trees: Count  # of the attacker's random forest
    trials: AtLeastTwo  # pairs of trainings
    allowed_loss: NonNegative  # the 1 - area up to which an attack has succeeded

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
                classifier = Ridge() if attacker == REMEMBERING else RandomForest(self.trees)
                areas |= _areas(classifier, one, tested, forest_seed)
                if attacker == "plain server":
                    areas[SHUFFLED] = self._shuffled_area(one, tested, forest_seed)
        return areas

    def _parties(self, data: Dataset, trial: int) -> Parties:
        """The parties, with a third of the training images each; both trainings of a trial have the same batches."""
        order = seeds.generator(self.seed, data="property", trial=trial).permutation(len(data.train.labels))
        random = seeds.generator(self.seed, data="batches", trial=trial)
        images = torch.tensor(data.train.images, device=device_of(self.kernels)).float() / data.white
        thirds = np.array_split(order, 3)
        return Parties(*(Party(images[part], data.train.labels[part], self.batches, random) for part in thirds))

    def _shuffled_area(self, observations: Observations, truth: NDArray[np.bool_], seed: int) -> float:
        """The area of an attacker trained on its own batches with labels in random order."""
        labels = seeds.generator(seed, what=SHUFFLED).permutation(observations.labels)
        shuffled = replace(observations, labels=list(labels))
        (area,) = _areas(RandomForest(self.trees), shuffled, truth, seed).values()
        return area


def _areas(classifier: Classifier, observations: Observations, truth: NDArray[np.bool_], seed: int) -> dict[str, float]:
    """The area under the ROC curve of an attacker, by case."""
    own, *views = (torch.stack(features).cpu().numpy() for features in (observations.own, *observations.cases.values()))
    values = classifier.area_under_roc(own, np.array(observations.labels), views, truth, seed)
    return dict(zip(observations.cases, values, strict=True))
