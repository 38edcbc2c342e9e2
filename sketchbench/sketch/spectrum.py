"""The singular values of drawn sketches."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.sketch.operator import Sketch


def singular_values(sketch: Sketch) -> NDArray[np.float64]:
    """Those of Rᵀ, in ascending order: (min(b, d),), or (T, min(b, d)) of a stack.

    The first are γ₁, the last γ₂ = ‖R‖ of song2023 Theorem 7.8. O(b d min(b, d)) for each operator, and the memory of
    its matrix.
    """
    R = sketch.kernels.to_numpy(sketch.materialize())
    return np.asarray(np.linalg.svd(R, compute_uv=False)[..., ::-1])


def gamma_1(sketch: Sketch) -> NDArray[np.float64]:
    """γ₁, the smallest singular value of Rᵀ, () or (T,): 0 where some sketched gradients can't be told from none."""
    return np.asarray(singular_values(sketch)[..., 0])


def rank(values: NDArray[np.float64], sketch: Sketch) -> NDArray[np.int64]:
    """The numerical rank from the singular values of a sketch, by NumPy's rule."""
    noise = values[..., -1:] * max(sketch.b, sketch.d) * np.finfo(np.float64).eps
    return np.asarray((values > noise).sum(axis=-1))
