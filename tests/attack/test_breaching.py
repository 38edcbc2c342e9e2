"""Our attacks beside those of the package `breaching`, on the same victims and messages: ours are at least as strong.

breaching 0.1.2 is no dependency. It imports torchvision for data and networks of its own, which nothing here needs, and
which as PyPI has it does not load beside a torch for processors alone; so a stand-in takes its place:

    pip install --no-deps breaching==0.1.2 && pytest -s tests/attack/test_breaching.py
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sketchbench import kernels
from sketchbench.attack.attempt import draw_victim
from sketchbench.attack.compressed_message import VICTIM, WatchedRounds
from sketchbench.attack.double_blind import undefended
from sketchbench.attack.inversion import LBFGS
from sketchbench.attack.message_scene import draw_scene, pixels
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.attack.victim import gradient
from sketchbench.base import seeds
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.desketched import Desketched
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import initialise, mlp, sigmoid_cnn
from sketchbench.measure.image import psnr
from sketchbench.measure.interval import mean_interval
from sketchbench.sketch import Identity, SubsampledHadamard

if importlib.util.find_spec("breaching") is None:
    pytest.skip("breaching is no dependency; the head of the file has the command", allow_module_level=True)


class StandIn(ModuleType):
    """A module in which lower-case names are modules, and all others empty classes."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{self.__name__}.{name}"
        return importlib.import_module(inner) if name[0].isalpha() and name.islower() else type(name, (), {})


class StandIns(MetaPathFinder, Loader):
    """Finds torchvision, of any submodules."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        own = name.partition(".")[0] == "torchvision"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if own else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.append(StandIns())
breaching = importlib.import_module("breaching")

KERNELS, SEED, VICTIMS, CHOOSING = kernels.load("numba"), 3, 4, 4
# Iterations of its attacks after Geiping et al. 2020 (cosine similarity, total variation, signs of gradients, Adam) and
# Zhu et al. 2019 (L-BFGS), in the place of the 24,000 and 1,200 that it takes for large images.
THEIRS = {"invertinggradients": 400, "deepleakage": 20}
ERROR = 0.01  # of an interval, for each of its attacks and kinds of victims
EXACT = 40  # dB, from which on an image is as good as exact
PSNRs = NDArray[np.float64]


class Case(NamedTuple):
    """Victims of one kind: network, received update (d,), label and image of each, and the PSNRs of our attack."""

    networks: list[nn.Module]
    updates: list[Tensor]
    labels: list[int]
    images: PSNRs
    ours: PSNRs


class Metadata:
    """What breaching reads of images, as attributes and as entries."""

    shape, mean, std, modality = (3, 8, 8), (0.0,) * 3, (1.0,) * 3, "vision"

    def __getitem__(self, name: str) -> object:
        return getattr(self, name)


class Grey(nn.Module):
    """A network of grey images, for attacks that know images of three channels only: it sees their mean."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.network(images.mean(dim=1, keepdim=True))
        return scores


def their_image(name: str, network: nn.Module, update: Tensor, label: int) -> Tensor:
    """The image (height, width) that an attack of breaching finds, from one start, in an update (d,)."""
    torch.manual_seed(SEED)
    grey = Grey(network).float()
    weights = list(grey.parameters())
    parts = [
        part.view_as(w) for part, w in zip(update.float().split([w.numel() for w in weights]), weights, strict=True)
    ]
    config = breaching.get_attack_config(name, ["attack_type=optimization", f"optim.max_iterations={THEIRS[name]}"])
    setup = {"device": torch.device("cpu"), "dtype": torch.float}
    attacker = breaching.attacks.prepare_attack(grey, nn.CrossEntropyLoss(), config, setup)
    payload = {"parameters": weights, "buffers": [], "metadata": Metadata()}
    told = {"num_data_points": 1, "labels": torch.tensor([label]), "local_hyperparams": None}
    found, _ = attacker.reconstruct([payload], [{"gradients": parts, "buffers": None, "metadata": told}], {})
    image: Tensor = found["data"].detach()[0].mean(dim=0)
    return image


def convolutional() -> Case:
    """The network of Zhu et al. 2019 in small, and its gradient; ours is L-BFGS from one start, the label found."""
    model = functools.partial(sigmoid_cnn, filters=(8, 8, 8), kernel=3, strides=(1, 2, 1), width=0.5)
    victims = [draw_victim(digits.load(), model, KERNELS, SEED, trial=trial) for trial in range(VICTIMS)]
    attack = LBFGS(evaluations=300, starts=1, goal=1e-10, label="soft", history=100)
    networks = [victim.network(None) for victim in victims]
    images = np.stack([victim.samples.images[0].numpy().ravel() for victim in victims])
    labels = [int(victim.samples.labels[0]) for victim in victims]
    updates = [
        gradient(network, victim.samples.images[:1], victim.samples.labels[:1]).detach()
        for network, victim in zip(networks, victims, strict=True)
    ]
    found = [attack.run(undefended(victim, Identity(1, 1), KERNELS, SEED), SEED).image for victim in victims]
    return Case(networks, updates, labels, images, psnrs(np.stack([one.numpy().ravel() for one in found]), images))


def perceptron(make: Callable[[Layout, int], Compressor], compression: float) -> Case:
    """Messages of a perceptron's gradients; ours is the best of `StackedAttacks` on further victims."""
    data, model = digits.load(), functools.partial(mlp, hidden=[50])
    scene = draw_scene(data, model, SEED, 2, CHOOSING + VICTIMS)
    layout = scene.networks.layout
    compressor, at = make(layout, byte_limit(layout, compression)), At(KERNELS, SEED, 0, CHOOSING + VICTIMS)
    updates = KERNELS.asarray(scene.updates(scene.networks))
    sights = WatchedRounds(compressor, at, lambda _: updates).sights("server", 1)
    labels = scene.labels[:, [VICTIM]]
    target = Target(sights, [scene.networks], labels, scene.prior, scene.classes, SEED, compressor, scene.public)
    attacks = StackedAttacks(steps=100, starts=1, stages=5, rounds=4, pixel_rate=0.03, prior_rate=0.2)
    found = {kind: pixels(one[:, 0]) for kind, one in attacks.run(target).items()}
    images = pixels(scene.images[:, VICTIM])
    scores = {kind: psnrs(one, images) for kind, one in found.items()}
    best = max(scores, key=lambda kind: float(scores[kind][:CHOOSING].mean()))
    judged = range(CHOOSING, CHOOSING + VICTIMS)
    seed = [seeds.key(SEED, network="leakage", trial=trial) for trial in judged]
    networks: list[nn.Module] = [initialise(lambda: model(shape=data.shape, classes=data.classes), key) for key in seed]
    decoded = sights[0].decoded()
    return Case(
        networks,
        [decoded[trial] for trial in judged],
        labels[CHOOSING:, 0].tolist(),
        images[CHOOSING:],
        scores[best][CHOOSING:],
    )


def srht(layout: Layout, limit: int) -> Compressor:
    return Desketched(layout, limit, SubsampledHadamard)


CASES = {
    "convolutions": convolutional,
    "perceptron": lambda: perceptron(Plain, 1),
    "perceptron, SRHT 1/4": lambda: perceptron(srht, 4),
}


def psnrs(found: PSNRs, images: PSNRs) -> PSNRs:
    """At most EXACT, so that no single image decides."""
    return np.array([min(psnr(one, image), EXACT) for one, image in zip(found, images, strict=True)])


@pytest.mark.parametrize("name", CASES)
def test_ours_is_at_least_as_strong(name: str) -> None:
    """By the mean of the paired differences of PSNRs, whose interval is printed."""
    start = time.process_time()
    case = CASES[name]()
    print(f"{name}: ours {case.ours.mean():.1f} dB, {time.process_time() - start:.1f} s")
    for attack in THEIRS:
        start = time.process_time()
        victims = zip(case.networks, case.updates, case.labels, strict=True)
        found = np.stack([their_image(attack, *victim).clamp(0, 1).numpy().ravel() for victim in victims])
        theirs = psnrs(found, case.images)
        lead = case.ours - theirs
        low, high = mean_interval(lead.mean(), lead.std(ddof=1), 0.0, VICTIMS, error=ERROR)
        spent = time.process_time() - start
        print(
            f"{attack}: {theirs.mean():.1f} dB, {spent:.1f} s; ours more by {lead.mean():.1f} ({low:.1f} to {high:.1f})"
        )
        assert high >= 0
