"""Honest: independent entries, of many distributions; their exact moments need the kurtosis only."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from building import Array, Hashed, Signed, dense
from specimen import SIGNED, honest

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.theory.known import Known


def moment(g: Array, h: Array, *, b: int, kurtosis: float) -> Array:
    """E[(gᵀRᵀRh)²] for independent entries of variance 1/b and this kurtosis, any shape (..., d)."""
    inner = (g * h).sum(axis=-1) ** 2
    fourth = (g**2 * h**2).sum(axis=-1)
    return inner + ((g**2).sum(axis=-1) * (h**2).sum(axis=-1) + inner + (kurtosis - 3) * fourth) / b


def norm(h: Array, *, b: int, kurtosis: float) -> Array:
    """E‖RᵀRh‖² for the same."""
    return (h**2).sum(axis=-1) * (1 + (h.shape[-1] + kurtosis - 2) / b)


def independent(kurtosis: float) -> Known:
    """What is known of independent entries with this kurtosis."""
    constant = max(2.0, kurtosis - 1)
    return Known(constant, partial(moment, kurtosis=kurtosis), partial(norm, kurtosis=kurtosis))


class _Entries(Signed):
    """Entries of variance 1, over √b."""

    def entries(self, draws: Draws) -> Array:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return self.entries(draws) * self.b**-0.5

    def uniforms(self, draws: Draws) -> Array:
        """Uniform numbers between 0 and 1, (T, b, d)."""
        words = draws.words(ENTRIES, self.b * self.d).reshape(-1, self.b, self.d)
        return (words + 0.5) / 2.0**32


class _Achlioptas(_Entries):
    """√s times a sign with probability 1/s, else 0."""

    S = 3

    def entries(self, draws: Draws) -> Array:
        u = self.uniforms(draws) * 2 * self.S
        return np.where(u < 1, self.S**0.5, np.where(u < 2, -(self.S**0.5), 0.0))


@honest(independent(3))
class Achlioptas3(_Achlioptas):
    pass


@honest(independent(10))
class Achlioptas10(_Achlioptas):
    S = 10


@honest(independent(40))
class Achlioptas40(_Achlioptas):
    S = 40


@honest(independent(2))
class HalfSigns(_Entries):
    """The example of docs/howto/family.md."""

    def entries(self, draws: Draws) -> Array:
        signs = draws.sign_rows(ENTRIES, 0, self.b, self.d)
        return signs * (draws.sign_rows(ROWS, 0, self.b, self.d) > 0) * 2**0.5


@honest(independent(1))
class Signs(_Entries):
    def entries(self, draws: Draws) -> Array:
        return draws.sign_rows(ENTRIES, 0, self.b, self.d).astype(float)


@honest(independent(1.8))
class UniformEntries(_Entries):
    def entries(self, draws: Draws) -> Array:
        return (self.uniforms(draws) - 0.5) * 12**0.5


@honest(independent(6))
class Laplace(_Entries):
    def entries(self, draws: Draws) -> Array:
        u = self.uniforms(draws) - 0.5
        return -np.sign(u) * np.log1p(-2 * abs(u)) / 2**0.5


@honest(Known(9))
class Student5(_Entries):
    """Student's t with 5 degrees of freedom: kurtosis 9, no eighth moment."""

    def entries(self, draws: Draws) -> Array:
        normals = draws.gaussian_rows(ENTRIES, 0, 6 * self.b, self.d).reshape(-1, 6, self.b, self.d)
        return normals[:, 0] / np.sqrt((normals[:, 1:] ** 2).mean(axis=1) * 5 / 3)


@honest(independent(np.exp(1.0)))
class SignedLogNormal(_Entries):
    """A sign times exp(z/2), with z normal."""

    def entries(self, draws: Draws) -> Array:
        signs = draws.sign_rows(ROWS, 0, self.b, self.d)
        return signs * np.exp(draws.gaussian_rows(ENTRIES, 0, self.b, self.d) / 2 - 0.25)


@honest(independent(3.25))
class Asymmetric(_Entries):
    """2 with probability 1/5, -1/2 with probability 4/5: mean 0, variance 1, skewness 3/2."""

    def entries(self, draws: Draws) -> Array:
        return np.where(self.uniforms(draws) < 0.2, 2.0, -0.5)


@honest(independent(1.64))
class FourValues(_Entries):
    """±√(1/5) and ±√(9/5), each with probability 1/4: two bits."""

    def entries(self, draws: Draws) -> Array:
        words = draws.words(ENTRIES, self.b * self.d).reshape(-1, self.b, self.d) >> np.uint32(30)
        return (2.0 * words - 3) * 5**-0.5


# Honest: few nonzeros per column, and samples of coordinates


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
