"""Gradient matching: derivatives against differences, and the constants of its losses."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from sketchbench.attack.dense_networks import DenseNetworks, DrawnBatch, LocalSteps
from sketchbench.attack.gradient_matching import (
    GradientMatching,
    non_critical_excess,
    semi_smoothness_excess,
    variation_of,
)
from sketchbench.attack.matching_problem import bilinear, perceptron, residual
from sketchbench.kernels import load
from sketchbench.learning.model.networks import initialise, mlp
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity
from sketchbench.theory import leakage

TRIALS, D = 6, 8
GAUSSIAN = Gaussian(D, 4)


def attack(case: str, family: Family = GAUSSIAN) -> GradientMatching:
    random = torch.Generator().manual_seed(1)
    if case == "bilinear":
        problem = bilinear(random, TRIALS, D, lipschitz=3.0)
    elif case == "residual":
        problem = residual(random, TRIALS, D, variation=0.1)
    else:
        problem = perceptron(random, TRIALS, D, samples=8)
    return GradientMatching(problem, family.draw(4, operators=TRIALS, kernels=load("numba")))


@pytest.mark.parametrize("case", ["bilinear", "residual", "perceptron"])
def test_slopes_and_pseudo_hessians_by_differences(case: str) -> None:
    matching = attack(case)
    x = matching.problem.start
    point = matching.evaluate(x)
    direction = torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ahead, behind = x + 1e-5 * direction, x - 1e-5 * direction
    slope = (matching.loss(ahead)[0] - matching.loss(behind)[0]) / 2e-5
    torch.testing.assert_close(slope, (point.slope * direction).sum(dim=1), rtol=1e-6, atol=1e-9)
    moved = (matching.gradient(ahead) - matching.gradient(behind)) / 2e-5
    expected = (point.pseudo_hessian @ direction[:, :, None])[:, :, 0]
    torch.testing.assert_close(moved, expected, rtol=1e-6, atol=1e-9)


def test_the_bilinear_loss_is_what_it_says() -> None:
    """F = wᵀ A x: the gradient A x, with the singular values of A from β/2 to β."""
    matching = attack("bilinear")
    problem = matching.problem
    gradient = matching.gradient(problem.private)
    torch.testing.assert_close(gradient, (problem.data @ problem.private[:, :, None])[:, :, 0])
    constants = matching.constants([matching.evaluate(problem.start)])
    np.testing.assert_allclose(constants.theta_1, 1.5)
    np.testing.assert_allclose(constants.theta_2, 3.0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_residual_layer_keeps_its_constants_at_all_inputs(scale: float) -> None:
    """Units that are saturated, and units that are not: Φ is between 0.9 and 1.1, and both ends are reached nearly."""
    matching = attack("residual", Identity(D, D))
    points = [matching.evaluate(scale * x) for x in (matching.problem.start, matching.problem.private)]
    values = np.stack([np.linalg.svd(point.pseudo_hessian, compute_uv=False) for point in points])
    assert 0.9 <= values.min() <= values.max() <= 1.1 + 1e-12
    assert variation_of(*points).max() <= 0.1
    constants = matching.constants(points)
    assert set(constants.theta_1) == {0.9}
    assert set(constants.theta_2) == set(constants.lipschitz) == {1.1}


def test_the_step_of_the_repaired_theorem_by_hand() -> None:
    """Without a sketch, ω = 0.1: a = 0.2, b = 1.21, and 1.8² - 0.2 * 2.2 = 2.8."""
    matching = attack("residual", Identity(D, D))
    descent = matching.descent(matching.constants([]))
    step = 2.8 / (2 * 1.21 * 2.2**2)
    np.testing.assert_allclose(descent.step, step)
    np.testing.assert_allclose(descent.rate, step * 2.8 / 2)


def test_the_perceptron_has_no_more_weights_than_inputs() -> None:
    problem = attack("perceptron").problem
    assert problem.w.shape == (TRIALS, D)
    assert problem.private.shape == (TRIALS, 24)


def test_a_descent_recovers_the_private_input_where_nothing_is_hidden() -> None:
    matching = attack("bilinear", Identity(D, D))
    descent = matching.descent(matching.constants([matching.evaluate(matching.problem.start)]))
    assert (descent.rate > 0).all()
    *_, (last, loss) = matching.descend(descent.step, 300)
    assert float(loss.max()) < 1e-12
    np.testing.assert_allclose(matching.recovered_share(last), 1, atol=1e-9)
    np.testing.assert_allclose(matching.recovered_share(matching.problem.start), 0, atol=1e-12)


def test_steps_where_the_theorem_says_nothing() -> None:
    """Operators with an empty bucket, and losses whose β is not known."""
    for matching in (attack("bilinear", CountSketch(D, 4)), attack("perceptron")):
        descent = matching.descent(matching.constants([matching.evaluate(matching.problem.start)]))
        applies = matching.full_rank & (matching.problem.lipschitz is not None)
        np.testing.assert_array_equal(descent.rate > 0, applies)
        np.testing.assert_array_equal(descent.step[~applies], descent.safe[~applies])


def test_excesses_of_the_derived_constants() -> None:
    matching = attack("bilinear")
    x, y = (matching.evaluate(point) for point in (matching.problem.start, matching.problem.private + 1.0))
    constants = matching.constants([x, y])
    low, high = leakage.non_critical(constants)
    assert (non_critical_excess(x, low, high) <= 1).all()
    assert (non_critical_excess(x, low, high / 5) > 1).any()
    a, b = leakage.semi_smoothness(constants)
    assert (semi_smoothness_excess(x, y, a, b) <= 1).all()
    assert (semi_smoothness_excess(x, y, 0 * a, b / 1000) > 1).any()


# Networks side by side that take steps, against torch's own


RATE, STEPS = 0.3, 3


def networks() -> list[nn.Module]:
    return [initialise(lambda: mlp(shape=(1, 2, 3), classes=4, hidden=[5]), seed) for seed in range(2)]


def descended(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    network = copy.deepcopy(network)
    descent = torch.optim.SGD(network.parameters(), RATE)
    for _ in range(STEPS):
        descent.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        descent.step()
    return network


def flat(network: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def test_steps_are_those_of_descent() -> None:
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(2, 3, 2, 6, generator=generator), torch.randint(4, (2, 3, 2), generator=generator)
    local = LocalSteps(DenseNetworks(networks()), STEPS, RATE).gradients(images, labels)
    for trial, network in enumerate(networks()):
        for client in range(3):
            own, truth = images[trial, client].view(-1, 1, 2, 3), labels[trial, client]
            after = descended(network, own, truth)
            expected = (flat(network) - flat(after)) / (RATE * STEPS)
            torch.testing.assert_close(local[trial, client], expected, rtol=1e-4, atol=1e-6)
    batches = [x[:, 0].expand(STEPS, *x[:, 0].shape) for x in (images, labels)]
    trained = DenseNetworks(networks()).trained(batches[0], batches[1], RATE)
    shown, truth = torch.rand(50, 6, generator=generator), torch.randint(4, (50,), generator=generator)
    for trial, network in enumerate(networks()):
        after = descended(network, images[trial, 0].view(-1, 1, 2, 3), labels[trial, 0])
        share = (after(shown.view(-1, 1, 2, 3)).argmax(dim=1) == truth).double().mean()
        assert float(trained.accuracies(shown, truth)[trial]) == pytest.approx(float(share))


def test_an_update_of_a_drawn_batch() -> None:
    """It is that of the images in these places, in each trial others, after local steps, too."""
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(2, 3, 4, 6, generator=generator), torch.randint(4, (2, 3, 4), generator=generator)
    places = torch.tensor([[0, 3], [2, 1]])
    for whole in (DenseNetworks(networks()), LocalSteps(DenseNetworks(networks()), STEPS, RATE)):
        drawn = DrawnBatch(whole, places)
        own = [torch.stack([x[t][:, places[t]] for t in range(2)]) for x in (images, labels)]
        torch.testing.assert_close(drawn.gradients(images, labels), whole.gradients(*own))
        (slope,) = torch.autograd.grad(drawn.gradients(images.requires_grad_(), labels).square().sum(), images)
        seen = slope.abs().sum(dim=(1, 3)) > 0
        assert seen.tolist() == [[True, False, False, True], [False, True, True, False]]
        images = images.detach()
        everything = DrawnBatch(whole, torch.arange(4).expand(2, -1))
        torch.testing.assert_close(
            everything.gradients(images, labels), whole.gradients(images, labels), rtol=0, atol=0
        )
    with pytest.raises(ValueError, match="places"):
        DrawnBatch(DenseNetworks(networks()), places[:1])


def test_steps_without_biases() -> None:
    bare = DenseNetworks(networks()).without_biases()
    zeros = torch.zeros(2, 1, 1, 6)
    assert not bare.gradients(zeros, torch.zeros(2, 1, 1, dtype=torch.long))[:, :, :30].any()
    assert bare.accuracies(zeros[0, 0], torch.zeros(1, dtype=torch.long)).tolist() == [1, 1]  # all scores are equal
