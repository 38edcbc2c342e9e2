"""What a run's outcome depends on, as a signature: its resolved config, and the code that it runs."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sketchbench.run.course import deciding
from sketchbench.run.digest import code_digest

Digest = Callable[[tuple[str, ...], tuple[Path, ...]], str]


def targets(node: Any) -> Iterator[str]:
    """Every `_target_` in a config."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield node["_target_"]
        for value in node.values():
            yield from targets(value)


def code_of(config: dict[str, Any], folder: Path | None = None, digest: Digest = code_digest) -> str:
    """16 hex digits that change with the code that a resolved config runs.

    Arguments:
        config: resolved.
        folder: a user's own, whose modules count, too.
        digest: another `code_digest`, such as one that remembers its answers while no file changes.
    """
    modules = {f"sketchbench.kernels.{config['kernels']}_kernels", "sketchbench.run.execution"}
    modules |= {target.rpartition(".")[0] for target in targets(config)}
    return digest(tuple(sorted(modules)), (folder,) if folder else ())


def signature(config: dict[str, Any], folder: Path | None = None, digest: Digest = code_digest) -> str:
    """16 hex digits that change with what decides the outcome of a resolved config, and with the code that it runs;
    arguments as of `code_of`."""
    text = json.dumps([deciding(config), code_of(config, folder, digest)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
