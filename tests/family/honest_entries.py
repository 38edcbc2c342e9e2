"""Honest: independent entries, of many distributions; their exact moments need the kurtosis only."""

from functools import partial

import numpy as np
from building import Array, Signed
from specimen import honest

from sketchbench.sketch.draws import ENTRIES, ROWS, Draws
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
