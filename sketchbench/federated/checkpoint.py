"""Where a training has got to, on disk, so that a stopped one goes on."""

from pathlib import Path
from typing import Any

import torch

from sketchbench.files import atomically


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
