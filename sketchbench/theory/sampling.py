"""Variance of sums over sampled rows of an orthogonal transform."""

from sketchbench.base.parameters import checked


@checked
def variance_factor(b: int, n: int, replacement: bool) -> float:
    """The variance of a mean over b of n rows relative to a mean over b independent rows: 1 with replacement, else
    (n - b)/(n - 1), which is 0 if all rows are sampled."""
    if not (b >= 1 and (replacement or b <= n)):
        raise ValueError(f"b={b} rows must be 1 to n={n}; any b >= 1 with replacement")
    return 1.0 if replacement else (n - b) / (n - 1) if n > 1 else 0.0
