"""Randomness as an argument: a root seed and named axes become a key or a generator.
The same root and axes give the same draw on every machine, backend and thread count. Choose which axes vary: without
the sketch among the axes of the data, every family sees the same data; with the trial as a counter (see `kernels`),
every trial gets a fresh operator."""

import hashlib
import json

import numpy as np


def _digest(root: int, axes: dict[str, int | str], size: int) -> int:
    """An integer of `size` bytes from the root seed and all axes, in any order."""
    if type(root) is not int:  # JSON would take True and 1.5, too
        raise TypeError(f"root seed {root!r} must be an integer; of NumPy's, write int(...)")
    if root < 0:
        raise ValueError(f"root seed {root} must be >= 0")
    for name, value in axes.items():
        if type(value) is not int and not isinstance(value, str):
            raise TypeError(f"axis {name}={value!r} must be an integer or a text")
    text = json.dumps([root, sorted(axes.items())])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "little")


def key(root: int, **axes: int | str) -> int:
    """The 64-bit Philox key of a root seed >= 0 and named axes, for operators. Raises TypeError for a root that is not
    an integer, or an axis that is neither an integer nor a string; ValueError for a negative root.

    >>> key(7, study="moments") == key(7, study="moments")
    True
    >>> key(7, study="moments") == key(7, study="norms")
    False
    """
    return _digest(root, axes, 8)


def generator(root: int, **axes: int | str) -> np.random.Generator:
    """A NumPy generator (Philox) of a root seed and named axes, for data; raises as `key` does.

    >>> float(generator(7, data="pairs").random()) == float(generator(7, data="pairs").random())
    True
    """
    return np.random.Generator(np.random.Philox(key=_digest(root, axes, 16)))
