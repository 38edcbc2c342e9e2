"""Attacks recover what they should, and count what they do; and the victim's loss is an objective like any other."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from victims import ATTACKS, CLASSES, KERNELS, SHAPE, VIEWS, D, attack, network, seen, victim

from sketchbench.attack.inversion import LBFGS, GradientDescent
from sketchbench.attack.sketched_gradient import private
from sketchbench.attack.victim import clip_norm, gradient, jacobian
from sketchbench.attack.view import View
from sketchbench.measure.image import likeness
from sketchbench.sketch import CountSketch, Identity

KNOWING = ["undefended", "iterative_sketching", "compressed_sensing"]


def psnr(found: Tensor, number: int = 0) -> float:
    return likeness(found.numpy(), victim(number).samples.images[0].numpy()).psnr


@pytest.mark.parametrize("view", KNOWING)
def test_the_image_and_its_label_come_back(view: str) -> None:
    for number in range(3):
        found = attack("lbfgs").run(seen(view, victim(number)), 5)
        assert psnr(found.image, number) > 30
        assert found.label == int(victim(number).samples.labels[0])
        assert found.loss < 1e-6


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_recovers_what_is_not_defended(name: str) -> None:
    algorithm = dataclasses.replace(attack(name), label="read")
    if name == "map_adam":  # which is slower than L-BFGS on a smooth network
        algorithm = dataclasses.replace(algorithm, evaluations=4000)
    found = algorithm.run(seen("undefended", victim()), 5)
    assert psnr(found.image) > 30


@pytest.mark.parametrize("view", sorted(set(VIEWS) & {"undefended", "server", "client"}))
def test_the_label_is_read_where_the_output_layer_is_seen(view: str) -> None:
    once = dataclasses.replace(attack("lbfgs"), label="read", evaluations=1)
    for number in range(8):
        found = once.run(seen(view, victim(number)), 5)
        assert found.label == int(victim(number).samples.labels[0])


def test_the_label_of_a_private_gradient_is_read_without_a_sketch_only() -> None:
    of = victim()
    for family, is_seen in ((Identity(D, D), True), (CountSketch(D, 100), False)):
        view = private(of, family, KERNELS, 1, clip=1.0, epsilon=None)
        assert (view.output is not None) == is_seen
        if view.output is not None:
            assert int(view.output.argmin()) == int(of.samples.labels[0])


def toy(observed: float = 1.0, noise: float = 0.0) -> View:
    """One number is seen, the mean of an image of one pixel, squared, from which any start recovers ±1."""

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return image.square().flatten() + 0 * label.sum()

    seen = torch.tensor([observed], dtype=torch.float64)
    return View(seen, predicted, (1, 1, 1), 2, 8, noise=noise)


UNREACHABLE = toy(observed=-1.0)  # a square is never negative: the best loss is 1, at 0


@pytest.mark.parametrize("name", ATTACKS)
def test_starts_are_counted_and_the_best_is_kept(name: str) -> None:
    one = dataclasses.replace(attack(name), evaluations=4, goal=0.0)
    alone = [dataclasses.replace(one, starts=starts).run(UNREACHABLE, 3) for starts in (1, 2, 3)]
    assert [found.starts for found in alone] == [1, 2, 3]
    assert alone[0].evaluations < alone[1].evaluations < alone[2].evaluations
    assert alone[0].loss >= alone[1].loss >= alone[2].loss >= 1
    assert not torch.equal(alone[0].image, alone[2].image) or alone[0].loss == alone[2].loss


@pytest.mark.parametrize("name", ATTACKS)
def test_a_goal_ends_the_attack(name: str) -> None:
    loose = dataclasses.replace(attack(name), goal=0.5, starts=3)
    found = loose.run(toy(), 3)
    assert found.loss <= 0.5
    assert found.starts == 1
    assert found.evaluations < loose.evaluations / 2


def test_noise_excuses_what_it_explains() -> None:
    """A loss of 1 is what noise of half the observed energy explains, and no other start would help."""
    two = LBFGS(evaluations=4, starts=2, goal=0.0, label="soft", history=5)
    assert two.run(UNREACHABLE, 3).starts == 2
    assert two.run(dataclasses.replace(UNREACHABLE, noise=0.6), 3).starts == 1


def test_gradient_descent_never_gets_worse() -> None:
    losses = [
        GradientDescent(evaluations=count, starts=1, goal=0.0, label="soft", rate=100.0)
        .run(seen("undefended", victim()), 3)
        .loss
        for count in (1, 3, 10, 30)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_views_of_one_trial_have_the_same_starts() -> None:
    """They follow from the seed, and not from what is seen."""
    algorithm = attack("lbfgs")
    images = [algorithm._start(seen(view, victim()), 9, 0).image for view in VIEWS]
    assert all(torch.equal(image, images[0]) for image in images)
    other = algorithm._start(seen("undefended", victim()), 9, 1).image
    assert not torch.equal(images[0], other)


# The victim's loss


def test_the_gradient_of_the_loss() -> None:
    """Against finite differences in a random direction, at two weight vectors at once."""
    loss = victim().loss(KERNELS)
    assert loss.d == D
    random = np.random.default_rng(1)
    w = loss.start + 0.1 * random.standard_normal((2, 1, D))
    direction = random.standard_normal(D)
    step = 1e-5
    up, down = (loss.loss(w[:, 0] + sign * step * direction) for sign in (1, -1))
    slopes = loss.gradients(w)
    assert slopes.shape == (2, 1, D)
    np.testing.assert_allclose(slopes[:, 0] @ direction, (up - down) / (2 * step), rtol=1e-6)


def test_clipping() -> None:
    loss = victim().loss(KERNELS)
    w = loss.start[None, None]
    free = loss.batch_gradients(w, np.ones((1, 1, 1)))[0, 0]
    short = loss.batch_gradients(w, np.ones((1, 1, 1)), bound=0.5)[0, 0]
    np.testing.assert_allclose(short, 0.5 * free / np.linalg.norm(free), rtol=1e-12)
    vector = torch.tensor([3.0, 4.0])
    assert torch.equal(clip_norm(vector, 10.0), vector)
    assert torch.equal(clip_norm(vector, float("inf")), vector)
    torch.testing.assert_close(clip_norm(vector, 1.0), vector / 5)


def test_the_jacobian() -> None:
    """Its product with a direction, against finite differences of the gradient."""
    model = network(None)
    image, label = (part[:1] for part in victim().samples)
    J = jacobian(model, image, label)
    assert J.shape == (D, 64)
    direction = torch.from_numpy(np.random.default_rng(2).standard_normal((1, *SHAPE)))
    step = 1e-5
    up, down = (gradient(model, image + sign * step * direction, label) for sign in (1, -1))
    torch.testing.assert_close(J @ direction.flatten(), (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


def test_labels_and_probabilities_mean_the_same() -> None:
    model = network(None)
    image, label = (part[:1] for part in victim().samples)
    shares = nn.functional.one_hot(label, CLASSES).double()
    torch.testing.assert_close(gradient(model, image, label), gradient(model, image, shares))
