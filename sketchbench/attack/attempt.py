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
    """The result of one attack."""

    image: NDArray[np.float64] | None  # recovered, (channels, height, width), in [0, 1]; None if not kept
    evaluations: int  # of the loss's gradient, over all starts
    starts: int
    seconds: float  # run time on this machine
    likeness: Likeness  # of the recovered image to the victim's
    loss: float  # ‖predicted - observed‖² over ‖observed‖²


@checked
def attempt(attack: Inversion, view: View, victim: Victim, seed: int, *, still: bool = False) -> Attempt:
    """Attack a view, and compare the result with the victim's image, which the attack does not see. The same seed gives
    the same starts for every view. If `still`, return the first start: a negative control."""
    start = time.perf_counter()
    estimate = (attack.stand_still if still else attack.run)(view, seed)
    seconds = time.perf_counter() - start
    image = pixels(estimate.image)
    close = likeness(image, pixels(victim.samples.images[0]))
    return Attempt(image, estimate.evaluations, estimate.starts, seconds, close, estimate.loss)


@checked
def draw_victim(data: Dataset, model: MakeModel, kernels: Kernels, seed: int, *, trial: Natural) -> Victim:
    """Draw a trial's victim: two random test images of a data set, and a network with random weights.

    Arguments:
        model: makes the network from a shape, a number of classes and a family.
        kernels: the images are on its device.
        seed: root of all randomness.
    """
    if len(data.test.labels) < 2:
        raise ValueError(f"{data.label} has fewer than 2 test images: one for the victim, one for the other client")
    random = seeds.generator(seed, data="victims", trial=trial)
    chosen = random.choice(len(data.test.labels), 2, replace=False)
    device = device_of(kernels)
    images = torch.tensor(data.test.images[chosen] / data.white, device=device)
    labels = torch.tensor(data.test.labels[chosen], device=device)
    weights = seeds.key(seed, weights="network", trial=trial)

    def network(family: Family | None) -> torch.nn.Module:
        make = functools.partial(model, data.shape, data.classes, family)
        return initialise(make, weights, data.shape).to(device, torch.float64)

    return Victim(network, Samples(images, labels), data.classes)


def pixels(image: torch.Tensor) -> NDArray[np.float64]:
    """Copy an image to a NumPy array."""
    return np.asarray(image.cpu().numpy())
