"""Inversion by damped Gauss-Newton steps."""

import functools
import math

import pytest
import torch
from torch import Tensor

from sketchbench import kernels
from sketchbench.attack.compressed_message import WatchedRounds
from sketchbench.attack.gauss_newton import GaussNewton, _apart, _Jacobian, match_messages
from sketchbench.attack.message_scene import draw_scene
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.compressor.compressor import At
from sketchbench.compressor.desketched import Desketched
from sketchbench.compressor.message import byte_limit
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp
from sketchbench.sketch.transform import SubsampledHadamard

TRIALS, ROUNDS = 6, 300
ATTACK = GaussNewton(steps=15, inner=32, starts=2, size=0.1)
ADAM = StackedAttacks(steps=60, starts=1, stages=5, rounds=4, pixel_rate=0.03, prior_rate=0.2)


@pytest.fixture(scope="module")
def trained() -> tuple[Target, Tensor]:
    """Messages of single images by SRHT in a sixteenth of the bytes, after 300 rounds of training; and the images."""
    data = digits.load()
    scene = draw_scene(data, functools.partial(mlp, hidden=[50]), 21, 2, TRIALS)
    networks, random = scene.networks, torch.Generator().manual_seed(22)
    features = torch.tensor(data.features(data.train), dtype=torch.float32)
    for _ in range(ROUNDS):
        chosen = torch.randint(len(features), (1, TRIALS, 50), generator=random)
        networks = networks.trained(features[chosen], torch.tensor(data.train.labels)[chosen], 0.2)
    numba = kernels.load("numba")
    compressor = Desketched(networks.layout, byte_limit(networks.layout, 16), SubsampledHadamard)
    updates = numba.asarray(scene.updates(networks))
    sights = WatchedRounds(compressor, At(numba, 23, 0, TRIALS), lambda at: updates).sights("server", 1)
    labels = scene.labels[:, :1]
    target = Target(sights, [networks], labels, scene.prior, scene.classes, 24, compressor, scene.public)
    return target, scene.images[:, :1]


def errors(found: Tensor, images: Tensor) -> Tensor:
    return (found - images).square().mean(dim=2)[:, 0]


def test_images_behind_sketches_of_trained_networks(trained: tuple[Target, Tensor]) -> None:
    """Most are exact where Adam's are far off: its steps end at messages that are unlike the victim's."""
    target, images = trained
    newton, adam = match_messages(target, ATTACK), ADAM.run(target)["gradient matching"]
    assert (errors(newton, images) < 1e-6).sum() >= 4
    assert (errors(adam, images) < 1e-6).sum() <= 1
    assert target.misfit(newton).median() < 1e-6 < target.misfit(adam).median()


def test_a_search_that_stands_still_finds_nothing(trained: tuple[Target, Tensor]) -> None:
    """The mutant: one step of one conjugate gradient is no more than a step of gradient descent."""
    target, images = trained
    still = GaussNewton(steps=1, inner=1, starts=2, size=0.1)
    assert (errors(match_messages(target, still), images) > 1e-3).all()


def test_a_linear_problem_takes_one_damped_solution_after_another() -> None:
    """It ends at the solution of least squares, for each of two trials by itself."""
    random = torch.Generator().manual_seed(1)
    A = torch.randn(2, 12, 5, generator=random).double()
    truth = torch.randn(2, 1, 5, generator=random).double()

    def residuals(z: Tensor) -> Tensor:
        return (A @ (z - truth)[:, 0, :, None])[..., 0]

    fit = GaussNewton(steps=12, inner=5, starts=1, size=1.0).search(residuals, torch.zeros(2, 1, 5).double())
    torch.testing.assert_close(fit.z, truth)
    assert (fit.misfit < 1e-9).all()


def test_products_with_the_jacobian() -> None:
    z = torch.randn(3, 1, 4, generator=torch.Generator().manual_seed(2)).double().requires_grad_()
    weights = torch.randn(4, 6, generator=torch.Generator().manual_seed(3)).double()

    def residuals(z: Tensor) -> Tensor:
        return torch.sin(z[:, 0] @ weights)

    jacobian, direction = _Jacobian(residuals(z), z), torch.ones_like(z)
    slopes = torch.cos(z.detach()[:, 0] @ weights)  # of each residual
    torch.testing.assert_close(jacobian.times(direction), slopes * (direction[:, 0] @ weights))
    torch.testing.assert_close(jacobian.transposed(slopes), ((slopes * slopes) @ weights.T)[:, None])


def test_directions_and_norms_apart() -> None:
    seen = torch.tensor([[3.0, 4.0]]).double()
    torch.testing.assert_close(_apart(seen, 2 * seen, 0.5), torch.tensor([[0, 0, 0.5 * math.log(2)]]).double())
    assert _apart(seen, torch.zeros(1, 2).double(), 0.5).isfinite().all()
