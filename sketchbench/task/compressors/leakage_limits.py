"""The limits of the leakage of compressed messages: batches, trained networks, local steps, unknown labels."""

import dataclasses
import functools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from sketchbench.attack.compressed_message import VICTIM, WatchedRounds
from sketchbench.attack.dense_networks import DenseNetworks, DrawnBatch, LocalSteps
from sketchbench.attack.labels import read_labels
from sketchbench.attack.lens import Unseen
from sketchbench.attack.message_scene import Scene, draw_further, draw_scene
from sketchbench.attack.stacked_inversion import CLASS_MEAN, KNOWS, Kind, StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, Positive
from sketchbench.compressor.compressor import At, MakeCompressor
from sketchbench.compressor.message import byte_limit
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value

CLIENTS = 2  # the victim, and another one
TINY = 1e-12  # least mean squared error, of 120 dB
NEGLIGIBLE = 1.0  # dB, the gain up to which several messages count as revealing no more than one
_TRAINED = Kept[str, dict[int, DenseNetworks]](1)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Condition(Checked):
    """The conditions of an attack.

    A client's B images have different classes, unless there are more images than classes. `read` labels, of a single
    image, are those whose class mean fits the message best. With `held` images, the client draws B of them for each
    message, as `drawn_places` says; the attacker knows the draws and the labels of all images, which makes it the
    strongest attacker. None holds one batch for all rounds.
    """

    batch: Count = 1  # B, the images of a client
    trained: Natural = 0  # the rounds for which the networks were trained before
    local_steps: Count = 1  # of the client, on its whole batch
    labels: Literal["known", "read"] = "known"  # known to the attacker, or read from the message
    rounds: Count = 1  # messages that the attacker sees
    moving: bool = False  # whether the networks are trained by a step between messages
    held: Count | None = None  # the client's images

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moving and self.rounds == 1:
            raise ValueError("moving=true is for rounds=2 or more, not 1; take moving=false")
        if self.labels == "read" and self.batch > 1:
            raise ValueError(f"labels=read is for batch=1, not {self.batch}; take labels=known")
        if self.labels == "read" and self.images > 1:
            raise ValueError(f"labels=read is for the same image in all rounds, not held={self.held}")
        if self.images % self.batch:
            raise ValueError(f"held={self.held} must be a multiple of batch={self.batch}")
        if self.images > self.batch * self.rounds:
            raise ValueError(
                f"held={self.held} must be <= {self.batch * self.rounds}, batch={self.batch} times "
                f"rounds={self.rounds}, for every image to be in a message"
            )

    @property
    def images(self) -> int:
        """The number of images that a client holds."""
        return self.batch if self.held is None else self.held

    @property
    def redrawn(self) -> bool:
        """Return whether the batch changes from round to round."""
        return self.images > self.batch

    @property
    def first(self) -> "Condition":
        """The condition for the first message alone."""
        return dataclasses.replace(self, rounds=1, moving=False, held=None)

    @property
    def times(self) -> list[int]:
        """The rounds of training before each message."""
        return [self.trained + self.moving * number for number in range(self.rounds)]


@dataclass(frozen=True)
class LimitsTraining(Checked):
    """The training of networks before the attack, by gradient descent on random training images."""

    images: Count  # of a step, of all clients together
    rate: Positive  # of a step


class FoundLeads(NamedTuple):
    """The results of attacks under a condition."""

    leads: dict[Kind, NDArray[np.float64]]  # of each attack, in dB, (T,)
    best: Kind  # the attack with the highest mean lead in the `choosing` trials
    nbytes: int  # bytes that it sees
    read_rightly: NDArray[np.bool_]  # whether the label of the attacked image is right, (T,)
    failed: NDArray[np.bool_]  # whether no attack's images fit the messages as well as the victim's do, (T,)

    @property
    def lead(self) -> NDArray[np.float64]:
        """Lead of the best attack in dB, (T,)."""
        return self.leads[self.best]


@dataclass(frozen=True)
class LeakageLimits(Checked):
    """Attacks by the server on a client's first messages under several conditions, with all weights known.

    See `FrontierLeakage` for the attacks; the rows are about the attack with the highest mean lead in `choosing`
    further trials. The attacked image is the client's first. If several images have one class and the same messages,
    these don't assign reconstructions to images: the assignment with the least squared error counts. The lead is the
    PSNR minus that of a guess without a message: the mean training image of its class, or, if labels are read, of all
    classes. Rows by condition (`case`, with the columns `batch`, `round`, the rounds of training, and `local_steps`):

    - `lead`: mean, in dB; bound: 0. `beyond`: the lead minus `least`. `short`: `least` minus the lead. Bound of both:
      0.
    - `hidden` and `visible`: the number of trials with a lead below `least`, or not below; bound: 1/2. The column
      `optimiser_failed` counts the trials in which no attack's answer fits the messages as well as the victim's images
      do. If it fails as a rule, few visible images say nothing about the messages.
    - `gain`: mean lead minus that of the best attack on the first message alone, in dB, for conditions of several
      messages; bound: NEGLIGIBLE.
    - `accuracy`: mean accuracy of the networks on the test images.
    - `read`: the number of trials in which the label was read rightly, if labels are read.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`
    compression: Positive  # bytes of the dense float32 update over bytes of the budget
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attacks: StackedAttacks
    conditions: dict[str, Condition]  # by name
    training: LimitsTraining  # of the networks
    local_rate: Positive  # the learning rate of local steps
    least: Positive  # the lead from which on an image counts as visible, in dB
    choosing: AtLeastTwo  # trials that choose the attack
    trials: AtLeastTwo  # judged trials

    def run(self) -> list[Row]:
        rows = [row for name, condition in self.conditions.items() for row in self._rows(name, condition)]
        return [row.replace(compression=self.compression) for row in rows]

    @functools.cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @functools.cached_property
    def _judged(self) -> int:
        """The root of victims, networks and keys that were not seen while the attacks were developed."""
        return seeds.key(self.seed, task="leakage limits", trials="judged anew")

    @functools.cached_property
    def _scene(self) -> Scene:
        """The scene of the largest batch; other batches are parts of it."""
        most = max(condition.batch for condition in self.conditions.values())
        return draw_scene(self._data, self.model, self._judged, CLIENTS * most, self.choosing + self.trials)

    @property
    def _networks(self) -> dict[int, DenseNetworks]:
        """The networks after the rounds of training of all conditions, the same for all compressors."""
        setting = (self._judged, self.model, self.conditions, self.training, self.choosing, self.trials)
        return _TRAINED.of(f"{setting!r} {self._data.digest}", self._train)

    def _train(self) -> dict[int, DenseNetworks]:
        data, networks, done = self._data, self._scene.networks, 0
        random = seeds.generator(self._judged, data="training")
        features = torch.tensor(data.features(data.train), dtype=torch.float32)
        labels = torch.tensor(data.train.labels)
        trained = dict[int, DenseNetworks]()
        for rounds in sorted({time for condition in self.conditions.values() for time in condition.times}):
            for _ in range(rounds - done):
                chosen = random.integers(len(labels), size=(1, self.choosing + self.trials, self.training.images))
                networks = networks.trained(features[chosen], labels[chosen], self.training.rate)
            trained[rounds], done = networks, rounds
        return trained

    def _rows(self, name: str, condition: Condition) -> Iterator[Row]:
        try:
            found = self._attack(name, condition)
        except Unseen as reason:
            yield Row("lead", case=name).without_number("refused", str(reason))
            return
        lead = found.lead[self.choosing :]
        visible = int((lead >= self.least).sum())
        log.info("%s: lead %.1f dB by %s, %d visible", name, lead.mean(), found.best, visible)
        columns: dict[str, Value] = {
            "case": name,
            "batch": condition.batch,
            "round": condition.trained,
            "local_steps": condition.local_steps,
        }
        seen: dict[str, Value] = {"attack": found.best, "knows": KNOWS[found.best], "bytes_seen": found.nbytes}
        yield Row("lead", bound=0.0, **columns, **seen).mean(lead)
        yield Row("beyond", bound=0.0, **columns, **seen).mean(lead - self.least)
        yield Row("short", bound=0.0, **columns, **seen).mean(self.least - lead)
        yield Row("hidden", bound=MEDIAN, **columns, **seen).counted(self.trials - visible, self.trials)
        failed = int(found.failed[self.choosing :].sum())
        yield Row("visible", bound=MEDIAN, **columns, **seen, optimiser_failed=failed).counted(visible, self.trials)
        test = torch.tensor(self._data.features(self._data.test), dtype=torch.float32)
        shares = self._networks[condition.trained].accuracies(test, torch.tensor(self._data.test.labels))
        yield Row("accuracy", **columns).mean(shares[self.choosing :].numpy())
        if condition.labels == "read":
            right = found.read_rightly[self.choosing :]
            yield Row("read", **columns).counted(int(right.sum()), self.trials)
        if condition.rounds > 1:
            alone = self._attack(name, condition.first).lead[self.choosing :]
            yield Row("gain", bound=NEGLIGIBLE, **columns, **seen).mean(lead - alone)
        for kind, one in found.leads.items():
            if kind != CLASS_MEAN:
                yield Row("own_lead", **columns, attack=kind, knows=KNOWS[kind]).mean(one[self.choosing :])

    def _attack(self, name: str, condition: Condition) -> FoundLeads:
        scene = self._scene
        images, labels = self._clients(condition)
        places = drawn_places(condition, len(images), self._judged)
        different = {time: self._of(condition, time) for time in set(condition.times)}
        networks = [different[time] for time in condition.times]
        if condition.redrawn:
            networks = [DrawnBatch(*both) for both in zip(networks, places, strict=True)]
        layout = networks[0].layout
        compressor = self.compressor(layout=layout, limit=byte_limit(layout, self.compression))
        at = At(self.kernels, seeds.key(self._judged, condition=name), 0, len(images))
        several = {id(x): x for x in networks}
        updates = {key: self.kernels.asarray(x.gradients(images, labels).numpy()) for key, x in several.items()}
        moving = condition.moving or condition.redrawn
        played = WatchedRounds(compressor, at, lambda at: updates[id(networks[at.round])], moving=moving)
        sights = played.sights("server", condition.rounds)
        truth, known = labels[:, VICTIM], labels[:, VICTIM]
        target = Target(
            sights, networks[: len(sights)], known, scene.prior, scene.classes, at.seed, compressor, scene.public
        )
        guess = scene.classes.means[truth]
        if condition.labels == "read":
            known, guess = read_labels(target), scene.prior.mean.flatten().expand(guess.shape)
            target = target._replace(labels=known)
        attacks = self.attacks
        if condition.redrawn:  # a step looks at all messages, as each image is only in some
            attacks = dataclasses.replace(attacks, rounds=condition.rounds)
        alike = truth + self._data.classes * memberships(places, condition.images)
        answers = attacks.run(target)
        leads = {kind: self._leads(one, images[:, VICTIM], guess, alike) for kind, one in answers.items()}
        best = max(leads, key=lambda kind: float(leads[kind][: self.choosing].mean()))
        right = (known == truth)[:, VICTIM].numpy()
        failed = target.failed(answers.values(), images[:, VICTIM]).numpy()
        return FoundLeads(leads, best, sum(sight.nbytes for sight in sights), right, failed)

    def _clients(self, condition: Condition) -> tuple[Tensor, Tensor]:
        """The clients' images (T, C, n, pixels) and classes (T, C, n); the first images are always the scene's."""
        size, further = condition.batch, condition.images - condition.batch
        images, labels = (
            x[:, : CLIENTS * size].reshape(len(x), CLIENTS, size, *x.shape[2:])
            for x in (self._scene.images, self._scene.labels)
        )
        random = seeds.generator(self._judged, data="further images", held=condition.images)
        return draw_further(self._data, images, labels, further, random)

    def _of(self, condition: Condition, time: int) -> DenseNetworks:
        """The networks after `time` rounds of training, with the condition's local steps."""
        networks, steps = self._networks[time], condition.local_steps
        return networks if steps == 1 else LocalSteps(networks, steps, self.local_rate)

    def _leads(self, found: Tensor, images: Tensor, guess: Tensor, alike: Tensor) -> NDArray[np.float64]:
        """The lead (T,) of each trial's first image; images with one number in `alike` (T, n) may be exchanged."""
        found = found.double().nan_to_num().clamp(0, 1)
        own = [assigned(*several)[VICTIM] for several in zip(found, images.double(), alike, strict=True)]
        truth, first = images[:, VICTIM].double(), torch.stack(own)
        errors = [(one.double() - truth).square().mean(dim=1).clamp_min(TINY) for one in (first, guess[:, VICTIM])]
        return np.asarray(10 * torch.log10(errors[1] / errors[0]).numpy())


def drawn_places(condition: Condition, trials: int, seed: int) -> Tensor:
    """The places of the images that a client draws in each round, (rounds, T, B): passes through all its images. The
    first pass is in the order in which it holds them; each further pass has a random order (random reshuffling)."""
    random, count = seeds.generator(seed, data="order"), condition.images // condition.batch
    passes = [torch.arange(condition.images).expand(trials, -1)]
    for _ in range(-(-condition.rounds // count) - 1):
        order = random.permuted(np.tile(np.arange(condition.images), (trials, 1)), axis=1)
        passes.append(torch.from_numpy(order))
    batches = torch.stack(passes).view(len(passes), trials, count, condition.batch).transpose(1, 2)
    return batches.flatten(0, 1)[: condition.rounds].sort(dim=2).values


def memberships(places: Tensor, images: int) -> Tensor:
    """A number for each image, (T, images), that encodes the rounds that draw it, for places (rounds, T, B)."""
    drawn = torch.zeros(*places.shape[:2], images, dtype=torch.int64).scatter(2, places, 1)
    return (drawn << torch.arange(len(places))[:, None, None]).sum(dim=0)


def assigned(found: Tensor, images: Tensor, labels: Tensor) -> Tensor:
    """Order reconstructions (n, pixels) by images (n, pixels) of the same labels (n,), at the least squared error."""
    errors = torch.cdist(images, found).square()
    errors[labels[:, None] != labels[None]] = torch.inf
    order = linear_sum_assignment(errors.numpy())[1]
    return found[torch.from_numpy(order)]
