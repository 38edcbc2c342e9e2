"""What sampling rows of an orthogonal transform leaves to chance."""


def variance_left(b: int, n: int, replacement: bool) -> float:
    """The variance that sampling b of n rows leaves, relative to n/b; 0 where all are kept."""
    return 1.0 if replacement else (n - b) / (n - 1) if n > 1 else 0.0
