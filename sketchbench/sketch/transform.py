"""Subsampled randomised transforms: Walsh-Hadamard (SRHT) and cosine (SRCT)."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.draws import BUCKETS, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled, SampledHadamard, ShuffledSamples


@dataclass(frozen=True)
class SubsampledTransform(Family):
    """R = √(n/b) S H D P: zero padding P to length n, random signs D, an orthonormal transform H, b uniform rows S.
    Base class of SRHT and SRCT; E[RᵀR] = I; b <= n, or any b with `replacement`.

    Arguments:
        replacement: whether rows are sampled independently, with repeats; song2023 Definition D.3 has none.
        signs: False for D = I, the sensing matrix of tang2021 Proposition 1, for sparse vectors. E[RᵀR] = I holds, but
            the variance for a given vector may be much larger.
    """

    replacement: bool = False
    signs: bool = True

    @property
    def n(self) -> int:
        """The length of the transform, >= d."""
        return self.d

    def check(self) -> None:
        require(
            self.replacement or self.b <= self.n,
            f"b={self.b} rows without replacement need b <= {self.n}, the length of the "
            f"transform for d={self.d}; set replacement=true or lower b",
        )

    @abstractmethod
    def _transforms(self, kernels: Kernels) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """H and Hᵀ, as functions of arrays that transform the last axis."""

    def _draw(self, draws: Draws) -> Sampled:
        signs = draws.signs(SIGNS, self.d) if self.signs else None
        scale = (self.n / self.b) ** 0.5
        transforms = self._transforms(draws.kernels)
        return self._made(draws, draws.kernels, self.d, self.n, self._rows(draws), scale, signs, *transforms)

    def _rows(self, draws: Draws) -> Array:
        """The rows S of each operator, ascending if there are no repetitions: (T, b)."""
        return draws.integers(ROWS, self.b, self.n) if self.replacement else draws.subset(ROWS, self.b, self.n)

    def _made(self, draws: Draws, *arguments: Any) -> Sampled:
        return Sampled(*arguments)


@dataclass(frozen=True)
class SubsampledHadamard(SubsampledTransform):
    """SRHT: √(n/b) S H D P with the Walsh-Hadamard matrix H of the next power of two n >= d (song2023 Definition D.3).

    P pads vectors with zeros to length n, D has random signs, S samples b rows uniformly. E[RᵀR] = I. The estimate
    gᵀRᵀRh of gᵀh has the variance ρ (‖g‖²‖h‖² + (gᵀh)² - 2Σ g_i²h_i²)/b (`theory.second_moment.sampled_hadamard`), and
    E‖RᵀRh - h‖² = ρ (d - 1)/b ‖h‖², with ρ = (n - b)/(n - 1), or 1 with replacement. Sketching or desketching a vector
    costs O(n log n). With `pad=False` a d that is not a power of two raises SizeError; other arguments as in
    `SubsampledTransform`.
    """

    pad: bool = True

    @property
    def n(self) -> int:
        return 1 << (self.d - 1).bit_length()

    def check(self) -> None:
        require(
            self.pad or self.n == self.d,
            f"d={self.d} must be a power of two without padding; set pad=true to work at {self.n}",
        )
        super().check()

    def _transforms(self, kernels: Kernels) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return kernels.walsh_hadamard, kernels.walsh_hadamard

    def _made(self, draws: Draws, *arguments: Any) -> Sampled:
        return SampledHadamard(*arguments)


@dataclass(frozen=True)
class ShuffledHadamard(SubsampledHadamard):
    """`SubsampledHadamard` with its rows in a random order, hidden from anyone without the key."""

    def _made(self, draws: Draws, *arguments: Any) -> Sampled:
        return ShuffledSamples(*arguments, order=draws.permutation(BUCKETS, self.b))  # a separate stream


@dataclass(frozen=True)
class SubsampledCosine(SubsampledTransform):
    """SRCT: √(n/b) S H D P with the orthonormal cosine transform (DCT-II) H of length n = d; ours.

    D has random signs, S samples b rows uniformly. E[RᵀR] = I; the variance of gᵀRᵀRh is close to SRHT's, since entries
    of H differ in size (`theory.second_moment.sampled_cosine`), and E‖RᵀRh - h‖² = (d/b - 1)‖h‖², or (d - 1)/b ‖h‖²
    with replacement. Sketching or desketching a vector costs O(n log n). `pad` pads vectors with zeros to the next n
    whose only prime factors are 2, 3 and 5, for a fast transform; other arguments as in `SubsampledTransform`.
    """

    pad: bool = False

    @property
    def n(self) -> int:
        if not self.pad:
            return self.d

        from scipy.fft import next_fast_len  # an import of 0.15 s, for this option only

        return int(next_fast_len(self.d, real=True))

    def _transforms(self, kernels: Kernels) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return kernels.cosine, kernels.cosine_transpose
