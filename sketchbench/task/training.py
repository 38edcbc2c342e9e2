"""Federated training of networks, plain and through sketches, side by side."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, MakeDataset, Split
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.curve import FALSE_POSITIVES, Curve
from sketchbench.federated.double_blind import KEY_BYTES
from sketchbench.federated.experiment import OPTIONS, Experiment, Trained
from sketchbench.federated.fedavg import FedAvg, LocalStep
from sketchbench.kernels import Kernels
from sketchbench.measure.row import exceeding
from sketchbench.measure.summary import summarize
from sketchbench.model import sketched
from sketchbench.model.autograd import device_of
from sketchbench.model.classification import Samples
from sketchbench.model.networks import MakeModel
from sketchbench.model.precision import Precision
from sketchbench.sketch.family import Family
from sketchbench.task.trials import shown_rounds

log = logging.getLogger(__name__)
WORD_BYTES = 4  # float32
MEDIAN = 0.5  # what happens in at most half of all trainings, happens beyond their median
LAST = 10  # one in so many rounds counts as the end of a training
HELD_OUT = 10  # one in so many training samples is held out to choose the learning rate


@dataclass(frozen=True)
class Training:
    """FedAvg of a network, `plain` and with its layers `sketched` (double-blind), in `trials` pairs that start
    from the same weights and have the same clients in every round. Rows

    `accuracy`: on the test images, by `case`, at about `points` rounds, with the bytes that all clients
    together have sent and received by then; `auc` beside it for two classes. `accuracy_loss` and `auc_loss`:
    plain less sketched, each in the mean over the last tenth of its rounds, with the `count` of the pairs that
    lose more than `allowed_loss`. Where trainings `stop` at the target, a round is shown that all have seen, and
    two that have both got there can hardly differ: a loss is then a training that has not.
    `roc`: for two classes, the share of class 1 that is found at the end, by case and `false_positives`, the share of
    class 0 that is taken for it.
    `rounds_to_target`: the first round whose test accuracy reaches `target`, by case; `rounds_ratio`: sketched
    over plain, with the count of the pairs where it is more than `allowed_ratio`, or not known. Where some
    training never gets there, the status is `unfinished`, and there is no mean.
    The bound of these counts is that of a probability, 1/2: they are about the median training.
    `bytes_down`, `bytes_up`: of one message, as it was sent, against out · s words for every sketched layer and
    the other parameters.
    `error`: ‖Δ̂ - Δ‖/‖Δ‖ of a client's estimate Δ̂ of what the sketched layers' weights did in the round before
    (zhang2021 §6.3; cases `option I` and `option II`); `inverse_error` and `cosine`, the absolute one of the
    angle between Δ̂ and Δ, with `allowed_inverse_error` and `allowed_cosine` as bounds, and how often they
    exceed them. Where some training's weights have overflown, the status is `diverged`, and there is no mean.

    The learning rate is the one of `rates` whose training reaches `target` in the fewest rounds on a tenth of
    the training images, held out for this, within `tuning_rounds`; of those that don't, or that draw, the one
    with the highest accuracy there. It is chosen for each case, with the same share of the clients as after it or
    `tuning_participation` if that is less, and the test images have no part in it.

    precision: see `model.precision`. checkpoints: a folder for what a stopped training goes on from; null for none.
    code: a digest of the code behind the trainings; those of another are not gone on with.
    """

    family: Family
    kernels: Kernels
    seed: int
    code: str
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    rates: list[float]
    tuning_rounds: int
    tuning_participation: float
    participation: float
    epochs: int
    batch: int
    local_step: LocalStep
    rounds: int
    trials: int
    points: int
    target: float
    stop: bool
    allowed_loss: float
    allowed_ratio: float
    allowed_inverse_error: float
    allowed_cosine: float
    precision: Precision
    checkpoints: str | None

    def run(self) -> list[dict[str, Any]]:
        if self.trials < 2 or self.rounds < 1 or not self.rates:
            raise ValueError(
                f"trials={self.trials} must be >= 2, rounds={self.rounds} >= 1, and rates={self.rates} not empty"
            )
        data = self.dataset()
        data.check_disjoint()
        device = device_of(self.kernels)
        train, test = (_samples(data, split, device) for split in (data.train, data.test))
        found: dict[str, list[Trained]] = {}
        for case, family in (("plain", None), ("sketched", self.family)):
            rate = self._rate(data, train, family)
            log.info("%s: learning rate %g", case, rate)
            found[case] = [
                self._trained(data, train, test, family, rate, f"trial {trial}") for trial in range(self.trials)
            ]
        return list(self._rows(data, found))

    def _rate(self, data: Dataset, train: Samples, family: Family | None) -> float:
        """The learning rate of a case, by the rule above."""
        if len(self.rates) == 1:
            return self.rates[0]
        order = seeds.generator(self.seed, data="held out").permutation(len(train.labels))
        held, kept = np.split(order, [len(order) // HELD_OUT])
        own, test = (Samples(train.images[part], train.labels[part]) for part in (kept, held))

        def merit(rate: float) -> tuple[float, float]:
            curve, _ = self._trained(data, own, test, family, rate, "tuning")
            return -(curve.reached(self.target) or np.inf), max(curve.accuracy)

        return max(self.rates, key=merit)

    def _trained(
        self,
        data: Dataset,
        train: Samples,
        test: Samples,
        family: Family | None,
        rate: float,
        name: str,
    ) -> Trained:
        """One training: a trial, or one to tune with."""
        model = self._model(data, family)
        given = (self.code, data.digest, name)
        experiment = Experiment(
            model,
            self.partition,
            data.classes,
            self.kernels,
            self.checkpoints,
            repr(given),
            self.precision,
        )
        tuning = name == "tuning"
        largest = self.tuning_participation if tuning else 1
        share = min(largest, self.participation)
        algorithm = FedAvg(rate, self.epochs, self.batch, share, self.local_step)
        return experiment.train(
            algorithm,
            train,
            test,
            seeds.key(self.seed, task="training", name=name),
            rounds=self.tuning_rounds if tuning else self.rounds,
            shown=() if tuning else shown_rounds(self.rounds, self.points),
            target=self.target if tuning or self.stop else None,
        )

    def _model(self, data: Dataset, family: Family | None) -> MakeModel:
        return partial(self.model, shape=data.shape, classes=data.classes, family=family)

    def _rows(self, data: Dataset, found: dict[str, list[Trained]]) -> Iterator[dict[str, Any]]:
        yield from self._scores(data, found)
        yield from self._roc(found)
        yield from self._targets(found)
        for case, trained in found.items():
            yield from self._messages(data, case, [curve for curve, _ in trained])
        yield from self._guesses(found["sketched"])

    def _scores(self, data: Dataset, found: dict[str, list[Trained]]) -> Iterator[dict[str, Any]]:
        for quantity in ("accuracy", "auc") if data.classes == 2 else ("accuracy",):
            values: dict[str, list[list[float]]] = {
                case: [getattr(curve, quantity) for curve, _ in trained] for case, trained in found.items()
            }
            for case, trained in found.items():
                for t in self._shown(values[case]):
                    yield {
                        "quantity": quantity,
                        "case": case,
                        "round": t,
                        "bytes_up": trained[0].curve.bytes_up[t],
                        "bytes_down": trained[0].curve.bytes_down[t],
                        "status": "finite",
                        **summarize([curve[t] for curve in values[case]]),
                    }
            plain, own = (np.array([_end(curve) for curve in values[case]]) for case in ("plain", "sketched"))
            yield {
                "quantity": f"{quantity}_loss",
                "status": "finite",
                "count": int((plain - own > self.allowed_loss).sum()),
                "bound": MEDIAN,
                **summarize(plain - own),
            }

    def _roc(self, found: dict[str, list[Trained]]) -> Iterator[dict[str, Any]]:
        """The curves at the end, of two classes."""
        for case, trained in found.items():
            points = zip(*(curve.roc for curve, _ in trained), strict=True)
            for rate, values in zip(FALSE_POSITIVES, points, strict=False):
                row = {"quantity": "roc", "case": case, "false_positives": rate}
                yield {**row, "status": "finite", **summarize(values)}

    def _shown(self, curves: list[list[float]]) -> list[int]:
        """The rounds that are shown, of those that all of these trainings have seen."""
        last = min(len(curve) for curve in curves) - 1
        return [t for t in shown_rounds(self.rounds, self.points) if t <= last]

    def _targets(self, found: dict[str, list[Trained]]) -> Iterator[dict[str, Any]]:
        reached = {case: [curve.reached(self.target) for curve, _ in trained] for case, trained in found.items()}
        for case, rounds in reached.items():
            yield self._reached({"quantity": "rounds_to_target", "case": case}, rounds)
        pairs = zip(reached["plain"], reached["sketched"], strict=True)
        ratios = [b / a if a and b else None for a, b in pairs]
        longer = sum(ratio is None or ratio > self.allowed_ratio for ratio in ratios)
        yield self._reached({"quantity": "rounds_ratio", "count": longer, "bound": MEDIAN}, ratios)

    def _reached(self, row: dict[str, Any], values: Sequence[float | None]) -> dict[str, Any]:
        """A row about all trials, or without a mean where some of them never reach the target."""
        known = [value for value in values if value is not None]
        if len(known) < self.trials:
            return {**row, "status": "unfinished", "trials": self.trials}
        return {**row, "status": "finite", **summarize(known)}

    def _messages(self, data: Dataset, case: str, curves: list[Curve]) -> Iterator[dict[str, Any]]:
        family = self.family if case == "sketched" else None
        model = self._model(data, family)()
        words = {name: parameter.numel() for name, parameter in model.named_parameters()}
        for name, layer in sketched.layers(model):
            words[f"{name}.weight"] = len(layer.weight) * layer.family.b  # out · s
        size = WORD_BYTES * sum(words.values())
        down = [size for curve in curves for size in curve.broadcast_bytes]
        up = [size for curve in curves for size in curve.reply_bytes]
        row = {"case": case, "status": "finite"}
        yield {"quantity": "bytes_down", **row, "exact": size + KEY_BYTES, **summarize(down)}
        yield {"quantity": "bytes_up", **row, "exact": size, **summarize(up)}

    def _guesses(self, trained: list[Trained]) -> Iterator[dict[str, Any]]:
        """A client's estimates, in the rounds that all trials have seen; none where nothing is sketched."""
        if not any(estimates for _, estimates in trained):
            return
        shown = self._shown([curve.accuracy for curve, _ in trained])
        values = np.array([estimates[: len(shown)] for _, estimates in trained])
        for number, option in enumerate(OPTIONS):
            for place, t in enumerate(shown):
                error, cosine = values[:, place, 2 * number], values[:, place, 2 * number + 1]
                row = {"case": f"option {option}", "round": t, "status": "finite"}
                if not (np.isfinite(error) & np.isfinite(cosine)).all():
                    row = {**row, "status": "diverged", "trials": self.trials}
                    yield from ({"quantity": q, **row} for q in ("error", "inverse_error", "cosine"))
                    continue
                yield {"quantity": "error", **row, **summarize(error)}
                for quantity, found, bound in (
                    ("inverse_error", 1 / error, self.allowed_inverse_error),
                    ("cosine", cosine, self.allowed_cosine),
                ):
                    count = exceeding(found, bound)
                    yield {
                        "quantity": quantity,
                        **row,
                        "count": count,
                        "bound": bound,
                        **summarize(found),
                    }


def _end(curve: list[float]) -> float:
    """The mean over the last tenth of a training's rounds."""
    rounds = len(curve) - 1
    return float(np.mean(curve[-max(1, rounds // LAST) :]))


def _samples(data: Dataset, split: Split, device: str) -> Samples:
    images = torch.tensor(split.images, device=device).float() / data.white
    images = images.contiguous(memory_format=torch.channels_last)  # faster convolutions
    return Samples(images, torch.tensor(split.labels, device=device))
