"""Singular values and ranks of drawn sketches."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.sketch.operator import Sketch


def singular_values(sketch: Sketch) -> NDArray[np.float64]:
    """The singular values of Rᵀ in ascending order: (min(b, d),), or (T, min(b, d)) for a stack. The first is γ₁, the
    last γ₂ = ‖R‖ of song2023 Theorem 7.8. It costs O(b d min(b, d)) and the memory of its matrix for each operator."""
    R = sketch.kernels.to_numpy(sketch.materialize())
    return np.asarray(np.linalg.svd(R, compute_uv=False)[..., ::-1])


def gamma_1(sketch: Sketch) -> NDArray[np.float64]:
    """γ₁, the smallest singular value of Rᵀ: (), or (T,) for a stack. 0 means that R has rank < min(b, d)."""
    return np.asarray(singular_values(sketch)[..., 0])


def rank(values: NDArray[np.float64], sketch: Sketch) -> NDArray[np.int64]:
    """The numerical rank of a sketch, () or (T,), from its `singular_values`, with NumPy's threshold."""
    noise = values[..., -1:] * max(sketch.b, sketch.d) * np.finfo(np.float64).eps
    return np.asarray((values > noise).sum(axis=-1))
