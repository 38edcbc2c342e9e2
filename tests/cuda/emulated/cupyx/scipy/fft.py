"""Cosine transforms. The result of `dct` is strided, as that of CuPy 14: the real parts of complex numbers."""

import cupy
import numpy as np
from scipy import fft


def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):
    cupy._only(overwrite_x=overwrite_x or None)
    result = fft.dct(cupy._lowered(x), type=type, n=n, axis=axis, norm=norm)
    return cupy.ndarray._of(np.asarray(result + 0j).real)


def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):
    cupy._only(overwrite_x=overwrite_x or None)
    return cupy.ndarray._of(np.asarray(fft.idct(cupy._lowered(x), type=type, n=n, axis=axis, norm=norm)))
