"""Subsampled randomised orthogonal transforms: Walsh-Hadamard (SRHT) and cosine (SRCT)."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled, SampledHadamard


@dataclass(frozen=True)
class SubsampledTransform(Family):
    """sqrt(n/b) S H D P: padding P to n, random signs D, a transform H, b uniform rows S.

    replacement: draw the rows independently, instead of without replacement as in song2023
    Definition D.3. signs: False leaves D out, which makes it the sensing matrix of tang2021
    Proposition 1, for sparse vectors; E[RᵀR] = I all the same.
    """

    operator: ClassVar[type[Sampled]] = Sampled

    replacement: bool = False
    signs: bool = True

    @property
    def n(self) -> int:
        """The length of the transform, at least d."""
        return self.d

    def check(self) -> None:
        require(
            self.replacement or self.b <= self.n,
            f"b={self.b} rows without replacement need b <= {self.n}, the length of the "
            f"transform for d={self.d}; set replacement=true or lower b",
        )

    @abstractmethod
    def _transforms(self, kernels: Kernels) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """The orthonormal transform H of the last axis, and its transpose."""

    def _draw(self, draws: Draws) -> Sampled:
        rows = draws.integers(ROWS, self.b, self.n) if self.replacement else draws.subset(ROWS, self.b, self.n)
        signs = draws.signs(SIGNS, self.d) if self.signs else None
        scale = (self.n / self.b) ** 0.5
        transforms = self._transforms(draws.kernels)
        return self.operator(draws.kernels, self.d, self.n, rows, scale, signs, *transforms)


@dataclass(frozen=True)
class SubsampledHadamard(SubsampledTransform):
    """SRHT with the Walsh-Hadamard matrix of the next power of two, zero padded.

    pad: False refuses a d that is no power of two.
    """

    operator: ClassVar[type[Sampled]] = SampledHadamard

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


@dataclass(frozen=True)
class SubsampledCosine(SubsampledTransform):
    """The same with the orthonormal DCT-II.

    pad: True pads to the next length with prime factors 2, 3 and 5 only, whose transform is fast.
    """

    pad: bool = False

    @property
    def n(self) -> int:
        if not self.pad:
            return self.d

        from scipy.fft import next_fast_len  # 0.15 s that hardly any family needs

        return int(next_fast_len(self.d, real=True))

    def _transforms(self, kernels: Kernels) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return kernels.cosine, kernels.cosine_transpose
