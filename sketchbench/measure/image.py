"""Distances between two images, by scikit-image."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.numbers import check_real

EXACT = 1e-15  # the smallest mean squared error in a PSNR, so that none is infinite


class Likeness(NamedTuple):
    """The similarity of two images: `mse`, mean squared error for pixels in [0, 1]; `psnr`, peak signal-to-noise ratio
    in dB, at most 150; `ssim`, structural similarity (Wang et al. 2004), 1 for equal, around 0 for unrelated images."""

    mse: float
    psnr: float
    ssim: float


def likeness(image: NDArray[np.float64], truth: NDArray[np.float64]) -> Likeness:
    """Measure the similarity of an image (channels, height, width) in [0, 1], at least 7 pixels high and wide, to the
    true image. Raises ValueError for other shapes or values."""
    from skimage.metrics import structural_similarity  # 0.3 s to import

    if image.shape != truth.shape or image.ndim != 3:
        raise ValueError(f"images of shapes {image.shape} and {truth.shape} must both be (channels, height, width)")
    for values in (image, truth):
        check_real("image", values)
        if not (values.min() >= 0 and values.max() <= 1):
            raise ValueError(f"an image from {values.min()} to {values.max()} must be in [0, 1]; clip it")
    mse = _mean_squared_error(image, truth)
    ssim = structural_similarity(truth, image, data_range=1.0, channel_axis=0)  # type: ignore[no-untyped-call]
    return Likeness(mse, _decibels(mse), float(ssim))


def psnr(image: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """The PSNR of `likeness` alone, a hundred times as fast, of arrays of any shape, unchecked."""
    return _decibels(_mean_squared_error(image, truth))


def _mean_squared_error(image: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    return float(np.mean((truth - image) ** 2, dtype=np.float64))


def _decibels(mse: float) -> float:
    return float(-10 * np.log10(max(mse, EXACT)))
