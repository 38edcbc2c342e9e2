"""Matrices by columns, as far as the benchmarks compare with them."""

import cupy
from scipy import sparse

_KINDS = "?fdFD"


class csc_matrix:  # noqa: N801
    def __init__(self, *args, maxprint=50, **kwargs):
        cupy._only(**kwargs)
        (data, indices, indptr), shape = args
        for part in (data, indices, indptr):
            if not isinstance(part, cupy.ndarray) or part.ndim != 1:
                raise ValueError("data, indices, and indptr must be 1-D cupy arrays")
        if data.dtype.char not in _KINDS:
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        self._a = sparse.csc_matrix(tuple(map(cupy._lowered, (data, indices, indptr))), shape)

    @property
    def T(self):  # noqa: N802
        made = object.__new__(csc_matrix)
        made._a = self._a.T
        return made

    def __matmul__(self, other):
        if not isinstance(other, cupy.ndarray):
            raise TypeError(f"Unsupported type {type(other)}")
        return cupy._raised(self._a @ cupy._lowered(other))
