"""From studies to runs: which runs exist, their frozen configs, and what code each depends on.

`sketchbench plan --runs` lists the runs. Everything that decides a run's outcome is in its
config and in its code digest; the two make its signature. Snakemake reruns a run when its
signature changes, and tables refuse a record that bears another one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sketchbench import kernels, seeds
from sketchbench.config import study
from sketchbench.config.composition import METHODS, Composer, user_folder
from sketchbench.config.schema import SCALES, load, validate
from sketchbench.errors import ConfigError
from sketchbench.inspection import files
from sketchbench.inspection.check import check_folder
from sketchbench.inspection.supervision import SECONDS
from sketchbench.parameters import choose
from sketchbench.plan import cost
from sketchbench.plan.expansion import Expansion
from sketchbench.plan.plan import Plan, Skipped, standing_file
from sketchbench.plan.selection import ALL, Own, places_of, selection_of, unjudged
from sketchbench.project import CONF
from sketchbench.report import standing
from sketchbench.report.standing import Table
from sketchbench.run.digest import CodeDigest


def from_settings(settings: dict[str, Any], main: bool = True) -> Plan:
    """The plan of the workflow's settings (conf/workflow.yaml with what the user changed).

    Arguments:
        settings: as the schema of the workflow has them.
        main: whether this process decides what is made, and is not one of its jobs.

    Raises ConfigError for a setting that the schema does not know, RuntimeError where CuPy is asked for, the jobs run
    here, and there is no device, and FileError in a job that can't read what the main process wrote for it.
    """
    load(CONF / "workflow.yaml")  # Snakemake takes the last one of keys that are there twice
    validate(settings, "workflow", "settings")
    if settings["device"] == "here":
        kernels.usable(settings["kernels"])
    beside = settings["beside"] if settings["only"] else None
    if beside is not None and not settings["folder"]:
        raise ConfigError("only=mine needs folder=DIR as well, the folder of your own methods")
    # also where all studies are chosen: those that are too long stay as they are
    places = places_of(settings["scale"], user_folder(settings["folder"]), apart=beside is not None)
    found = standing_file(places)
    there = standing.find_tables(Path(places.reports), settings["scale"]) if main else standing.from_json(Path(found))
    plan = expand(
        *(settings[name] for name in ("scale", "kernels", "seed", "studies", "folder")),
        there=there,
        together=settings["together"][settings["scale"]],
        beside=beside,
        seconds=settings["check_seconds"],
    )
    plan.minutes, plan.present = settings["minutes"] or None, settings["trials"] == "there"
    return plan


def from_options(options: Mapping[str, Any]) -> Plan:
    """The plan of the workflow's settings but for some that a command was given, where nothing is run now.

    Arguments:
        options: by the names of the settings; None: as conf/workflow.yaml says.

    Raises what `from_settings` does.
    """
    settings = load(CONF / "workflow.yaml")
    validate(settings, "workflow", "conf/workflow.yaml")
    chosen = {name: value for name, value in options.items() if value is not None}
    return from_settings({**settings, **chosen, "device": "elsewhere"})


def expand(
    scale: str = "quick",
    kernels_name: str = "auto",
    seed: int = 0,
    studies: str = "all",
    folder: str | Path = "",
    *,
    conf: Path = CONF,
    together: int | Literal["all"] = 1,
    beside: Mapping[str, Sequence[str]] | None = None,
    seconds: float = SECONDS,
    there: Mapping[str, Table] | None = None,
) -> Plan:
    """Expand studies into runs.

    Arguments:
        scale: a file of conf/scale.
        kernels_name: the backend; `auto` takes what is there.
        seed: the root of all randomness.
        studies: `all`, or names separated by commas.
        folder: a user's own, with `sketch/*.yaml` and perhaps modules; it is checked, and put on the module path.
        conf: the folder of all configs.
        together: how many runs of a study share a process at most, where the study does not say; `all`: all studies
            share a few processes.
        beside: by kind, the project's methods that a user's own are compared with, in the studies that take them up;
            None: all methods of all studies.
        seconds: how long the check of one of the user's methods may take.
        there: the tables that are there, by study. Those of studies that were not chosen stay as they are.

    Raises:
        ValueError: for an unknown study, in one line.
        ConfigError, SchemaError: for whatever is wrong in the configs, in one line; for a user's folder in a line for
            each mistake.
    """
    choose("scale", scale, SCALES)
    seeds.key(seed)  # refuses what is no seed
    user = user_folder(folder)
    if user:
        check_folder(user, conf, limit=seconds)
    places, known = places_of(scale, user, apart=beside is not None), study.names(conf)
    shared = together == "all"
    plan = Plan(scale, kernels.resolve(kernels_name), seed, places, beside is None, known, shared=shared)
    gpu = plan.kernels == "cupy"
    found = {name: study.read(conf, name, scale, gpu=gpu) for name in known}
    if studies == ALL:
        chosen = [name for name, one in found.items() if gpu or not one.long]
    else:
        chosen = [name.strip() for name in studies.split(",")]
    for name in chosen:
        choose("study", name, known)
    planned = [found[name] for name in chosen]
    others = [one for name, one in found.items() if name not in chosen]
    always = [one for one in others if one.always and scale in one.scales]
    there = {name: table for name, table in (there or {}).items() if name not in chosen}
    composer = Composer(conf, user)
    own = _own(composer, user) if user else {}
    selection = selection_of([*planned, *others], conf, own, beside)
    size = 1 if together == "all" else together
    expansion = Expansion(plan, user, composer, CodeDigest(), size, selection, cost.read())
    for one in planned:
        expansion.add(one)
    for one in others:
        expansion.keep(one, there.get(one.name))
    for one in always:
        expansion.add_always(one, there.get(one.name))
    for name, theory in own.get("sketch", {}).items():
        for measuring, key, reason in unjudged(conf, theory):
            plan.skipped.append(Skipped(measuring, f"{name}: theory.{key}", reason))
    composer.remember()
    return plan


def _own(composer: Composer, user: Path) -> Own:
    """The user's methods by kind, each with what its config claims."""
    found: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in METHODS}
    for kind, names in files.methods(user).items():
        for name in names:
            config = composer.resolved((f"{kind}={name}",), {}, "").config
            found[kind][name] = config[kind].get("theory") or {}
    return found
