"""Composing the config of a run with Hydra, and remembering what was composed.

Hydra takes 50 ms for a composition, and a plan needs hundreds of them. So a plan's resolved configs are kept in one
file, under a digest of every YAML file that Hydra reads: an edited, a new or a removed file makes another digest, and
everything is composed again. The file is only a memory: without it, or where it can't be written, nothing else changes.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sketchbench import kernels
from sketchbench.digest import PROJECT
from sketchbench.execution import ConfigError
from sketchbench.files import write_text
from sketchbench.parameters import choose
from sketchbench.theory.known import Known

if TYPE_CHECKING:  # half a second that planning from memory does without
    from omegaconf import DictConfig

CONF = PROJECT / "conf"
MEMORY = Path("results", "composed.json")  # beside the folder of configs
NOT_HYDRA = ("study", "claim", "erratum", "figure")  # groups of conf that Hydra does not read
# What a study compares: groups of configs, and what decides the outcome of a run in each of their files.
METHODS = {"sketch": ("name", "family", "theory"), "recovery": ("name", "algorithm", "sensing")}
SHOWN = ("label", "size")  # what else may be there
THEORY = tuple(part.name for part in fields(Known))


class Composed(NamedTuple):
    """A resolved config, with all that decides the outcome and nothing else, and the label of its method."""

    config: dict[str, Any]
    label: str


class Composer:
    """Makes resolved configs from Hydra overrides and further values.

    Arguments:
        conf: the folder of config groups.
        folder: a user's own, searched after it; None for none.
    """

    def __init__(self, conf: Path = CONF, folder: Path | None = None) -> None:
        self._conf, self._folder = conf, folder
        self._memory = conf.parent / MEMORY
        self._digest, self._remembers = _digest([conf, *([folder] if folder else [])])
        self._bases: dict[tuple[str, ...], DictConfig] = {}
        self._known = self._recalled() if self._remembers else {}
        self._news = False

    def _recalled(self) -> dict[str, Any]:
        """What was composed before from the same files; nothing where the memory is not whole."""
        try:
            stored = json.loads(self._memory.read_text(encoding="utf-8"))
            text = stored["runs"]
            if stored["digest"] == self._digest and stored["checksum"] == _checksum(text):
                return dict(json.loads(text))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return {}

    def remember(self) -> None:
        """Keep what was composed, where it can be kept."""
        if self._news and self._remembers:
            text = json.dumps(self._known)
            whole = {"digest": self._digest, "checksum": _checksum(text), "runs": text}
            with suppress(OSError):
                write_text(self._memory, json.dumps(whole))

    def resolved(self, overrides: tuple[str, ...], values: Mapping[str, Any], place: str) -> Composed:
        """The config that Hydra composes of these overrides, with `values` by dotted key, resolved.

        Raises:
            ConfigError: in one line, which begins with `place` where a key of `values` is unknown.
        """
        question = json.dumps([overrides, dict(values)])
        if question not in self._known:
            self._known[question] = self._composed(overrides, values, place)
            self._news = True
        return Composed(*json.loads(json.dumps(self._known[question])))

    def _composed(self, overrides: tuple[str, ...], values: Mapping[str, Any], place: str) -> Composed:
        import copy

        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        if overrides not in self._bases:
            self._bases[overrides] = compose(list(overrides), self._conf, self._folder)
        config = copy.deepcopy(self._bases[overrides])
        for key, value in values.items():
            try:
                OmegaConf.update(config, key, value, merge=False)
            except OmegaConfBaseException as error:
                raise ConfigError(f"{place}: {key}: {str(error).splitlines()[0]}") from None
        return frozen(config)


def compose(overrides: list[str], conf: Path = CONF, folder: Path | None = None) -> "DictConfig":
    """The config of one run, by Hydra.

    Raises:
        ConfigError: in one line, for an unknown option or key.
    """
    from hydra import compose as by_hydra
    from hydra import initialize_config_dir
    from hydra.errors import HydraException, MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    search = [f"hydra.searchpath=['file://{folder}']"] if folder else []
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            return by_hydra("run", overrides=overrides + search)
    except MissingConfigException as error:
        known = f"; choose from {', '.join(error.options)}" if error.options else ""
        raise ConfigError(f"{error.missing_cfg_file or 'a config'} is unknown{known}") from None
    except (HydraException, OmegaConfBaseException) as error:
        message = str(error).splitlines()[0].rstrip(".")
        raise ConfigError(f"{message}; --help lists the options and keys") from None


def frozen(config: "DictConfig") -> Composed:
    """The part of a composed config that decides the outcome, resolved.

    Raises:
        ConfigError: for a missing value, or an interpolation that leads nowhere.
        ValueError: for an unknown key.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        resolved = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(str(error).splitlines()[0]) from None
    assert isinstance(resolved, dict)
    kept: dict[str, Any] = {
        "task": resolved["task"],
        "kernels": kernels.resolve(resolved["kernels"]["name"]),
        "seed": resolved["seed"],
    }
    label = ""
    for kind, keys in METHODS.items():
        if method := resolved.get(kind):
            _known_keys(method, keys + SHOWN, f"{kind} {method['name']}")
            _known_keys(method.get("theory") or {}, THEORY, f"{kind} {method['name']}: theory")
            kept[kind] = {key: method.get(key) for key in keys}
            kept["d"] = resolved["d"]
            kept["b"] = method.get("size") or resolved["b"]
            label = method.get("label", method["name"])
    return Composed(kept, label)


def user_folder(folder: str | Path) -> Path | None:
    """A user's own folder, put on the module path; None for none.

    Raises:
        ConfigError: for a folder without configs of methods.
    """
    if not folder:
        return None
    path = Path(folder).expanduser().resolve()
    if not any((path / kind).is_dir() for kind in METHODS):
        known = " or ".join(f"`{kind}`" for kind in METHODS)
        raise ConfigError(f"folder {path} needs a folder {known} with YAML files in it")
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))
    return path


def _known_keys(section: dict[str, Any], known: tuple[str, ...], name: str) -> None:
    for key in section:
        choose(f"{name}: key", key, known)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(folders: list[Path]) -> tuple[str, bool]:
    """Of the YAML files that Hydra reads and of its version; and whether they alone decide what is composed, which
    they don't where one refers to the environment or another thing outside by `${oc...}`."""
    found = hashlib.sha256(f"{version('hydra-core')} {version('omegaconf')}".encode())
    closed = True
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")):
            name = path.relative_to(folder)
            if name.parts[0] in NOT_HYDRA and folder == folders[0]:
                continue
            content = path.read_bytes()
            closed = closed and b"${oc." not in content
            found.update(os.fsencode(f"{folder} {name} {len(content)} ") + content)
    return found.hexdigest(), closed
