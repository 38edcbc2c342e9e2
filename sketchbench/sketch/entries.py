"""Chosen entries of N vectors: indices `at`, integers (N, k), distinct within a row, into (N, d)."""

from sketchbench.kernels import Array, Kernels


def flat(kernels: Kernels, at: Array, d: int) -> Array:
    """The same places in the flattened (N, d) array."""
    return at + d * kernels.xp.arange(len(at))[:, None]


def take(kernels: Kernels, v: Array, at: Array) -> Array:
    """The entries of v (N, d) there, (N, k)."""
    return v.reshape(-1)[flat(kernels, at, v.shape[1])]


def add(kernels: Kernels, v: Array, at: Array, values: Array) -> None:
    """Add values (N, k) there to v (N, d), which is contiguous, in place."""
    v.reshape(-1)[flat(kernels, at, v.shape[1])] += values


def put(kernels: Kernels, v: Array, at: Array, values: Array) -> None:
    """Set the entries of v (N, d), which is contiguous, there to values (N, k)."""
    v.reshape(-1)[flat(kernels, at, v.shape[1])] = values
