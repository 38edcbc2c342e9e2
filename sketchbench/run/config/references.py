"""References in a config, `${key}`: values that they repeat are counted before OmegaConf makes each of them."""

import re
from typing import Any

from sketchbench.base.errors import ConfigError
from sketchbench.run.config.schema import LARGEST

REFERENCE = re.compile(r"\$\{\s*(\.*)([^${}:]*?)\s*\}")
Path = tuple[str, ...]


def check_references(root: Any) -> None:
    """Raise ConfigError, in one line, if the references of an unresolved config repeat more than LARGEST values, or a
    reference contains another."""
    try:
        _count(root, (), root, {})
    except RecursionError:
        raise ConfigError("references lead on too often; shorten the chain") from None


def _count(node: Any, path: Path, root: Any, counts: dict[Path, int]) -> int:
    """The number of values that resolving a part takes; 1 inside a loop, which OmegaConf refuses."""
    if path not in counts:
        counts[path] = 1
        parts: list[Path] = [(*path, key) for key in _keys(node)]
        if isinstance(node, str):
            if re.search(r"\$\{[^}]*[\w.]\$\{|\$\{\s*\$\{", node):
                raise ConfigError(f"{'.'.join(path)}: {node!r:.60} has a reference in a reference; write out the key")
            parts = [_leads(path, dots, key) for dots, key in REFERENCE.findall(node)]
        counts[path] += sum(_count(_at(root, part), part, root, counts) for part in parts)
        if counts[path] > 10 * LARGEST or (isinstance(node, str) and counts[path] > LARGEST):
            raise ConfigError(f"{'.'.join(path)}: references repeat more than {LARGEST} values; write fewer")
    return counts[path]


def _keys(node: Any) -> list[str]:
    return [*map(str, node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ())]


def _leads(path: Path, dots: str, key: str) -> Path:
    """Where a reference leads: from the top, or, with dots, from the mapping around it."""
    above = path[: len(path) - len(dots)] if dots else ()
    return (*above, *filter(None, re.split(r"[.\[\]]+", key)))


def _at(root: Any, path: Path) -> Any:
    """The value at a place; None for none."""
    for key in path:
        if isinstance(root, dict):
            root = {str(own): value for own, value in root.items()}.get(key)
        else:
            root = root[int(key)] if isinstance(root, list) and key.isdigit() and int(key) < len(root) else None
    return root
