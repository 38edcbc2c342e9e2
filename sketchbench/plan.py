"""From studies to runs: which runs exist, their frozen configs, and what code each depends on.

`python -m sketchbench.plan` lists the runs. Everything that decides a run's outcome is in its
config and in its code digest; the two make its signature. Snakemake reruns a run when its
signature changes, and tables refuse a record that bears another one.
"""

import argparse
import copy
import functools
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sketchbench import kernels, record
from sketchbench.digest import PROJECT, code_digest
from sketchbench.job import ConfigError, family_of, signature, targets
from sketchbench.schema import validate
from sketchbench.sketch.family import SizeError
from sketchbench.theory.known import Known

CONF = PROJECT / "conf"
THEORY = tuple(part.name for part in fields(Known))
# What a study compares: groups of configs, and what decides the outcome of a run in each of their files.
METHODS = {"sketch": ("name", "family", "theory"), "recovery": ("name", "algorithm", "sensing")}
SHOWN = ("label", "size")  # what else may be there
NO_METHOD = "any"  # of a study that compares nothing


@dataclass(frozen=True)
class Run:
    """One planned run: its study, its name there (`srht/d640-b64`), its resolved config and the
    signature of config and code. `columns` are what identifies it in tables."""

    study: str
    name: str
    config: dict[str, Any]
    signature: str
    columns: dict[str, Any]

    @property
    def needs_folder(self) -> bool:
        """Whether it runs code of the user's own, outside this package."""
        return any(not target.startswith("sketchbench.") for target in targets(self.config))

    @property
    def payload(self) -> str:
        """The config as JSON with sorted keys."""
        return json.dumps(self.config, sort_keys=True)


@dataclass(frozen=True)
class Skipped:
    """A combination that has no run, and why."""

    study: str
    name: str
    reason: str


@dataclass
class Plan:
    """All runs of the studies, and the combinations left out."""

    scale: str
    kernels: str
    seed: int
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def record(self, run: Run) -> str:
        """The path of a run's record, relative to the project."""
        return f"results/{self.scale}/{run.study}/{run.name}.parquet"

    def records(self, study: str) -> list[str]:
        return [self.record(run) for run in self.runs[study].values()]

    @property
    def all_records(self) -> list[str]:
        return [path for study in self.runs for path in self.records(study)]

    def manifest(self, study: str) -> str:
        """What the table of a study needs to know of its runs, as JSON."""
        entries = [
            {"record": self.record(run), "signature": run.signature, "columns": run.columns}
            for run in self.runs[study].values()
        ]
        return json.dumps(entries)

    @property
    def facts(self) -> str:
        """What the page of claims says of the run as a whole, as JSON."""
        left_out = [[s.study, s.name, s.reason] for s in self.skipped]
        facts = {"scale": self.scale, "kernels": self.kernels, "seed": self.seed}
        return json.dumps({**facts, "skipped": left_out, "studies": _studies()})

    def set_aside_damaged(self) -> list[str]:
        """Rename records that are not whole, so that they are made again; a line for each.

        Snakemake sees files, not contents: a truncated or edited record would count as done. A whole
        record of another config or code is Snakemake's business, whose memory of `params` tells;
        where that memory is gone, such a record is set aside, too.
        """
        forgotten = not any(Path(".snakemake", "metadata").glob("*"))
        lines = []
        for runs in self.runs.values():
            for run in runs.values():
                path = Path(self.record(run))
                try:
                    if path.exists():
                        record.read(path, run.signature if forgotten else None)
                except record.RecordError as error:
                    path.replace(path.with_suffix(".rejected"))
                    lines.append(f"{error}; set aside, to be computed again")
        return lines


def from_settings(settings: dict[str, Any]) -> Plan:
    """The plan of the workflow's settings (conf/workflow.yaml with what the user changed).

    Raises ConfigError for a setting that the schema does not know, and RuntimeError where CuPy is
    asked for, the jobs run here, and there is no device.
    """
    validate(settings, "workflow", "settings")
    if settings["device"] == "here":
        kernels.usable(settings["kernels"])
    names = ("scale", "kernels", "seed", "studies", "folder")
    return expand(*(settings[name] for name in names))


def expand(
    scale: str = "quick",
    kernels_name: str = "auto",
    seed: int = 0,
    studies: str = "all",
    folder: str | Path = "",
) -> Plan:
    """Expand studies (`all`, or names separated by commas) into runs.

    `folder`: a user's own, with `sketch/*.yaml` and perhaps modules; it is put on the module path.
    Raises ConfigError, in one line, for whatever is wrong in the configs.
    """
    user = user_folder(folder)
    plan = Plan(scale, kernels.resolve(kernels_name), seed)
    known = _studies()
    names = known if studies == "all" else [name.strip() for name in studies.split(",")]
    for name in names:
        if name not in known:
            raise ConfigError(f"study {name} is unknown; choose from {', '.join(known)}")

    @functools.cache  # composing takes 50 ms, and studies share tasks and sketches
    def base(task: str, parts: tuple[str, ...], kind: str, method: str) -> DictConfig:
        options = {"task": task, "scale": scale, "kernels": plan.kernels, "seed": seed}
        if kind:
            options[kind] = method
        overrides = [f"{key}={value}" for key, value in options.items()]
        return compose_run([*overrides, *parts], user)

    digest = functools.cache(code_digest)  # runs share code
    with initialize_config_dir(str(CONF), version_base="1.3"):
        for name in names:
            _expand_study(plan, name, user, base, digest)
    return plan


def compose_run(overrides: list[str], folder: Path | None = None) -> DictConfig:
    """The config of one run from Hydra overrides, inside `initialize_config_dir`.

    Raises ConfigError, in one line, for an unknown option or key.
    """
    search = [f"hydra.searchpath=['file://{folder}']"] if folder else []
    try:
        return compose("run", overrides=overrides + search)
    except MissingConfigException as error:
        known = f"; choose from {', '.join(error.options)}" if error.options else ""
        raise ConfigError(f"{error.missing_cfg_file or 'a config'} is unknown{known}") from None
    except (HydraException, OmegaConfBaseException) as error:
        message = str(error).splitlines()[0].rstrip(".")
        raise ConfigError(f"{message}; --help lists the options and keys") from None


def frozen(config: DictConfig) -> dict[str, Any]:
    """The part of a composed config that decides the outcome, resolved.

    Raises ConfigError for a missing value or an interpolation that leads nowhere.
    """
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
    for kind, keys in METHODS.items():
        if method := resolved.get(kind):
            _known_keys(method, keys + SHOWN, f"{kind} {method['name']}")
            theory = method.get("theory") or {}
            _known_keys(theory, THEORY, f"{kind} {method['name']}: theory")
            kept[kind] = {key: method.get(key) for key in keys}
            kept["d"] = resolved["d"]
            kept["b"] = method.get("size") or resolved["b"]
    return kept


def _known_keys(section: dict[str, Any], known: tuple[str, ...], name: str) -> None:
    for key in section:
        if key not in known:
            raise ConfigError(f"{name}: key {key} is unknown; choose from {', '.join(known)}")


def user_folder(folder: str | Path) -> Path | None:
    if not folder:
        return None
    path = Path(folder).expanduser().resolve()
    if not any((path / kind).is_dir() for kind in METHODS):
        known = " or ".join(f"`{kind}`" for kind in METHODS)
        raise ConfigError(f"folder {path} needs a folder {known} with YAML files in it")
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))
    return path


def _studies() -> list[str]:
    return sorted(path.stem for path in (CONF / "study").glob("*.yaml"))


def _all(kind: str, user: Path | None) -> list[str]:
    """What e.g. `sketch: all` means: the files in conf/sketch and in the user's folder."""
    folders = [CONF / kind] + ([user / kind] if user else [])
    return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})


def _read_study(name: str, scale: str) -> dict[str, Any]:
    """A study with the settings of its scale merged in."""
    path = CONF / "study" / f"{name}.yaml"
    study: dict[str, Any] = yaml.safe_load(path.read_text())
    validate(study, "study", str(path))
    special = study.get("scales", {}).get(scale, {})
    for part in ("axes", "set", "with"):
        study[part] = {**study.get(part, {}), **special.get(part, {})}
    return study


def _expand_study(
    plan: Plan,
    name: str,
    user: Path | None,
    base: Callable[..., DictConfig],
    digest: Callable[..., str],
) -> None:
    study = _read_study(name, plan.scale)
    if plan.scale not in study.get("only", (plan.scale,)):
        reason = f"it is for the scales {', '.join(study['only'])} only"
        plan.skipped.append(Skipped(name, "all runs", reason))
        return
    runs: dict[str, Run] = {}
    kind = next((kind for kind in METHODS if kind in study), "")
    methods = study.get(kind, [""])
    parts = tuple(f"{group}@task.{group}={name}" for group, name in study["with"].items())
    for method in _all(kind, user) if methods == "all" else methods:
        composed = base(study["task"], parts, kind, method)
        needs = study.get("needs", [])
        theory = (composed.get(kind) or {}).get("theory") or {}
        if needs and all(theory.get(key) is None for key in needs):
            reason = f"its config claims no {' or '.join(needs)} under `theory`"
            plan.skipped.append(Skipped(name, method, reason))
            continue
        for values in itertools.product(*study["axes"].values()):
            axes = dict(zip(study["axes"], values, strict=True))
            config = copy.deepcopy(composed)
            for key, value in {**study["set"], **axes}.items():
                _update(config, key, value, f"conf/study/{name}.yaml")
            run = _make_run(name, kind, config, axes, user, digest)
            try:
                if kind:
                    family_of(run.config)
            except SizeError as error:
                plan.skipped.append(Skipped(name, run.name, str(error)))
                continue
            except (ValueError, TypeError) as error:
                raise ConfigError(f"study {name}: {run.name}: {error}") from None
            runs[run.name] = run
    plan.runs[name] = dict(sorted(runs.items()))


def _update(config: DictConfig, key: str, value: Any, place: str) -> None:
    try:
        OmegaConf.update(config, key, value, merge=False)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{place}: {key}: {str(error).splitlines()[0]}") from None


def _make_run(
    study: str,
    kind: str,
    config: DictConfig,
    axes: dict[str, Any],
    user: Path | None,
    digest: Callable[..., str],
) -> Run:
    resolved = frozen(config)
    short = {key.rpartition(".")[2]: value for key, value in axes.items()}
    method, label = NO_METHOD, NO_METHOD
    if kind:
        method, label = config[kind].name, config[kind].get("label", config[kind].name)
        short["b"] = resolved["b"]  # a sketch may have a size of its own
    name = f"{method}/" + "-".join(f"{key}{value}" for key, value in short.items())
    columns = {"method": method, "label": label, **short}
    return Run(study, name, resolved, signature(resolved, user, digest), columns)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.plan", description="List the runs that the studies expand to."
    )
    parser.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    parser.add_argument("--kernels", default="auto", help="auto, numpy, numba or cupy")
    parser.add_argument("--seed", type=int, default=0, help="root seed (default: 0)")
    parser.add_argument("--studies", default="all", help="names separated by commas")
    parser.add_argument("--folder", default="", help="your own folder of sketches")
    options = parser.parse_args(arguments)
    try:
        plan = expand(options.scale, options.kernels, options.seed, options.studies, options.folder)
    except (ConfigError, ValueError, RuntimeError) as error:
        sys.exit(f"sketchbench: error: {error}")
    for study, runs in plan.runs.items():
        for run in runs.values():
            print(f"{study:24s} {run.name:56s} {run.signature}")
    for skipped in plan.skipped:
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(f"{sum(map(len, plan.runs.values()))} runs, {len(plan.skipped)} skipped")


if __name__ == "__main__":
    main()
