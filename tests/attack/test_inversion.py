"""Attacks recover what they should, and count what they do; and the victim's loss is an objective like any other."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from victims import ATTACKS, CLASSES, KERNELS, SHAPE, VIEWS, D, attack, network, seen, victim
from weekly import weekly

from sketchbench.attack import lbfgs
from sketchbench.attack.adam import AdamOptimiser, CosineAdam
from sketchbench.attack.inversion import LBFGS, GradientDescent
from sketchbench.attack.most_likely import MostLikely, MostLikelyByAdam
from sketchbench.attack.prior import FLOOR, learn_prior, uniform_prior
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


@pytest.mark.parametrize("name", weekly(ATTACKS, lambda one: one == "map_adam"))
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


# The attack with a prior: what it does where nothing is seen, where all is, and in between by closed form


SMALL = (1, 2, 3)
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.random((50, *SMALL)) @ RANDOM.random((3, 3)) / 3
PRIOR = learn_prior(IMAGES, torch.zeros(1, dtype=torch.float64))
MATRIX = torch.from_numpy(RANDOM.standard_normal((4, 6)))
LIKELY = MostLikely(evaluations=200, starts=1, goal=0.0, label="read", history=20, stages=6, variation=0.0)
BY_ADAM = MostLikelyByAdam(evaluations=1000, starts=1, goal=0.0, label="read", rate=0.1, stages=6, variation=0.0)


def linear(observed: Tensor, noise: float, matrix: Tensor = MATRIX) -> View:
    """Four linear measurements of an image of six pixels."""

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return matrix @ image.flatten() + 0 * label.sum()

    return View(observed, predicted, SMALL, 2, 8, output=torch.tensor([0.0, 1.0]), noise=noise, prior=PRIOR)


def test_the_prior_has_the_moments_of_the_images() -> None:
    flattened = IMAGES.reshape(50, 6)
    np.testing.assert_allclose(PRIOR.mean.flatten(), flattened.mean(axis=0))
    np.testing.assert_allclose(PRIOR.root @ PRIOR.root, np.cov(flattened.T), atol=FLOOR**2)
    z = torch.from_numpy(RANDOM.standard_normal((5, 6)))
    torch.testing.assert_close(PRIOR.images(z).flatten(1), PRIOR.mean.flatten() + z @ PRIOR.root)
    assert float(uniform_prior(SMALL, z).root.square().sum()) == pytest.approx(6 / 12)


@pytest.mark.parametrize("noise", [1.0, 0.1])
@pytest.mark.parametrize(("likely", "error"), [(LIKELY, 1e-6), (BY_ADAM, 1e-4)])
def test_a_linear_view_by_closed_form(likely: MostLikely | MostLikelyByAdam, error: float, noise: float) -> None:
    truth = torch.from_numpy(IMAGES[0]).flatten()
    observed = MATRIX @ truth + 0.01
    found = likely.run(linear(observed, noise), 3).image.flatten()
    mean, covariance = PRIOR.mean.flatten(), PRIOR.root @ PRIOR.root
    gain = covariance @ MATRIX.T @ torch.linalg.inv(MATRIX @ covariance @ MATRIX.T + noise / 4 * torch.eye(4))
    expected = mean + gain @ (observed - MATRIX @ mean)
    torch.testing.assert_close(found, expected.clamp(0, 1), rtol=1e-5, atol=error)


def test_who_sees_noise_only_keeps_to_the_mean() -> None:
    observed = 100 * torch.from_numpy(RANDOM.standard_normal(4))
    for likely, variation in itertools.product((LIKELY, BY_ADAM), (0.0, 1.0)):
        found = dataclasses.replace(likely, variation=variation).run(linear(observed, 4e4), 3)
        torch.testing.assert_close(found.image, PRIOR.mean, rtol=0, atol=0.01)


def test_what_is_exact_is_matched_exactly() -> None:
    square = torch.from_numpy(RANDOM.standard_normal((6, 6)))
    truth = torch.from_numpy(IMAGES[1])
    for likely, error in ((LIKELY, 1e-4), (BY_ADAM, 0.02)):
        found = dataclasses.replace(likely, variation=1.0).run(linear(square @ truth.flatten(), 0.0, square), 3)
        assert found.evaluations <= likely.evaluations + 10
        torch.testing.assert_close(found.image, truth, rtol=0, atol=error)


def test_starts() -> None:
    view = linear(MATRIX @ torch.ones(6).double(), 0.0)
    assert torch.equal(LIKELY.stand_still(view, 3).image, PRIOR.mean)
    assert not torch.allclose(LIKELY._start(view, 3, 1).image[0], PRIOR.mean)
    assert attack("map").uses_prior
    assert not attack("lbfgs").uses_prior


# Our Adam against torch's, step by step


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_torch(dtype: torch.dtype, constant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit with torch's roots, of two variables, over all steps, with gradients of many sizes."""
    monkeypatch.setattr("sketchbench.attack.adam.square_root", torch.sqrt)
    random = torch.Generator().manual_seed(1)
    ours = [torch.randn(3, 5, generator=random, dtype=dtype), torch.randn(7, generator=random, dtype=dtype)]
    theirs = [v.clone().requires_grad_() for v in ours]
    adam = AdamOptimiser(ours, 0.3) if constant else CosineAdam(ours, 0.3, 40)
    optimiser = torch.optim.Adam(theirs, lr=0.3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 40)
    for step in range(40):
        slopes = [10.0 ** (step % 9 - 6) * torch.randn(v.shape, generator=random, dtype=dtype) for v in ours]
        for v, slope in zip(theirs, slopes, strict=True):
            v.grad = slope.clone()
        adam.step(slopes)
        optimiser.step()
        if not constant:
            schedule.step()
        assert all(bool((v == other).all()) for v, other in zip(ours, theirs, strict=True)), step


# Our L-BFGS against torch's, bit for bit


class Problem:
    """A function of two variables with curved valleys, as torch's optimisers and ours take it."""

    def __init__(self, seed: int, size: int, roughness: float, ends: int) -> None:
        random = torch.Generator().manual_seed(seed)
        first = torch.randn(2, size, generator=random, dtype=torch.float64)
        second = torch.randn(3, generator=random, dtype=torch.float64)
        self.variables = [first.requires_grad_(), second.requires_grad_()]
        self._matrix = torch.randn(9, 2 * size, generator=random, dtype=torch.float64)
        self._roughness, self._ends, self.seen = roughness, ends, 0

    def differentiate(self) -> Tensor:
        self.seen += 1
        if self.seen == self._ends:
            raise StopIteration
        first, second = self.variables
        value = (self._matrix @ first.flatten()).sigmoid().square().sum() + self._roughness * second.pow(4).sum()
        value = value + (second.square().sum() - first[0, 0]).square()
        for v, slope in zip(self.variables, torch.autograd.grad(value, self.variables), strict=True):
            v.grad = slope
        return value.detach()


@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    roughness=st.sampled_from([0.0, 1.0, 1e6]),
    evaluations=st.integers(1, 90),
    history=st.integers(1, 20),
    ends=st.sampled_from([0, 0, 7, 30]),
)
@examples(40)
def test_steps_are_those_of_torch_of_lbfgs(
    seed: int, size: int, roughness: float, evaluations: int, history: int, ends: int
) -> None:
    """To the last bit, with as many evaluations, and the same place where the function ends the search."""
    ours, theirs = (Problem(seed, size, roughness, ends) for _ in range(2))
    optimiser = torch.optim.LBFGS(
        theirs.variables,
        max_iter=evaluations,
        max_eval=evaluations,
        history_size=history,
        tolerance_grad=1e-14,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )
    ended = []
    for search in (
        lambda: lbfgs.minimise(ours.variables, ours.differentiate, evaluations, history),
        lambda: optimiser.step(theirs.differentiate),  # type: ignore[arg-type]
    ):
        try:
            search()
            ended.append(False)
        except StopIteration:
            ended.append(True)
    assert ended[0] == ended[1]
    assert ours.seen == theirs.seen
    for v, other in zip(ours.variables, theirs.variables, strict=True):
        torch.testing.assert_close(v.detach(), other.detach(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("slope", [0.0, 1e-15])
def test_it_stays_at_a_minimum(slope: float) -> None:
    x = torch.ones(3, dtype=torch.float64).requires_grad_()

    def differentiate() -> Tensor:
        x.grad = torch.full_like(x, slope)
        return torch.tensor(1.0, dtype=torch.float64)

    lbfgs.minimise([x], differentiate, 10, 5)
    assert bool((x == 1).all())
