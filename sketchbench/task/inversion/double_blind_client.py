"""A client's attack on another client's image in double-blind learning, and the price of repairs."""

import functools
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.message_scene import Scene, draw_scene, pixels
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, NonEmptyList, Positive, Probability, choose
from sketchbench.compressor.compressor import At
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.sketch.family import Family

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant(Checked):
    """A variant of double-blind learning.

    Arguments:
        layers: the sketched layers, whose weights a client does not see unless the sketch is fixed: `none`, as in plain
            training, `hidden` as in the paper, or `all` with the output layer.
        biases: whether there are biases, which a client sees.
        sketch: `fresh` in each round, or `fixed`: then a client sees the change of W S, as it knows W S before and
            after a round with the same S.
    """

    layers: Literal["none", "hidden", "all"] = "hidden"
    biases: bool = True
    sketch: Literal["fresh", "fixed"] = "fresh"

    def sketched(self, parameters: int) -> int:
        """Return how many of all parameters, weights and biases in turn, precede the first layer without a sketch."""
        return {"none": 0, "hidden": parameters - 2, "all": parameters}[self.layers]


@dataclass(frozen=True)
class Sketching(Checked):
    """The sketches of layers."""

    family: Callable[..., Family]  # of the sketches Sᵀ (s, inputs), called with d and b
    share: Probability  # s/inputs


@dataclass(frozen=True)
class ClientTraining(Checked):
    """A training by gradient descent."""

    rounds: Natural  # of one step each
    images: Count  # of all clients together in a round
    rate: Positive  # the learning rate


@dataclass(frozen=True)
class DoubleBlindClient(Checked):
    """The attack of zhang2021's attacker, who controls one of m clients, on the first round of double-blind learning.

    All clients have one image and one step. From the exact parts of two broadcasts the attacker computes the mean
    gradient of the other m - 1 clients by the open parameters, and finds the most likely images behind it. It knows the
    labels, the function W S Sᵀ of the layers, and the training images.

    Rows by variant (`case`) and `clients`:

    - `lead`: mean PSNR of the first client's image minus that of its class's mean image, in dB; bound: 0. `beyond`: the
      same minus `least`; bound: 0. `short`: `least` minus the lead; bound: 0.
    - `hidden` and `visible`: the number of trials with a lead below `least`, or not below; bound: 1/2.
    - `accuracy`: mean accuracy on test images of a network of this variant after `training`, through the sketch if it
      is fixed, for any number of clients.
    - `accuracy_loss`: the accuracy that the variant loses to `plain` in the same trial; bound: `allowed`.
    """

    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attacks: StackedAttacks
    sketching: Sketching  # of layers
    variants: dict[str, Variant]  # by name
    plain: str  # the name of the variant that others are compared with
    clients: NonEmptyList[AtLeastTwo]  # m >= 2, the numbers of clients
    training: ClientTraining  # of the networks whose accuracy is measured
    least: Positive  # the lead from which on an image counts as visible, in dB
    allowed: Probability  # accuracy that a variant may lose
    trials: AtLeastTwo

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("plain", self.plain, self.variants)

    def run(self) -> list[Row]:
        return [*self._attack_rows(), *self._accuracy_rows()]

    @functools.cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @functools.cached_property
    def _seed(self) -> int:
        """The root of victims, networks and sketches that were not seen while the attack was developed."""
        return seeds.key(self.seed, task="client of double-blind learning", trials="judged anew")

    @functools.cached_property
    def _scene(self) -> Scene:
        return draw_scene(self._data, self.model, self._seed, max(self.clients), self.trials)

    def _networks(self, networks: DenseNetworks, variant: Variant, number: int) -> DenseNetworks:
        """The networks as clients compute with them in a round."""
        shapes = networks.layout.shapes
        key = seeds.key(self._seed, sketch="layers", round=number if variant.sketch == "fresh" else -1)
        projections: list[Array | None] = [None] * len(shapes)
        for place in range(0, variant.sketched(len(shapes)), 2):
            inputs = shapes[place][1]
            family = self.sketching.family(d=inputs, b=max(1, round(self.sketching.share * inputs)))
            drawn = family.draw(seeds.key(key, layer=place), operators=self.trials, kernels=self.kernels.NAME)
            matrix = drawn.materialize("float32")
            projections[place] = matrix.swapaxes(1, 2) @ matrix
        return networks.with_projections(projections, self.kernels)

    def _kept(self, variant: Variant) -> Tensor:
        """Mask of the entries of the update that a variant has, (d,): all but missing biases."""
        shapes = self._scene.networks.layout.shapes
        return torch.cat([torch.full((math.prod(shape),), variant.biases or len(shape) > 1) for shape in shapes])

    def _visible(self, variant: Variant) -> Tensor:
        """Mask of the entries of the mean update that a client sees, (d,)."""
        shapes = self._scene.networks.layout.shapes
        sketched = variant.sketched(len(shapes))
        seen = [len(shape) == 1 or place >= sketched or variant.sketch == "fixed" for place, shape in enumerate(shapes)]
        every = zip(shapes, seen, strict=True)
        return torch.cat([torch.full((math.prod(shape),), one) for shape, one in every]) & self._kept(variant)

    def _attack_rows(self) -> Iterator[Row]:
        scene = self._scene
        guesses = scene.psnrs(pixels(scene.classes.means[scene.labels[:, 0]]), slice(None))
        for name, variant in self.variants.items():
            networks = scene.networks if variant.biases else scene.networks.without_biases()
            networks, visible = self._networks(networks, variant, 0), self._visible(variant)
            for clients in self.clients:
                leads = scene.psnrs(self._find(networks, visible, clients - 1), slice(None)) - guesses
                found = int((leads >= self.least).sum())
                log.info("%s, %d clients: lead %.1f dB, %d visible", name, clients, leads.mean(), found)
                columns: dict[str, Value] = {"case": name, "clients": clients, "observed": int(visible.sum())}
                yield Row("lead", bound=0.0, **columns).mean(leads)
                yield Row("beyond", bound=0.0, **columns).mean(leads - self.least)
                yield Row("short", bound=0.0, **columns).mean(self.least - leads)
                yield Row("hidden", bound=MEDIAN, **columns).counted(self.trials - found, self.trials)
                yield Row("visible", bound=MEDIAN, **columns).counted(found, self.trials)

    def _find(self, networks: DenseNetworks, visible: Tensor, others: int) -> NDArray[np.float64]:
        """Find the first client's images, (T, pixels), from the mean update of `others` clients, itself included."""
        scene = self._scene
        if not visible.any():  # only a guess is left
            return pixels(scene.classes.means[scene.labels[:, 0]])
        images, labels = scene.images[:, :others], scene.labels[:, :others]
        update = networks.gradients(images[:, None], labels[:, None])[:, 0]
        at = At(self.kernels, self._seed, 0, self.trials)
        sight = Sight(
            seen=update[:, visible],
            predicted=lambda x: x[:, visible],
            measurements=torch.full((self.trials,), int(visible.sum())),
            decoded=lambda: torch.where(visible, update, 0),
            at=at,
            clients=slice(0, others),
            nbytes=networks.layout.nbytes,
        )
        plain = Plain(networks.layout, byte_limit(networks.layout, 1))
        target = Target([sight], [networks], labels, scene.prior, scene.classes, at.seed, plain, scene.public)
        return pixels(self.attacks.find_most_likely(target, scene.classes.of(labels))[:, 0])

    def _accuracy_rows(self) -> Iterator[Row]:
        accuracies = {name: self._train(variant) for name, variant in self.variants.items()}
        for name, each in accuracies.items():
            yield Row("accuracy", case=name).mean(each)
            yield Row("accuracy_loss", case=name, bound=float(self.allowed)).mean(accuracies[self.plain] - each)

    def _train(self, variant: Variant) -> NDArray[np.float64]:
        """The accuracies (T,) of networks trained by a variant, with the same batches for all."""
        data, networks, kept = self._data, self._scene.networks, self._kept(variant)
        networks = networks if variant.biases else networks.without_biases()
        random = seeds.generator(self._seed, data="training")
        features, labels = torch.tensor(data.features(data.train), dtype=torch.float32), torch.tensor(data.train.labels)
        computing = self._networks(networks, variant, 0)
        for number in range(self.training.rounds):
            if number and variant.sketch == "fresh" and variant.layers != "none":
                computing = self._networks(computing, variant, number)
            chosen = random.integers(len(labels), size=(self.trials, 1, self.training.images))
            slopes = computing.gradients(features[chosen], labels[chosen])[:, 0]
            computing = computing.stepped(self.training.rate * kept * slopes)
        if variant.sketch == "fresh":  # the owner of W needs no sketch
            computing = computing.with_projections([None] * len(computing.layout.shapes), self.kernels)
        test = torch.tensor(data.features(data.test), dtype=torch.float32)
        return np.asarray(computing.accuracies(test, torch.tensor(data.test.labels)).numpy())
