"""Formulas of a sketch family, compared with its measurements: moments, tails, inner products, spectrum."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sketchbench.base.parameters import Count, checked
from sketchbench.theory.leakage import MakeSpectrum

Moment = Callable[..., Any]  # a function as in theory.second_moment or theory.norm
Threshold = Callable[..., float]  # a function as in theory.tail or theory.inner_product
ALWAYS = "always"  # name in `inner_products` of a threshold that no draw exceeds


@dataclass(frozen=True)
class Known:
    """The formulas of one sketch family: the `theory` section of its config. None and {} claim nothing.

    Arguments:
        embedding_constant: a, of song2023 Definition 4.1.
        second_moment: function of (g, h, b=b) for E[(gᵀRᵀRh)²].
        norm: function of (h, b=b) for E‖RᵀRh‖².
        tails: by lemma, functions of (δ, d=d, b=b); |gᵀRᵀRh - gᵀh| / (‖g‖‖h‖) exceeds them with probability at most 2δ.
        always: by lemma, functions of (δ, d=d, b=b) that it never exceeds.
        inner_products: by reading of a lemma, functions of (δ, d=d, b=b) that bound the largest inner product of two
            columns with probability at least 1 - δ; under the name `always`, in every draw.
        spectrum: function of (d=d, b=b) for the singular values of Rᵀ, exact or bounded.
    """

    embedding_constant: float | None = None
    second_moment: Moment | None = None
    norm: Moment | None = None
    tails: Mapping[str, Threshold] = field(default_factory=dict)
    always: Mapping[str, Threshold] = field(default_factory=dict)
    inner_products: Mapping[str, Threshold] = field(default_factory=dict)
    spectrum: MakeSpectrum | None = None

    @checked
    def claimed_alpha(self, d: Count, b: Count) -> float:
        """α = a d/b, with E‖RᵀRh‖² <= (1 + α)‖h‖² (song2023 Theorem 4.2). ValueError without an embedding constant."""
        if self.embedding_constant is None:
            raise ValueError("the sketch's config needs an embedding_constant under `theory`")
        return self.embedding_constant * d / b

    @checked
    def exact_alpha(self, d: Count, b: Count) -> float:
        """The smallest α with E‖RᵀRh‖² <= (1 + α)‖h‖² for all basis vectors h, from the exact `norm`. O(d²). It holds
        for every h if signs make the entries of RᵀR uncorrelated, as in every family of the project: E‖RᵀRh‖² is then a
        weighted mean over basis vectors. Raises ValueError without a `norm`."""
        if self.norm is None:
            raise ValueError("the sketch's config needs a norm under `theory`")
        return max(float(np.max(self.norm(np.eye(d), b=b))) - 1, 0.0)
