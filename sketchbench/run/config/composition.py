"""Configs of runs, composed by Hydra and remembered.

A composition takes Hydra 50 ms, and a plan needs hundreds. Compositions are therefore kept in one file, under a digest
of every YAML file that Hydra reads: an edited, added or removed file invalidates all. A missing or read-only memory
changes no result.
"""

import functools
import hashlib
import json
import os
import pickle
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from sketchbench import kernels
from sketchbench.base.errors import ConfigError, FolderError, one_line
from sketchbench.base.files import write_text
from sketchbench.base.parameters import choose, did_you_mean
from sketchbench.base.project import CONF, HOME, PROJECT
from sketchbench.run.config.overrides import EACH, NOT_HYDRA, check, explain, groups, quote
from sketchbench.run.config.own_files import mistakes, own_files
from sketchbench.run.config.references import check_references
from sketchbench.run.config.schema import SchemaError, load
from sketchbench.run.config.targets import any_target, check_targets
from sketchbench.run.execution import SENSING
from sketchbench.theory.known import Known

if TYPE_CHECKING:  # half a second that planning from memory does without
    from omegaconf import DictConfig

MEMORY = Path("results", "composed.txt")  # beside the folder of configs; of an installed one, in the current folder
# The kinds of methods that a study compares: groups of configs, with the keys that decide the outcome of a run.
METHODS = {
    "sketch": ("name", "family", "theory"),
    "recovery": ("name", "algorithm", "sensing"),
    "compressor": ("name", "algorithm"),
}
EXPECTED = "expected"  # the key with the verdicts that a user expects, by claim
SHOWN = ("label", "size", EXPECTED)  # further keys of a method
PARTS = ("dataset", "model", "partition")  # groups of functions that tasks take, of which a user may have some, too
SECTIONS = (*METHODS, "scale")  # groups of which a file fills its own section and no other
APART = ("kernels", "seed")  # of the whole plan; what is remembered serves all of them
THEORY = tuple(part.name for part in fields(Known))


class ComposedConfig(NamedTuple):
    """A resolved config, with the keys that decide the outcome and no others, and the label of its method."""

    config: dict[str, Any]
    label: str


class Parts(NamedTuple):
    """Hydra's compositions by overrides, without and with the sections of SECTIONS, and these sections by override."""

    bases: dict[tuple[str, ...], "DictConfig"]
    pickled: dict[tuple[str, ...], bytes]
    sections: dict[str, "DictConfig"]


@functools.cache
def composed_parts(_digest: str) -> Parts:
    """The compositions of the YAML files of a digest, shared by all plans of a process."""
    return Parts({}, {}, {})


class Composer:
    """Makes resolved configs from the groups of `conf` and of the user's own folder, with overrides and values."""

    def __init__(self, conf: Path = CONF, folder: Path | None = None) -> None:
        self._conf, self._folder = conf, folder
        self._memory = MEMORY if conf == CONF and HOME != PROJECT else conf.parent / MEMORY
        self._digest = _digest(conf, folder)
        self._parts = composed_parts(self._digest) if self._digest else Parts({}, {}, {})
        self._composed = self._read()
        self._remembered = len(self._composed)

    def _read(self) -> dict[str, Any]:
        """Read the memory; empty if it is missing, damaged, or of other files."""
        with suppress(OSError, ValueError):
            checksum, _, text = self._memory.read_text(encoding="utf-8").partition("\n")
            if self._digest and checksum == _sha256(self._digest + text):
                return dict(json.loads(text))
        return {}

    def remember(self) -> None:
        """Add new compositions to the memory, if it is writable."""
        if self._digest and len(self._composed) > self._remembered:
            text = json.dumps({**self._read(), **self._composed})  # others may have written since
            with suppress(OSError):
                write_text(self._memory, f"{_sha256(self._digest + text)}\n{text}")

    def resolved(self, overrides: tuple[str, ...], values: Mapping[str, Any], place: str) -> ComposedConfig:
        """Return the resolved config of overrides, with further values by dotted key. Raises ConfigError, in one line,
        which begins with `place` for an unknown key of `values`."""
        apart = {key: values[key] for key in APART if key in values}
        question = json.dumps([overrides, {key: value for key, value in values.items() if key not in apart}])
        if question not in self._composed:
            from omegaconf import OmegaConf
            from omegaconf.errors import OmegaConfBaseException

            config = self._base(overrides)
            for key, value in values.items():
                try:
                    OmegaConf.update(config, key, value, merge=False)
                except OmegaConfBaseException as error:
                    suggestion = did_you_mean(key, _keys(self._base(overrides)))
                    raise ConfigError(f"{place}: {key}: {str(error).splitlines()[0]}{suggestion}") from None
            self._composed[question] = json.loads(json.dumps(frozen(config, self._folder)))  # as in the memory
        composed, label = self._composed[question]
        return ComposedConfig({**composed, **apart}, label)

    def _base(self, overrides: tuple[str, ...]) -> "DictConfig":
        """Return a copy of Hydra's config of overrides; pickle takes a fifth of the time of `copy`.

        A file of SECTIONS is composed once, and then replaces another file of its group: a plan has ten times as many
        combinations as methods and tasks.
        """
        if overrides in self._parts.pickled:
            return pickle.loads(self._parts.pickled[overrides])
        sections = {override: kind for override in overrides if (kind := override.partition("=")[0]) in SECTIONS}
        others = tuple(sections.get(override, override) for override in overrides)
        if others not in self._parts.bases:
            self._parts.bases[others] = compose(list(overrides), self._conf, self._folder)
        for override, kind in sections.items():
            if override not in self._parts.sections:
                self._parts.sections[override] = self._section(kind, override)
            self._parts.bases[others][kind] = self._parts.sections[override]
        self._parts.pickled[overrides] = pickle.dumps(self._parts.bases[others])
        return self._base(overrides)

    def _section(self, kind: str, override: str) -> "DictConfig":
        """Return the section of a file as Hydra composes it; a file without defaults is read in a tenth of the time."""
        from omegaconf import DictConfig, OmegaConf

        check([override], self._conf)
        name = override.partition("=")[2]
        path = _file_of(kind, name, self._conf, self._folder)
        if kind not in METHODS or not path.is_file() or re.search(rb"defaults|@package", path.read_bytes()):
            return compose([override], self._conf, self._folder)[kind]
        load_method(kind, name, self._conf, self._folder)
        section = OmegaConf.load(path)
        assert isinstance(section, DictConfig)
        section.name = name
        return section


def compose(overrides: list[str], conf: Path = CONF, folder: Path | None = None) -> "DictConfig":
    """Compose the config of one run; raises ConfigError, in one line, for an unknown option or key."""
    from hydra import compose as by_hydra
    from hydra import initialize_config_dir
    from hydra.errors import HydraException, MissingConfigException
    from omegaconf import OmegaConf, open_dict
    from omegaconf.errors import OmegaConfBaseException

    check(overrides, conf)
    for place in filter(None, (conf, folder)):
        if "${" in str(place):
            raise ConfigError(f"{place}: a path with ${{ can't be used, as Hydra reads it as a reference; rename it")
    search = [f"hydra.searchpath=[{quote(f'file://{folder}')}]"] if folder else []
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            config = by_hydra("run", overrides=overrides + search, return_hydra_config=True)
    except MissingConfigException as error:
        known = f"; choose from {', '.join(error.options)}" if error.options else ""
        missing = error.missing_cfg_file or "a config"
        suggestion = did_you_mean(missing.rpartition("/")[2], error.options or ())
        raise ConfigError(f"{missing} is unknown{known}{suggestion}") from None
    except (HydraException, OmegaConfBaseException) as error:
        message = explain(error)
        suggestion = EACH if message.startswith("Ambiguous") else _suggestion(message, overrides, conf, folder)
        raise ConfigError(f"{message}{suggestion}; --help lists the options and keys") from None
    except yaml.YAMLError as error:
        raise ConfigError(one_line(str(error))) from None
    choices = config.hydra.runtime.choices
    with open_dict(config):
        del config["hydra"]
        for kind in METHODS:
            if name := choices.get(kind):
                load_method(kind, name, conf, folder)
                if not OmegaConf.is_dict(config.get(kind)):
                    raise ConfigError(f"{kind}={name} fills no section {kind}; remove `@` from its defaults")
                config[kind].name = name
    return config


def _suggestion(message: str, overrides: list[str], conf: Path, folder: Path | None) -> str:
    """Return `; did you mean KEY?` for the unknown key in Hydra's message; "" if no key is similar."""
    wrong = re.search(r"Could not (?:override|append to config|delete from config\.) '\+*~?([^'=]+)", message)
    known = groups(conf)
    chosen = [override for override in overrides if re.split("[@=]", override)[0] in known]
    if not wrong or len(chosen) == len(overrides):
        return ""
    return did_you_mean(wrong[1], [*known, *_keys(compose(chosen, conf, folder))])


def _keys(config: "DictConfig") -> Iterator[str]:
    """Yield the dotted keys of a config, of mappings and of values."""
    from omegaconf import OmegaConf

    parts: list[tuple[str, Any]] = [("", OmegaConf.to_container(config))]
    for prefix, part in parts:
        for key, value in part.items() if isinstance(part, dict) else ():
            yield f"{prefix}{key}"
            parts.append((f"{prefix}{key}.", value))


def load_method(kind: str, name: str, conf: Path = CONF, folder: Path | None = None) -> dict[str, Any]:
    """Read a method's YAML file, the project's or the user's; ConfigError, in one line, unless it is a mapping that
    states no name other than the file's. `frozen` checks keys and values."""
    path = _file_of(kind, name, conf, folder)
    try:
        content = load(path)
    except SchemaError as error:
        raise ConfigError(f"{error}; it must be YAML in UTF-8") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: {content!r:.60} must map the keys {', '.join(METHODS[kind])} to values")
    if (stated := content.get("name", name)) != name:
        raise ConfigError(f"{path}: name: {stated!r} must be the file's name, {name}; correct it, or leave it out")
    return content


def _file_of(kind: str, name: str, conf: Path, folder: Path | None) -> Path:
    """The path of a file of a group: the project's if it exists, else the user's."""
    places = [place / kind / f"{name}.yaml" for place in (conf, folder) if place]
    return next((place for place in places if place.is_file()), places[-1])


def load_part(kind: str, name: str, conf: Path = CONF, folder: Path | None = None) -> dict[str, Any]:
    """Read the file of a data set, model or partition, with its defaults. Raises ConfigError, also for a target that a
    folder may not name, and ValueError for a mapping that lacks values."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    config = compose([f"+{kind}={name}"], conf, folder)
    try:
        _check_references(config, folder)
        node = dict(OmegaConf.to_container(config[kind], resolve=True, throw_on_missing=True))  # type: ignore[arg-type]
    except (OmegaConfBaseException, TypeError) as error:
        raise ValueError(f"{str(error).splitlines()[0]}; it must map _target_ and parameters to values") from None
    check_targets(node, folder)
    return node


def frozen(config: "DictConfig", folder: Path | None = None) -> ComposedConfig:
    """Return the resolved part of a composed config that determines the outcome; `folder` is the user's.

    Keys are in alphabetical order, as in the file of a job, since a task may depend on their order. `kernels=auto`
    becomes the backend of this machine.

    Raises ValueError for missing values, keys or kernels that are unknown, wrong types, methods of two kinds, and
    targets that the folder may not name.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    _check_references(config, folder)
    try:
        resolved = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = f"{error.full_key}: " if error.full_key else ""
        raise ConfigError(f"{key}{str(error).splitlines()[0]}; it must be a value, or lead to one") from None
    assert isinstance(resolved, dict)
    for key in ("task", "kernels", "seed"):
        if key not in resolved:
            raise ConfigError(f"{key} is missing; every run needs it")
    _checked("task", resolved["task"])
    kinds = [kind for kind in METHODS if resolved.get(kind) is not None]
    for kind in kinds:
        _check_method(kind, resolved[kind])
    if len(kinds) > 1:
        both = " and ".join(f"{kind}={resolved[kind]['name']}" for kind in kinds)
        raise ConfigError(
            f"{both} can't be compared in one run: a task takes one method; remove one, or, in a task's own file,"
            " override the other by null, as conf/task/reconstruction.yaml does"
        )
    kept = {"task": resolved["task"], "kernels": kernels.resolve(resolved["kernels"]), "seed": resolved["seed"]}
    label = ""
    for kind in kinds:
        method = resolved[kind]
        kept[kind] = {key: method.get(key) for key in METHODS[kind]}
        if kind in SENSING:
            kept |= {"d": resolved.get("d"), "b": method.get("size") or resolved.get("b")}
        label = method.get("label", method["name"])
    check_targets(kept, folder)
    return ComposedConfig(_in_order(kept), label)


def _check_references(config: "DictConfig", folder: Path | None) -> None:
    """Check the references of a config that a user's folder takes part in; see `check_references`."""
    from omegaconf import OmegaConf

    if folder:
        check_references(OmegaConf.to_container(config))


def _in_order(part: Any) -> Any:
    """Sort the keys of all mappings in a part of a config."""
    if isinstance(part, dict):
        return {key: _in_order(part[key]) for key in sorted(part, key=str)}
    return [_in_order(one) for one in part] if isinstance(part, list) else part


def _check_method(kind: str, method: Any) -> None:
    """Raise ValueError for an unknown key or a wrong type in the section of a method."""
    name, part = _checked(kind, method).get("name"), METHODS[kind][1]
    _checked(part, method.get(part))
    if not isinstance(name, str):
        raise ConfigError(f"{kind}.name={name!r} must be a string")
    for key in method:
        choose(f"{kind} {name}: key", key, METHODS[kind] + SHOWN)
    for key in _checked(f"{kind}.theory", method.get("theory") or {}):
        choose(f"{kind} {name}: theory: key", key, THEORY)


def _checked(name: str, part: Any) -> dict[Any, Any]:
    """Return a part of a config; ConfigError unless it is a mapping whose `_target_` is a string."""
    if not isinstance(part, dict):
        raise ConfigError(f"{name}={part!r} must map keys to values; --help lists them")
    if not isinstance(target := part.get("_target_", ""), str):
        raise ConfigError(f"{name}._target_={target!r} must be the name of a class, with its module")
    return part


def user_folder(folder: str | Path) -> Path | None:
    """Resolve a user's folder and put it on the module path; None for none. Raises ConfigError for a folder without
    `METHODS` or `PARTS`, and FolderError for YAML files that can't be read."""
    if not folder:
        return None
    path = Path(folder).expanduser().resolve()
    if not any((path / kind).is_dir() for kind in (*METHODS, *PARTS)):
        known = " or ".join(f"`{kind}`" for kind in (*METHODS, *PARTS))
        raise ConfigError(f"folder {path} needs a folder {known} with YAML files in it")
    if lines := mistakes(path):
        raise FolderError("\n".join(lines))
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))
    return path


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(conf: Path, own: Path | None) -> str:
    """Return the SHA-256 of the YAML files that Hydra reads, and its version; "" if a file refers to anything else: to
    the environment by `${oc...}`, or to APART. It is "" if all targets are allowed, so that the memory has checked
    compositions alone."""
    if any_target():
        return ""
    digest = hashlib.sha256(f"{version('hydra-core')} {version('omegaconf')}".encode())
    elsewhere = re.compile(rb"\$\{\s*\.*(oc\.|" + "|".join(APART).encode() + rb")")
    for folder, paths in ((conf, sorted(conf.rglob("*.yaml"))), *([(own, own_files(own, conf))] if own else [])):
        for path in paths:
            name = path.relative_to(folder)
            if name.parts[0] in NOT_HYDRA:
                continue
            content = path.read_bytes()
            if elsewhere.search(content):
                return ""
            digest.update(os.fsencode(f"{'' if folder == conf else folder} {name} {len(content)} ") + content)
    return digest.hexdigest()
