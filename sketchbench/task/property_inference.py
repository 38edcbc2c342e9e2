"""Property inference from what the protocols send: zhang2021 §6.3 and Appendix A.2."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.messages import flattened, full_steps, of_the_other, update
from sketchbench.attack.property import RandomForest
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.federated.double_blind import (
    Broadcast,
    Option,
    Weights,
    aggregate,
    broadcast,
    receive,
    respond,
)
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.model import autograd, sketched
from sketchbench.model.autograd import device_of
from sketchbench.model.blind import blinded
from sketchbench.model.networks import MakeModel, initialised
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

CHANCE = 0.5  # the area under the ROC curve of an attack that knows nothing
MEDIAN = 0.5  # what happens in at most half of all trainings, happens beyond their median
OPTIONS: tuple[Option, ...] = ("I", "II")
CLIENT, SERVER = (
    0,
    2,
)  # whose data: that of the client that attacks, and of the server; the victim has 1
log = logging.getLogger(__name__)


class Batches:
    """Random batches of one party's images: `count` of them with the property where one has it, else none.

    The label to train for is the parity of the class.
    """

    def __init__(
        self,
        images: Tensor,
        classes: NDArray[np.int64],
        property_classes: list[int],
        size: int,
        count: int,
        random: np.random.Generator,
    ) -> None:
        has = np.isin(classes, property_classes)
        self._with, self._without = np.flatnonzero(has), np.flatnonzero(~has)
        if len(self._with) < count or len(self._without) < size:
            raise ValueError(
                f"a party has {len(self._with)} images with the property and {len(self._without)} without; it needs "
                f"{count} and {size} for a batch: lower batch or share"
            )
        self._images, self._labels = images, torch.tensor(classes % 2, device=images.device)
        self._size, self._count, self._random = size, count, random

    def draw(self, has_property: bool) -> tuple[Tensor, Tensor]:
        """Images (batch, channels, height, width), and labels."""
        count = self._count if has_property else 0
        chosen = [
            self._random.choice(self._with, count, replace=False),
            self._random.choice(self._without, self._size - count, replace=False),
        ]
        index = torch.tensor(np.concatenate(chosen), device=self._images.device)
        return self._images[index], self._labels[index]


@dataclass
class Seen:
    """Features of an attack: of the attacker's own batches with what they are, and by view what is seen of the
    victim's."""

    own: list[Tensor] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    views: dict[str, list[Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class PropertyInference:
    """Two clients train a network, each by one batch in every round, to tell even from odd classes of a data set;
    an attacker wants to know which of the victim's batches contain images of `property_classes`. Each trial is a
    training of its own, plain and double-blind; given the data set, trials are independent.

    Of every ten batches `positive` have the property, with a `share` of their images, at random; the others have
    none. After `warm_up` rounds the attacker learns for `fit_rounds` rounds, from as many gradients of its own data,
    ten in each round, and is tested on the victim's in the `test_rounds` after them. Rows

    `auc`: the area under the ROC curve on these, by case. `plain server`, `plain client`: without a defence.
    `server`: from Γ Sᵀ of the sketched layers, `server, whole reply`: with the other parameters, which are sent as they
    are. `client option I`, `client option II`: from what a client can make of the update of the sketched layers
    between two broadcasts; `client, open parameters`: from the other parameters alone. `iterative sketching`: the
    server, from RᵀR∇F of the plain training with a fresh R in every round (song2023); `compressed sensing`: from Φ∇F
    with one Φ for all (tang2021); b/d as for the layers.
    `auc_loss`: of the plain cases, 1 less it; the count is of the trials where it is more than `allowed_loss`.
    `no_leak`: of the others, where it is at most 1/2; `no_loss`: of the server's, where it is no less than `plain
    server`. The bound of these counts is that of a probability, 1/2: they are about the median training.

    `control`: of the trials, how many have a plain area of at most the allowed loss, in both cases the fewer. Where
    that can't be shown to be most, the attack is too weak to show that anything is safe from it.
    """

    family: Family
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    property_classes: list[int]
    positive: int
    share: float
    batch: int
    rate: float
    warm_up: int
    fit_rounds: int
    test_rounds: int
    trees: int
    trials: int
    allowed_loss: float

    def run(self) -> list[dict[str, Any]]:
        if self.trials < 2 or self.test_rounds < 10 or self.fit_rounds < 1 or self.warm_up < 0:
            raise ValueError(
                f"trials={self.trials} must be >= 2, test_rounds={self.test_rounds} >= 10, "
                f"fit_rounds={self.fit_rounds} >= 1 and warm_up={self.warm_up} >= 0"
            )
        if not 1 <= self.positive <= 9 or not 0 < self.share <= 1:
            raise ValueError(f"positive={self.positive} must be 1 to 9, and share={self.share} satisfy 0 < share <= 1")
        data = self.dataset()
        found: dict[str, list[float]] = {}
        for trial in range(self.trials):
            for case, value in self._trial(data, trial).items():
                found.setdefault(case, []).append(value)
            log.info("%d of %d trainings", trial + 1, self.trials)
        return list(self._rows(found))

    def _rows(self, found: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
        areas = {case: np.array(values) for case, values in found.items()}
        plain = {case: 1 - values for case, values in areas.items() if case.startswith("plain")}
        missed = {case: int((loss > self.allowed_loss).sum()) for case, loss in plain.items()}
        control = {"control": self.trials - max(missed.values())}
        for case, values in areas.items():
            exact = {"exact": CHANCE} if case.startswith("client") else {}
            row = {"case": case, **control}
            yield {"quantity": "auc", **row, **exact, **summarize(values)}
            row = {"case": case, "bound": MEDIAN, **control}
            if case in plain:
                yield {
                    "quantity": "auc_loss",
                    **row,
                    "count": missed[case],
                    **summarize(plain[case]),
                }
                continue
            count = int((values <= CHANCE).sum())
            yield {"quantity": "no_leak", **row, "count": count, **summarize(values - CHANCE)}
            if case.startswith("server"):
                kept = values - areas["plain server"]
                count = int((kept >= 0).sum())
                yield {"quantity": "no_loss", **row, "count": count, **summarize(kept)}

    def _trial(self, data: Dataset, trial: int) -> dict[str, float]:
        """The area under the ROC curve of each case."""
        order = seeds.generator(self.seed, data="property", trial=trial).permutation(len(data.train.labels))
        parts = np.array_split(order, 3)
        device = device_of(self.kernels)
        images = torch.tensor(data.train.images, device=device).float() / data.white
        truth = self._truth(trial)
        found: dict[str, float] = {}
        for family in (None, self.family):
            random = seeds.generator(self.seed, data="batches", trial=trial)
            batches = [
                Batches(
                    images[part],
                    data.train.labels[part],
                    self.property_classes,
                    self.batch,
                    max(1, round(self.share * self.batch)),
                    random,
                )
                for part in parts
            ]
            make = partial(self.model, shape=data.shape, classes=2, family=family)
            watched = _Watched(self, make, batches, truth, trial, device)
            for attacker, seen in watched.run().items():
                tested = truth[self.warm_up + self.fit_rounds :]
                values = RandomForest(self.trees).area_under_roc(
                    torch.stack(seen.own).cpu().numpy(),
                    np.array(seen.labels),
                    [torch.stack(view).cpu().numpy() for view in seen.views.values()],
                    tested,
                    seeds.key(self.seed, what="forest", trial=trial, attacker=attacker),
                )
                found |= dict(zip(seen.views, values, strict=True))
        return found

    def _truth(self, trial: int) -> NDArray[np.bool_]:
        """Which of the victim's batches have the property: in every ten rounds `positive` of them."""
        rounds = self.warm_up + self.fit_rounds + self.test_rounds
        random = seeds.generator(self.seed, data="truth", trial=trial)
        tens = [random.permutation(10) < self.positive for _ in range(-(-rounds // 10))]
        return np.concatenate(tens)[:rounds]


class _Watched:
    """One training, and what attackers make of it."""

    def __init__(
        self,
        task: PropertyInference,
        make: MakeModel,
        batches: list[Batches],
        truth: NDArray[np.bool_],
        trial: int,
        device: str,
    ) -> None:
        self._task, self._batches, self._truth = task, batches, truth
        self._seed = seeds.key(task.seed, task="property", trial=trial)
        self._model = initialised(make, seeds.key(self._seed, what="weights")).to(device)
        self._twin = blinded(initialised(make, 0)).to(device)
        self._hidden = [f"{name}.weight" for name, _ in sketched.layers(self._model)]
        self._open = [n for n, _ in self._model.named_parameters() if n not in self._hidden]
        self._all = [*self._hidden, *self._open]
        self._plain = not self._hidden
        self._seen: dict[str, Seen] = {}

    def run(self) -> dict[str, Seen]:
        task, rate = self._task, self._task.rate
        fit, end = task.warm_up, task.warm_up + task.fit_rounds
        random = seeds.generator(self._seed, what="own batches")
        before: tuple[Broadcast, Weights] | None = None
        self._model.train()
        self._twin.train()
        for t in range(len(self._truth) + 1):
            message = broadcast(self._model, seeds.key(self._seed, round=t), task.kernels)
            if before and t > end:
                self._client_tested(*before, message)
            if t == len(self._truth):
                break
            receive(self._twin, message, task.kernels)
            kinds = (random.random() * 10 < task.positive, bool(self._truth[t]))
            replies = [
                respond(self._twin, client, *self._batches[client].draw(kind), rate)
                for client, kind in enumerate(kinds)
            ]
            operators = self._operators(t)
            own, victims = (full_steps(self._twin, reply) for reply in replies)
            if fit <= t < end:
                self._learn(operators)
            elif t >= end:
                self._server_tested(victims, operators)
            before = message, own
            aggregate(self._model, replies)
        return self._seen

    def _operators(self, t: int) -> dict[str, Sketch]:
        """What whole gradients of the plain training are sketched with, by the case that does so."""
        if not self._plain:
            return {}
        d = sum(parameter.numel() for parameter in self._model.parameters())
        family = sketched.resized(self._task.family, d)
        draw = partial(family.draw, kernels=self._task.kernels)
        return {
            "iterative sketching": draw(seeds.key(self._seed, what="iterative", round=t)),
            "compressed sensing": draw(seeds.key(self._seed, what="compressed")),
        }

    def _views(self, steps: Weights, operators: dict[str, Sketch]) -> dict[str, Tensor]:
        """The features of a server's attacks."""
        whole = flattened(steps, self._all)
        if not self._plain:
            return {
                "server": flattened(steps, self._hidden),
                "server, whole reply": whole,
            }
        views = {"plain server": whole}
        for name, operator in operators.items():
            seen = autograd.sketch(operator, whole)
            fresh = name == "iterative sketching"
            views[name] = autograd.desketch(operator, seen) if fresh else seen
        return views

    def _learn(self, operators: dict[str, Sketch]) -> None:
        """Ten gradients of the server's data, and ten of the client's."""
        for place in range(10):
            kind = place < self._task.positive
            for party in (SERVER, CLIENT):
                reply = respond(self._twin, party, *self._batches[party].draw(kind), self._task.rate)
                steps = full_steps(self._twin, reply)
                if party == SERVER:
                    own = self._views(steps, operators)
                elif self._plain:
                    own = {"plain client": flattened(steps, self._all)}
                else:
                    own = {
                        "client": flattened(steps, self._hidden),
                        "client, open parameters": flattened(steps, self._open),
                    }
                for attacker, features in own.items():
                    seen = self._seen.setdefault(attacker, Seen())
                    seen.own.append(features)
                    seen.labels.append(kind)

    def _server_tested(self, victims: Weights, operators: dict[str, Sketch]) -> None:
        for attacker, features in self._views(victims, operators).items():
            self._test(attacker, attacker, features)

    def _client_tested(self, old: Broadcast, own: Weights, new: Broadcast) -> None:
        """What the client sees of the victim's step between two broadcasts."""
        for option in OPTIONS:
            moved = update(self._twin, old, new, option, self._task.kernels)
            other = of_the_other(moved, own)
            if self._plain:
                self._test("plain client", "plain client", flattened(other, self._all))
                return
            self._test("client", f"client option {option}", flattened(other, self._hidden))
        exact = flattened(other, self._open)
        self._test("client, open parameters", "client, open parameters", exact)

    def _test(self, attacker: str, case: str, features: Tensor) -> None:
        self._seen[attacker].views.setdefault(case, []).append(features)
