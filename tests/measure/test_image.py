"""Measures of images, against their formulas."""

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio

from sketchbench.measure.image import likeness, psnr

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 12)])
def test_against_the_formulas(shape: tuple[int, ...]) -> None:
    a, b = RANDOM.random((2, *shape))
    found = likeness(a, b)
    assert found.mse == pytest.approx(((a - b) ** 2).mean())
    assert found.psnr == pytest.approx(-10 * np.log10(found.mse))
    assert psnr(a.ravel(), b.ravel()) == found.psnr
    assert found.psnr == pytest.approx(peak_signal_noise_ratio(b, a, data_range=1.0))
    assert abs(found.ssim) < 0.5


def test_equal_images() -> None:
    a = RANDOM.random((1, 8, 8))
    assert likeness(a, a) == (0.0, 150.0, 1.0)


def test_structural_similarity_of_a_constant_shift() -> None:
    """Of constant images only the luminance counts: (2ab + c) / (a² + b² + c), c = 0.01²."""
    a, b = np.full((1, 8, 8), 0.2), np.full((1, 8, 8), 0.6)
    c = 0.01**2
    expected = (2 * 0.2 * 0.6 + c) / (0.2**2 + 0.6**2 + c)
    assert likeness(a, b).ssim == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("image", "truth", "message"),
    [
        (np.zeros((1, 8, 8)), np.zeros((8, 8)), "must both be"),
        (np.zeros((8, 8)), np.zeros((8, 8)), "must both be"),
        (np.full((1, 8, 8), 1.5), np.zeros((1, 8, 8)), "from 1.5 to 1.5 must be in"),
        (np.zeros((1, 8, 8)), np.full((1, 8, 8), np.nan), "must be in"),
    ],
)
def test_bad_images(image: np.ndarray, truth: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        likeness(image, truth)
