"""Composing the config of a run with Hydra, and remembering what was composed.

Hydra takes 50 ms for a composition, and a plan needs hundreds of them. So a plan's resolved configs are kept in one
file, under a digest of every YAML file that Hydra reads: an edited, a new or a removed file makes another digest, and
everything is composed again. The file is only a memory: without it, or where it can't be written, nothing else changes.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from yaml import YAMLError

from sketchbench import kernels
from sketchbench.config.overrides import EACH, NOT_HYDRA, check, groups
from sketchbench.errors import ConfigError
from sketchbench.files import write_text
from sketchbench.parameters import choose, did_you_mean
from sketchbench.project import CONF, HOME, PROJECT
from sketchbench.run.execution import SENSING
from sketchbench.theory.known import Known

if TYPE_CHECKING:  # half a second that planning from memory does without
    from omegaconf import DictConfig

MEMORY = Path("results", "composed.json")  # beside the folder of configs; of an installed one, in the current folder
# What a study compares: groups of configs, and what decides the outcome of a run in each of their files.
METHODS = {
    "sketch": ("name", "family", "theory"),
    "recovery": ("name", "algorithm", "sensing"),
    "compressor": ("name", "algorithm"),
}
SHOWN = ("label", "size")  # what else may be there
YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where PyYAML was built with it
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
        self._memory = MEMORY if conf == CONF and HOME != PROJECT else conf.parent / MEMORY
        self._digest, self._remembers = _digest([conf, *([folder] if folder else [])])
        self._bases: dict[tuple[str, ...], DictConfig] = {}
        self._methods: dict[str, DictConfig] = {}
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

        config = copy.deepcopy(self._base(overrides))
        for key, value in values.items():
            try:
                OmegaConf.update(config, key, value, merge=False)
            except OmegaConfBaseException as error:
                meant = did_you_mean(key, _keys(self._base(overrides)))
                raise ConfigError(f"{place}: {key}: {str(error).splitlines()[0]}{meant}") from None
        return frozen(config)

    def _base(self, overrides: tuple[str, ...]) -> "DictConfig":
        """What Hydra composes of these overrides.

        The file of a method fills its own section and no other. So a method is composed once, and then put in the place
        of another one of its group: a plan has ten times as many combinations as it has methods and tasks.
        """
        method = next((override for override in overrides if override.partition("=")[0] in METHODS), None)
        kind = method.partition("=")[0] if method else ""
        others = (kind, *(override for override in overrides if override != method))
        if others not in self._bases:
            self._bases[others] = compose(list(overrides), self._conf, self._folder)
        base = self._bases[others]
        if method:
            if method not in self._methods:
                self._methods[method] = compose([method], self._conf, self._folder)[kind]
            base[kind] = self._methods[method]
        return base


def compose(overrides: list[str], conf: Path = CONF, folder: Path | None = None) -> "DictConfig":
    """The config of one run, by Hydra.

    Raises:
        ConfigError: in one line, for an unknown option or key.
    """
    from hydra import compose as by_hydra
    from hydra import initialize_config_dir
    from hydra.errors import HydraException, MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    check(overrides, conf)
    search = [f"hydra.searchpath=['file://{folder}']"] if folder else []
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            config = by_hydra("run", overrides=overrides + search, return_hydra_config=True)
    except MissingConfigException as error:
        known = f"; choose from {', '.join(error.options)}" if error.options else ""
        missing = error.missing_cfg_file or "a config"
        meant = did_you_mean(missing.rpartition("/")[2], error.options or ())
        raise ConfigError(f"{missing} is unknown{known}{meant}") from None
    except (HydraException, OmegaConfBaseException) as error:
        message = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        meant = EACH if message.startswith("Ambiguous") else _meant(message, overrides, conf, folder)
        raise ConfigError(f"{message}{meant}; --help lists the options and keys") from None
    except YAMLError as error:
        raise ConfigError(" ".join(str(error).split())) from None
    return _named(config, conf, folder)


def _meant(message: str, overrides: list[str], conf: Path, folder: Path | None) -> str:
    """The key that may have been meant by the one that Hydra's message names, among those that there are."""
    wrong = re.search(r"Could not (?:override|append to config|delete from config\.) '\+*~?([^'=]+)", message)
    if not wrong:
        return ""
    known = groups(conf)
    chosen = [override for override in overrides if re.split("[@=]", override)[0] in known]
    if len(chosen) == len(overrides):
        return ""
    return did_you_mean(wrong[1], [*known, *_keys(compose(chosen, conf, folder))])


def _keys(config: "DictConfig") -> list[str]:
    """The dotted keys of a config, of mappings and of values."""
    from omegaconf import OmegaConf

    def below(node: Any, prefix: str) -> Iterator[str]:
        for key, value in node.items() if isinstance(node, dict) else ():
            yield f"{prefix}{key}"
            yield from below(value, f"{prefix}{key}.")

    return list(below(OmegaConf.to_container(config), ""))


def _named(config: "DictConfig", conf: Path, folder: Path | None) -> "DictConfig":
    """The config without Hydra's own part; what it chose as a method has the name of its file.

    Raises:
        ConfigError: for a file that gives its method another name.
    """
    from omegaconf import open_dict

    choices = config.hydra.runtime.choices
    with open_dict(config):
        del config["hydra"]
        for kind in METHODS:
            if name := choices.get(kind):
                check_method(method_file(kind, name, conf, folder), name)
                config[kind].name = name
    return config


def method_file(kind: str, name: str, conf: Path = CONF, folder: Path | None = None) -> Path:
    """The YAML file of a method: the project's, or else the user's."""
    places = [place / kind / f"{name}.yaml" for place in (conf, folder) if place]
    return next((path for path in places if path.is_file()), places[0])


def check_method(path: Path, name: str) -> None:
    """Raise ConfigError for a method's file that is no mapping, or states another name than its own."""
    content = yaml.load(path.read_text(encoding="utf-8"), YAML) if path.is_file() else {}
    if not isinstance(content, dict):
        keys = ", ".join(METHODS[path.parent.name])
        raise ConfigError(f"{path}: {content!r:.60} must map the keys {keys} to values")
    if (stated := content.get("name", name)) != name:
        raise ConfigError(f"{path}: name: {stated!r} must be the file's name, {name}; correct it, or leave it out")


def frozen(config: "DictConfig") -> Composed:
    """The part of a composed config that decides the outcome, resolved; with its keys in the order of those of a job's
    file, so that a task which goes by it does the same in both.

    Raises:
        ConfigError: for a missing value, an interpolation that leads nowhere, or methods of two kinds at once.
        ValueError: for an unknown key.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        resolved = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = f"{error.full_key}: " if error.full_key else ""
        raise ConfigError(f"{key}{str(error).splitlines()[0]}; it must be a value, or lead to one") from None
    assert isinstance(resolved, dict)
    for key in ("task", "kernels", "seed"):
        if key not in resolved:
            raise ConfigError(f"{key} is not there; no run can do without")
    _check_parts(resolved)
    if len(both := [f"{kind}={resolved[kind]['name']}" for kind in METHODS if resolved.get(kind)]) > 1:
        raise ConfigError(
            f"{' and '.join(both)} can't be compared in one run, of which a task takes one; leave out what you chose,"
            " or (in the file of a task of your own) override the other by null, as conf/task/reconstruction.yaml does"
        )
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
            if kind in SENSING:
                kept["d"] = resolved.get("d")
                kept["b"] = method.get("size") or resolved.get("b")
            label = method.get("label", method["name"])
    return Composed(_in_order(kept), label)


def _in_order(part: Any) -> Any:
    """A part of a config with the keys of its mappings by the alphabet, as `batch.Run.payload` has them."""
    if isinstance(part, dict):
        return {key: _in_order(part[key]) for key in sorted(part, key=str)}
    return [_in_order(one) for one in part] if isinstance(part, list) else part


def _check_parts(config: dict[Any, Any]) -> None:
    """ConfigError where a part that is a mapping was overridden by something else, or a method's name."""
    parts = {"task": config, "kernels": config}
    for kind, keys in METHODS.items():
        if config.get(kind) is not None:
            parts |= {kind: config} | ({keys[1]: config[kind]} if isinstance(config[kind], dict) else {})
    for name, holder in parts.items():
        if not isinstance(holder.get(name), dict):
            raise ConfigError(f"{name}={holder.get(name)!r} must map keys to values; --help lists them")
        if not isinstance(target := holder[name].get("_target_", ""), str):
            raise ConfigError(f"{name}._target_={target!r} must be the name of a class, with its module")
    for kind in METHODS:
        method = config.get(kind)
        if method and not isinstance(method.get("name"), str):
            raise ConfigError(f"{kind}.name={method.get('name')!r} must be a text")
        if method and not isinstance(method.get("theory") or {}, dict):
            raise ConfigError(f"{kind}.theory={method['theory']!r} must map keys to values")


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
    if any(character in str(path) for character in "{}\n"):
        raise ConfigError(f"folder {path}: a path with braces or line breaks can't be used; rename it")
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
