"""Distances of two images, by scikit-image."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.numbers import check_real

EXACT = 1e-15  # the smallest mean squared error in a PSNR, so that none is infinite


class Likeness(NamedTuple):
    """The similarity of two images.

    Attributes:
        mse: mean squared error, for pixels in [0, 1].
        psnr: peak signal-to-noise ratio in dB, at most 150.
        ssim: structural similarity (Wang et al. 2004), 1 for equal images, around 0 for unrelated ones.
    """

    mse: float
    psnr: float
    ssim: float


def likeness(image: NDArray[np.float64], truth: NDArray[np.float64]) -> Likeness:
    """Measure the similarity of an image to the true one.

    Arguments:
        image: (channels, height, width) in [0, 1], at least 7 pixels high and wide.
        truth: true image, of the same shape.

    Raises:
        ValueError: for other shapes or values.
    """
    from skimage.metrics import mean_squared_error, structural_similarity  # 0.3 s to import

    if image.shape != truth.shape or image.ndim != 3:
        raise ValueError(f"images of shapes {image.shape} and {truth.shape} must both be (channels, height, width)")
    for values in (image, truth):
        check_real("image", values)
        if not (values.min() >= 0 and values.max() <= 1):
            raise ValueError(f"an image from {values.min()} to {values.max()} must be in [0, 1]; clip it")
    mse = float(mean_squared_error(truth, image))
    ssim = structural_similarity(truth, image, data_range=1.0, channel_axis=0)  # type: ignore[no-untyped-call]
    return Likeness(mse, float(-10 * np.log10(max(mse, EXACT))), float(ssim))
