"""Figures, drawn from tables: one module each, with a function `draw(tables) -> Figure`."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A figure of this package: the studies whose tables it needs, and what it shows."""

    studies: tuple[str, ...]
    caption: str  # reStructuredText; it states the claim


CATALOGUE = {
    "embedding_constant": Entry(
        ("embedding",),
        "Song et al. (2023), Lemmas D.12-D.16 and Table 1: a sketch is an *a*-coordinate-wise "
        "embedding if E[(gᵀRᵀRh)²] ≤ (gᵀh)² + (a/b)‖g‖²‖h‖². Dots: the largest *a* measured over all "
        "pairs and sizes, with its interval; bars: the constant claimed; ticks: the exact value.",
    ),
    "second_moment": Entry(
        ("moments",),
        "The mean squared error of gᵀRᵀRh for a real pair of gradients and for g = h flat, over the "
        "sketch size b. Points: measured; lines: our exact moments, an equality.",
    ),
    "squared_norm": Entry(
        ("norms",),
        "Song et al. (2023), Theorem 4.2(4): E‖RᵀRh‖² ≤ (1 + a d/b)‖h‖². Points: measured, the worst "
        "vector of each family; lines: the bound and the exact value.",
    ),
    "growth": Entry(
        ("growth",),
        "Song et al. (2023), Remark D.17: the embedding constant of uniform sampling grows with the "
        "dimension, that of every other family stays constant.",
    ),
    "tails": Entry(
        ("tails",),
        "Song et al. (2023), Lemmas D.23-D.28: how often |gᵀRᵀRh - gᵀh| exceeds a threshold, against "
        "what the lemmas allow (2δ at the threshold of δ).",
    ),
    "inner_products": Entry(
        ("inner_products", "inner_products_sparse"),
        "Song et al. (2023), Lemmas D.18-D.22: the largest inner product of two columns against "
        "√(log n/b). As printed the points would lie below the line of slope 1; they follow a line of "
        "larger slope, so the scaling holds and the constant does not.",
    ),
    "weight_sketch": Entry(
        ("weight_sketch",),
        "Zhang and Wang (2021), Theorems 1 and 2, Lemmas 4-6: left, errors relative to the paper's "
        "identities, which put them at 1; right, the error relative to ‖WVᵀ‖² over the input "
        "dimension: d/s for centred weights, bounded for uncentred ones.",
    ),
}


def available(studies: Iterable[str]) -> list[str]:
    """The figures that can be drawn from these studies alone."""
    have = set(studies)
    return [name for name, entry in CATALOGUE.items() if have.issuperset(entry.studies)]
