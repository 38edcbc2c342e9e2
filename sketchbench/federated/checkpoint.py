"""Checkpoints: the state of a training on disk, so that a stopped one goes on."""

import functools
import hashlib
from pathlib import Path
from typing import Any

import torch

from sketchbench.files import atomically


def place(folder: str, *parts: Any) -> Path:
    """The file in a folder of checkpoints for the training that these parts describe (see `described`)."""
    text = repr([described(part) for part in parts])
    return Path(folder) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.pt"


def described(value: Any) -> str:
    """A text that is the same in every process, unlike the repr of a function.

    >>> described(functools.partial(described, value=3))
    "sketchbench.federated.checkpoint.described[]{'value': '3'}"
    """
    if isinstance(value, functools.partial):
        keywords = {name: described(argument) for name, argument in sorted(value.keywords.items())}
        return f"{described(value.func)}{[described(argument) for argument in value.args]}{keywords}"
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def save(path: Path, content: dict[str, Any]) -> None:
    """Write numbers, texts, lists, dictionaries and tensors atomically."""
    with atomically(path) as temporary:
        torch.save(content, temporary)


def load(path: Path) -> dict[str, Any] | None:
    """What was saved, or None where there is no file.

    Runs no code of the file.

    Raises:
        ValueError: for a file that is damaged or holds anything else.
    """
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:  # whatever unpickling damaged bytes raises
        reason = f"{type(error).__name__}"
        raise ValueError(f"{path} is no whole checkpoint ({reason}); delete it") from None
    return content
