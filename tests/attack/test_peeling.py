"""Peeling: all images of a batch from its exact gradient."""

import functools

import pytest
import torch
from torch import Tensor

from sketchbench import kernels
from sketchbench.attack.message_scene import Scene, draw_scene
from sketchbench.attack.peeling import Peeled, _Batch, peel, unit_of
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp

TRIALS, IMAGES = 3, 8
SCENE: Scene = draw_scene(digits.load(), functools.partial(mlp, hidden=[30]), 11, IMAGES, TRIALS)
UPDATE = SCENE.networks.gradients(SCENE.images[:, None], SCENE.labels[:, None])[:, 0]
UNIT = 1 / 16
KERNELS = kernels.load("numpy")


def attacked(update: Tensor = UPDATE, scene: Scene = SCENE, unit: float = UNIT) -> Peeled | None:
    return peel(update, scene.networks, scene.labels, unit, 5, programmes=100)


def test_all_images_of_a_batch_are_found() -> None:
    """Exactly, each at a place of its label; images of one class may be exchanged."""
    peeled = attacked()
    assert peeled is not None
    assert peeled.found.all()
    for found, truth, labels in zip(peeled.images, SCENE.images, SCENE.labels, strict=True):
        for label in labels.unique():
            own = labels == label
            assert sorted(found[own].tolist()) == sorted(truth[own].tolist())


def test_an_inexact_gradient_has_no_span() -> None:
    """As after rounding to float16, or with an image more than there are labels."""
    assert attacked(UPDATE.half().float()) is None
    assert peel(UPDATE, SCENE.networks, SCENE.labels[:, 1:], UNIT, 5, programmes=1) is None
    assert attacked(torch.zeros_like(UPDATE)) is None
    projected = SCENE.networks.with_projections(
        [torch.eye(64).expand(TRIALS, -1, -1).numpy(), None, None, None], KERNELS
    )
    assert peel(UPDATE, projected, SCENE.labels, UNIT, 5, programmes=1) is None


def test_more_images_than_hidden_units_can_not_be_told_apart() -> None:
    few = draw_scene(digits.load(), functools.partial(mlp, hidden=[6]), 11, IMAGES, TRIALS)
    update = few.networks.gradients(few.images[:, None], few.labels[:, None])[:, 0]
    assert attacked(update, few) is None


@pytest.mark.parametrize("unit", [1 / 15, 1 / 17])
def test_a_wrong_unit_finds_nothing(unit: float) -> None:
    """The unit proves an image: by another unit no ray looks like one, as by chance none does."""
    peeled = attacked(unit=unit)
    assert peeled is not None
    assert not peeled.found.any()


def test_an_image_that_is_not_there_is_not_taken_off() -> None:
    """The rank tells: a mutant that subtracts whatever has the unit would find images of other batches."""
    steep = UPDATE[0, : 30 * 64].view(30, 64).double().numpy()
    batch = _Batch(steep, SCENE.networks.of(0), SCENE.labels[0], UNIT)
    assert not batch._subtract(SCENE.images[1, 0].double().numpy())
    assert batch._subtract(SCENE.images[0, 0].double().numpy())
    assert list(batch.images) == [0]


def test_the_unit_of_pixels() -> None:
    assert unit_of(SCENE.public.images) == UNIT
    assert unit_of(torch.rand(3, 50)) is None
    assert unit_of(torch.zeros(3, 50)) is None
