"""Subsampled randomised orthogonal transforms: Walsh-Hadamard (SRHT) and cosine (SRCT)."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled


@dataclass(frozen=True)
class SubsampledTransform(Family):
    """sqrt(n/b) S H P D: random signs D, padding P to n, a transform H, b uniform rows S.

    replacement: draw the rows independently, instead of without replacement as in song2023
    Definition D.3.
    """

    replacement: bool = False

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
    def _transforms(
        self, kernels: Kernels
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """The orthonormal transform H of the last axis, and its transpose."""

    def _draw(self, draws: Draws) -> Sampled:
        if self.replacement:
            rows = draws.integers(ROWS, self.b, self.n)
        else:
            rows = draws.subset(ROWS, self.b, self.n)
        signs = draws.signs(SIGNS, self.d)
        scale = (self.n / self.b) ** 0.5
        return Sampled(draws.kernels, self.n, signs, rows, scale, *self._transforms(draws.kernels))


@dataclass(frozen=True)
class SubsampledHadamard(SubsampledTransform):
    """SRHT with the Walsh-Hadamard matrix of the next power of two, zero padded."""

    @property
    def n(self) -> int:
        return 1 << (self.d - 1).bit_length()

    def _transforms(
        self, kernels: Kernels
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return kernels.walsh_hadamard, kernels.walsh_hadamard


@dataclass(frozen=True)
class SubsampledCosine(SubsampledTransform):
    """The same with the orthonormal DCT-II of length d; no padding."""

    def _transforms(
        self, kernels: Kernels
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return kernels.cosine, kernels.cosine_transpose
