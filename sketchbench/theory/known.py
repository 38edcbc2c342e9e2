"""What is known of one sketch family: the formulas its measurements are held against."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sketchbench.theory.leakage import MakeSpectrum

Moment = Callable[..., Any]  # as in theory.second_moment and theory.norm
Threshold = Callable[..., float]  # as in theory.tail and theory.inner_product
ALWAYS = "always"  # the reading among `inner_products` whose threshold no draw exceeds


@dataclass(frozen=True)
class Known:
    """The `theory` section of a sketch's config; what is left out is not claimed of it.

    embedding_constant: a of song2023 Definition 4.1.
    second_moment, norm: exact moments.
    tails: thresholds that are exceeded with probability at most 2δ, by lemma.
    always: thresholds that no draw exceeds, by lemma.
    inner_products: thresholds for the largest inner product of two columns, by reading; `always`
    holds in every draw.
    spectrum: singular values, exact or bounded.
    """

    embedding_constant: float | None = None
    second_moment: Moment | None = None
    norm: Moment | None = None
    tails: Mapping[str, Threshold] = field(default_factory=dict)
    always: Mapping[str, Threshold] = field(default_factory=dict)
    inner_products: Mapping[str, Threshold] = field(default_factory=dict)
    spectrum: MakeSpectrum | None = None

    def claimed_alpha(self, d: int, b: int) -> float:
        """α = a d/b (song2023 Theorem 4.2): E‖RᵀRh‖² <= (1 + α)‖h‖². Raises ValueError without an a."""
        if self.embedding_constant is None:
            raise ValueError("the sketch's config needs an embedding_constant under `theory`")
        return self.embedding_constant * d / b

    def exact_alpha(self, d: int, b: int) -> float:
        """The smallest α that holds for every basis vector h, from the exact E‖RᵀRh‖².

        Where signs make entries of RᵀR uncorrelated, as in every family here, E‖RᵀRh‖² is a mean of those of
        basis vectors, so α serves every h.
        O(d²). Raises ValueError without an exact moment.
        """
        if self.norm is None:
            raise ValueError("the sketch's config needs a norm under `theory`")
        return max(float(np.max(self.norm(np.eye(d), b=b))) - 1, 0.0)
