"""One attempt at an inversion: the victim, and the likeness of the recovered image to the victim's."""

import functools
import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.attack.inversion import Inversion
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import View
from sketchbench.base import seeds
from sketchbench.base.parameters import Natural, checked
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.measure.image import Likeness, likeness
from sketchbench.sketch.family import Family


class Attempt(NamedTuple):
    """The result of one attack.

    Attributes:
        image: the recovered image (channels, height, width), in [0, 1]; None if it is not kept.
        evaluations: the number of evaluations of the loss's gradient, over all starts.
        starts: the number of starts.
        seconds: run time on this machine.
        likeness: of the recovered image to the victim's.
        loss: ‖predicted - observed‖² over ‖observed‖².
    """

    image: NDArray[np.float64] | None
    evaluations: int
    starts: int
    seconds: float
    likeness: Likeness
    loss: float


@checked
def attempt(attack: Inversion, view: View, victim: Victim, seed: int, *, still: bool = False) -> Attempt:
    """Attack a view, and compare the result with the victim's image, which the attack does not see.

    Arguments:
        attack: the attack.
        view: of the attacker.
        victim: whose image the result is compared with.
        seed: of the starts; the same seed gives the same starts for every view.
        still: take the first start itself as the result, as a negative control.
    """
    start = time.perf_counter()
    estimate = (attack.stand_still if still else attack.run)(view, seed)
    seconds = time.perf_counter() - start
    image = pixels(estimate.image)
    close = likeness(image, pixels(victim.samples.images[0]))
    return Attempt(image, estimate.evaluations, estimate.starts, seconds, close, estimate.loss)


@checked
def draw_victim(data: Dataset, model: MakeModel, kernels: Kernels, seed: int, *, trial: Natural) -> Victim:
    """The victim of a trial: two random test images of a data set, and a network with freshly drawn weights.

    Arguments:
        data: the data set.
        model: makes the network from a shape, a number of classes and a family.
        kernels: the backend, on whose device the images are.
        seed: root of all randomness.
        trial: the number of the trial.
    """
    if len(data.test.labels) < 2:
        raise ValueError(f"{data.label} has fewer than 2 test images, those of the victim and of the other client")
    random = seeds.generator(seed, data="victims", trial=trial)
    chosen = random.choice(len(data.test.labels), 2, replace=False)
    device = device_of(kernels)
    images = torch.tensor(data.test.images[chosen] / data.white, device=device)
    labels = torch.tensor(data.test.labels[chosen], device=device)
    weights = seeds.key(seed, weights="network", trial=trial)

    def network(family: Family | None) -> torch.nn.Module:
        make = functools.partial(model, data.shape, data.classes, family)
        return initialise(make, weights).to(device, torch.float64)

    return Victim(network, Samples(images, labels), data.classes)


def pixels(image: torch.Tensor) -> NDArray[np.float64]:
    """An image as a NumPy array of the same shape."""
    return np.asarray(image.cpu().numpy())
