"""Where a training has got to, on disk, so that a stopped one goes on."""

import functools
import hashlib
from pathlib import Path
from typing import Any

import torch

from sketchbench.files import atomically

SECONDS_BETWEEN = 60.0  # two checkpoints of a training


def place(folder: str, *parts: Any) -> Path:
    """The file of what these parts describe, by their `repr`, in a folder of checkpoints."""
    return Path(folder) / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.pt"


def described(value: Any) -> str:
    """A text that is the same in every process, unlike the repr of a function.

    >>> described(functools.partial(described, value=3))
    "sketchbench.federated.checkpoint.described[]{'value': '3'}"
    """
    if isinstance(value, functools.partial):
        keywords = {name: described(given) for name, given in sorted(value.keywords.items())}
        return f"{described(value.func)}{[described(given) for given in value.args]}{keywords}"
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def save(path: Path, content: dict[str, Any]) -> None:
    """Write numbers, texts, lists, dictionaries and tensors atomically."""
    with atomically(path) as temporary:
        torch.save(content, temporary)


def load(path: Path) -> dict[str, Any] | None:
    """What was saved, or None where there is nothing.

    Opens no code: raises ValueError for a file that holds anything else, or is damaged.
    """
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # whatever unpickling damaged bytes raises
        reason = f"{type(error).__name__}"
        raise ValueError(f"{path} is no whole checkpoint ({reason}); delete it") from None
    return content
