"""Figures, drawn from tables: one module each, with a function `draw(tables) -> Figure`."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A figure of this package: the studies whose tables it needs, and what it shows."""

    studies: tuple[str, ...]
    caption: str  # reStructuredText; it states the claim


INTERVALS = (
    "All intervals of the figure hold at once, except with probability 1e-3; very long ones leave "
    "the frame."
)

CATALOGUE = {
    "embedding_constant": Entry(
        ("embedding",),
        "Song et al. (2023), Lemmas D.12-D.16 and Table 1: a sketch is an *a*-coordinate-wise "
        "embedding if E[(gᵀRᵀRh)²] ≤ (gᵀh)² + (a/b)‖g‖²‖h‖². Points: per family, the largest *a* "
        "measured over all pairs and sizes; thick bars: the constant claimed, which no point may "
        "exceed; thin bars: the exact value of that worst case. Right: the point over its exact "
        f"value. {INTERVALS}",
    ),
    "second_moment": Entry(
        ("moments",),
        "The mean squared error of gᵀRᵀRh over the sketch size *b*, for a pair of real gradients and "
        "for g = h flat, with the families in groups. Points: measured (where they coincide, smaller "
        "markers lie on larger ones); lines: our exact moments. The rows below divide one by the "
        f"other, the families side by side. {INTERVALS}",
    ),
    "squared_norm": Entry(
        ("norms",),
        "Song et al. (2023), Theorem 4.2(4): E‖RᵀRh‖² ≤ (1 + a d/b)‖h‖². Points: measured, per family "
        "and size the vector with the largest; dashed: the bound, with each family's claimed *a*; "
        "solid: the exact value. The row below divides the points by the exact value, the families "
        f"side by side. {INTERVALS}",
    ),
    "growth": Entry(
        ("growth",),
        "Song et al. (2023), Remark D.17: the embedding constant *a* of uniform sampling grows with "
        "the dimension, that of every other family stays bounded. Points: per family and dimension, "
        "the largest *a* measured over all pairs; lines: its exact value; dashed: a = d. Right: the "
        f"families that stay small, on a linear scale and side by side. {INTERVALS}",
    ),
    "tails": Entry(
        ("tails",),
        "Song et al. (2023), Lemmas D.23-D.28: how often |gᵀRᵀRh - gᵀh| reaches a threshold. Curves "
        "with bands: measured; a curve ends at the largest error, and a pair without one had none. Black marks, with the "
        "number of the lemma: what it allows, 2δ at its threshold for each δ, so that "
        "the curves must pass below; the vertical line of Lemma D.28 is never to be reached. "
        "The bands are Clopper-Pearson, with an error rate of 1e-3 shared by all points.",
    ),
    "inner_products": Entry(
        ("inner_products", "inner_products_sparse"),
        "Song et al. (2023), Lemmas D.18-D.22: the largest inner product of two different columns of "
        "R, against the scaling as printed, √(log d/b), for sparse embeddings √(log d/s). Points: its "
        "mean over draws; thin lines join equal *b* or *s*. With the printed constant 1 the points "
        "would lie below the dashed line; families with nearly Gaussian products lie near the dotted "
        "one, so the scaling holds there and the constant does not. CountSketch has another lemma: "
        f"at most 1. {INTERVALS}",
    ),
    "weight_sketch": Entry(
        ("weight_sketch",),
        "Zhang and Wang (2021), Theorems 1 and 2, Lemmas 4-6. Left: mean errors over what the paper's "
        "identities state, 1 (0 for the cross term), for the sketch sizes side by side. Right: the error of WVᵀ relative to ‖WVᵀ‖² over "
        "the input dimension; points: measured; lines: the identity of Lemma 5; dashed: the d/s that "
        "Lemma 6 claims, which centred weights follow and uncentred ones do not. "
        f"{INTERVALS}",
    ),
}


def available(studies: Iterable[str]) -> list[str]:
    """The figures that can be drawn from these studies alone."""
    have = set(studies)
    return [name for name, entry in CATALOGUE.items() if have.issuperset(entry.studies)]
