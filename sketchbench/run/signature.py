"""The signature of a run: what its numbers depend on, its resolved config and the code that it uses."""

import hashlib
import json
from pathlib import Path
from typing import Any

from sketchbench.base.course import outcome_config
from sketchbench.kernels.device import recorded_name
from sketchbench.run.config.targets import strings, targets
from sketchbench.run.digest import CodeDigest, locate, module_names


def code_of(config: dict[str, Any], folder: Path | None = None, digest: CodeDigest | None = None) -> str:
    """16 hex digits that change with the code that a resolved config runs, in modules of a user's folder as well; a
    digest may have parsed the files before, while no file changed.

    A class of the folder may load the modules of the folder that a string names, so they count, too.
    """
    digest = digest or CodeDigest()
    named = {f"sketchbench.kernels.{config['kernels']}_kernels", "sketchbench.run.execution", *targets(config)}
    folders = (folder,) if folder else ()
    if folder and any((file := digest.find(name, folders)) and file.is_relative_to(folder) for name in named):
        named |= {name for text in strings(config) for name in module_names(text) if locate(name, folders)}
    return digest(tuple(sorted(named)), folders)


def signature(config: dict[str, Any], folder: Path | None = None, digest: CodeDigest | None = None) -> str:
    """16 hex digits that change with whatever can change a run's numbers; arguments as of `code_of`.

    The place of a class in the project is no part of it: a `_target_` counts by the name and the code of its class.
    """
    digest = digest or CodeDigest()
    outcome = _placeless(outcome_config(config), digest, (folder,) if folder else ())
    parts = [outcome, code_of(config, folder, digest)]
    if (computed := recorded_name(config["kernels"])) != config["kernels"]:
        parts.append(computed)  # its record is none of a device
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _placeless(node: Any, digest: CodeDigest, folders: tuple[Path, ...]) -> Any:
    """A part of a config with each `_target_` as `CodeDigest.identify` has it."""
    if isinstance(node, dict):
        return {
            key: digest.identify(value, folders) if key == "_target_" else _placeless(value, digest, folders)
            for key, value in node.items()
        }
    return [_placeless(one, digest, folders) for one in node] if isinstance(node, list) else node
