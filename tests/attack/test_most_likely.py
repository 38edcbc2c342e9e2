"""The attack with a prior: what it does where nothing is seen, where all is, and in between by closed form."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from torch import Tensor
from victims import attack

from sketchbench.attack.most_likely import MostLikely, MostLikelyByAdam
from sketchbench.attack.prior import FLOOR, learn_prior, uniform_prior
from sketchbench.attack.view import View

SHAPE = (1, 2, 3)
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.random((50, *SHAPE)) @ RANDOM.random((3, 3)) / 3
PRIOR = learn_prior(IMAGES, torch.zeros(1, dtype=torch.float64))
MATRIX = torch.from_numpy(RANDOM.standard_normal((4, 6)))
LIKELY = MostLikely(evaluations=200, starts=1, goal=0.0, label="read", history=20, stages=6, variation=0.0)
BY_ADAM = MostLikelyByAdam(evaluations=1000, starts=1, goal=0.0, label="read", rate=0.1, stages=6, variation=0.0)


def linear(observed: Tensor, noise: float, matrix: Tensor = MATRIX) -> View:
    """Four linear measurements of an image of six pixels."""

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return matrix @ image.flatten() + 0 * label.sum()

    return View(observed, predicted, SHAPE, 2, 8, output=torch.tensor([0.0, 1.0]), noise=noise, prior=PRIOR)


def test_the_prior_has_the_moments_of_the_images() -> None:
    flattened = IMAGES.reshape(50, 6)
    np.testing.assert_allclose(PRIOR.mean.flatten(), flattened.mean(axis=0))
    np.testing.assert_allclose(PRIOR.root @ PRIOR.root, np.cov(flattened.T), atol=FLOOR**2)
    z = torch.from_numpy(RANDOM.standard_normal((5, 6)))
    torch.testing.assert_close(PRIOR.images(z).flatten(1), PRIOR.mean.flatten() + z @ PRIOR.root)
    assert float(uniform_prior(SHAPE, z).root.square().sum()) == pytest.approx(6 / 12)


@pytest.mark.parametrize("noise", [1.0, 0.1])
@pytest.mark.parametrize(("likely", "error"), [(LIKELY, 1e-6), (BY_ADAM, 1e-4)])
def test_a_linear_view_by_closed_form(likely: MostLikely | MostLikelyByAdam, error: float, noise: float) -> None:
    """Linear regression with a normal prior: x = μ + C Aᵀ (A C Aᵀ + v I)⁻¹ (y - A μ)."""
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
    """The first is the mean image, the next is not; who stands still has it."""
    view = linear(MATRIX @ torch.ones(6).double(), 0.0)
    assert torch.equal(LIKELY.stand_still(view, 3).image, PRIOR.mean)
    assert not torch.allclose(LIKELY._start(view, 3, 1).image[0], PRIOR.mean)
    assert attack("map").uses_prior
    assert not attack("lbfgs").uses_prior
