"""A small victim, and every view and attack config, composed as the project composes them."""

import functools
from typing import Any

import numpy as np
import torch
from hydra.utils import instantiate
from torch import nn

from sketchbench import kernels
from sketchbench.attack.inversion import Inversion
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import View
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import initialise, sigmoid_cnn
from sketchbench.run.config import composition
from sketchbench.sketch import CountSketch, Family, SubsampledHadamard

KERNELS = kernels.load("numba")
SHAPE, CLASSES = (1, 8, 8), 5
D = 513  # parameters of the network below
ATTACKS = sorted(path.stem for path in (composition.CONF / "attack").glob("*.yaml"))
VIEWS = sorted(path.stem for path in (composition.CONF / "view").glob("*.yaml"))
ESTIMATES = {"server_paper", "client_option_1", "client_option_2"}  # and not what the victim computed
NOISY = {"private"}


def network(family: Family | None, seed: int = 0) -> nn.Module:
    def made() -> nn.Module:
        return sigmoid_cnn(SHAPE, CLASSES, family, filters=(4, 4), kernel=3, strides=(2, 1), width=0.5)

    return initialise(made, seed).double()


def victim(number: int = 0, weights: int = 0) -> Victim:
    random = np.random.default_rng(number)
    images = torch.from_numpy(random.random((2, *SHAPE)))
    labels = torch.from_numpy(random.integers(0, CLASSES, 2))
    return Victim(functools.partial(network, seed=weights), Samples(images, labels), CLASSES)


@functools.cache
def configured(attack: str, view: str) -> tuple[Inversion, Any]:
    config = composition.compose(["task=inversion", f"attack@task.attack={attack}", f"view@task.control={view}"])
    task = composition.frozen(config).config["task"]
    return instantiate(task["attack"], _convert_="all"), instantiate(task["control"], _convert_="all")


def attack(name: str) -> Inversion:
    return configured(name, "undefended")[0]


def seen(name: str, of: Victim, seed: int = 1, **given: Any) -> View:
    """A view config's view of a victim, with a family that it can have."""
    make = configured("lbfgs", name)[1]
    family: Family = CountSketch(2, 1)
    if make.func.__module__.endswith("sketched_gradient"):
        family = SubsampledHadamard(D, 200)
    return make(of, family, KERNELS, seed, **given)
