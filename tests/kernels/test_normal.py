"""The normal quantile of the Numba kernels, out to where a 32-bit word can reach."""

import numpy as np
import pytest
from scipy.special import ndtri

from sketchbench.kernels import numba_kernels

TAILS = np.geomspace(2.0**-33, 0.0749, 500)
CENTRES = np.concatenate([np.linspace(-0.425, 0.425, 501), [2.0**-33, -(2.0**-33)]])


def test_outer() -> None:
    values = [numba_kernels._outer(p) for p in TAILS]
    np.testing.assert_allclose(values, -ndtri(TAILS), rtol=1e-14)


def test_central() -> None:
    values = [numba_kernels._central(q) for q in CENTRES]
    np.testing.assert_allclose(values, ndtri(0.5 + CENTRES), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("q", [0.425, -0.425])
def test_pieces_meet(q: float) -> None:
    tail = numba_kernels._outer(0.075) * np.sign(q)
    assert numba_kernels._central(q) == pytest.approx(tail, rel=1e-14)
