"""Honest: few nonzeros per column, and samples of coordinates."""

from dataclasses import dataclass

import numpy as np
from building import Array, Hashed, dense
from specimen import SIGNED, honest

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.theory.known import Known


def _hashed_gaussian(g: Array, h: Array, *, b: int) -> Array:
    inner, fourth = (g * h).sum(axis=-1) ** 2, (g**2 * h**2).sum(axis=-1)
    off = (g**2).sum(axis=-1) * (h**2).sum(axis=-1) + inner - 2 * fourth
    return inner + off / b + 2 * fourth


def _hashed_gaussian_norm(h: Array, *, b: int) -> Array:
    return (h**2).sum(axis=-1) * (3 + (h.shape[-1] - 1) / b)


@honest(Known(None, _hashed_gaussian, _hashed_gaussian_norm))
class HashedGaussian(Hashed):
    """A CountSketch with normal numbers in the place of signs."""

    def _draw(self, draws: Draws) -> Sketch:
        matrix = np.zeros((draws.operators, self.b, self.d))
        t = np.arange(draws.operators)[:, None]
        matrix[t, self.buckets(draws), np.arange(self.d)] = draws.gaussian_rows(ENTRIES, 0, 1, self.d)[:, 0]
        return dense(draws, matrix)


def _sampled(g: Array, h: Array, *, b: int) -> Array:
    inner, fourth = (g * h).sum(axis=-1) ** 2, (g**2 * h**2).sum(axis=-1)
    return inner + (g.shape[-1] * fourth - inner) / b


def _sampled_norm(h: Array, *, b: int) -> Array:
    return (h**2).sum(axis=-1) * (1 + (h.shape[-1] - 1) / b)


@honest(Known(None, _sampled, _sampled_norm))
class SamplingWithReplacement(Family):
    """b independent coordinates, times √(d/b)."""

    def _draw(self, draws: Draws) -> Sampled:
        rows = draws.integers(ROWS, self.b, self.d)
        return Sampled(draws.kernels, self.d, self.d, rows, (self.d / self.b) ** 0.5)


@honest(Known())
class SystematicSampling(Family):
    """Every (d/b)-th coordinate from a random start: only d/b different operators."""

    def check(self) -> None:
        require(self.d % self.b == 0, f"b={self.b} must divide d={self.d}")

    def _draw(self, draws: Draws) -> Sampled:
        step = self.d // self.b
        rows = draws.integers(ROWS, 1, step) + np.arange(0, self.d, step, dtype=np.int32)
        return Sampled(draws.kernels, self.d, self.d, rows, (self.d / self.b) ** 0.5)


@dataclass(frozen=True)
class _Sparse(Family):
    """S nonzeros per column, their rows with replacement, so that they add up."""

    S = 1

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.S, self.d)
        rows = draws.integers(BUCKETS, self.S * self.d, self.b).reshape(shape)
        signs = draws.signs(SIGNS, self.S * self.d).reshape(shape)
        return Scattered(draws.kernels, self.b, rows, signs, self.S**-0.5)


@honest(SIGNED)
class Sparse1(_Sparse):
    """A CountSketch."""


@honest(Known())
class Sparse3(_Sparse):
    S = 3


@honest(Known())
class Sparse8(_Sparse):
    S = 8
