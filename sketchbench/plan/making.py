"""From settings to a plan: which runs there are, their resolved configs, and the code behind each.

`sketchbench plan --runs` lists the runs. The outcome of a run is decided by its config and by the digest of its code;
the two make its signature. Snakemake runs it again when its signature changes, and tables refuse a record with another.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sketchbench import kernels
from sketchbench.config import study
from sketchbench.config.composition import Composer, own_methods, user_folder
from sketchbench.config.schema import SCALES, load, validate
from sketchbench.errors import ConfigError
from sketchbench.parameters import choose
from sketchbench.plan import cost
from sketchbench.plan.expansion import Expansion
from sketchbench.plan.plan import Plan, Skipped, standing_file
from sketchbench.plan.selection import ALL, Own, places_of, selection_of, unjudged
from sketchbench.project import CONF
from sketchbench.report import standing
from sketchbench.report.standing import Table
from sketchbench.run.digest import CodeDigest


def settings_with(options: Mapping[str, Any]) -> dict[str, Any]:
    """The workflow's settings (conf/workflow.yaml), with options of a command in the place of some; None: as it is.

    Raises SchemaError, ConfigError: see `check_settings`.
    """
    settings = load(CONF / "workflow.yaml")
    validate(settings, "workflow", "conf/workflow.yaml")
    settings |= {name: value for name, value in options.items() if value is not None}
    check_settings(settings)
    return dict(settings)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check the workflow's settings.

    Raises:
        SchemaError, ConfigError: for a setting that is unknown, or not together with another.
    """
    load(CONF / "workflow.yaml")  # refuses a key that is there twice, of which Snakemake takes the last one
    validate(settings, "workflow", "settings")
    if settings["only"] and not settings["folder"]:
        raise ConfigError("only=mine needs folder=DIR as well, the folder of your own methods")


def check_kernels(name: str, elsewhere: bool) -> None:
    """Check that jobs will have the kernels of the plan.

    Arguments:
        name: the setting `kernels`.
        elsewhere: whether jobs run on other machines than this one.

    Raises:
        ConfigError: for `auto` elsewhere, which this machine can't decide.
        RuntimeError: for kernels that can't run here, where jobs do.
    """
    if not elsewhere:
        kernels.usable(name)
    elif name == "auto":
        raise ConfigError(
            "kernels=auto can't be decided here, as jobs run on other machines;"
            " set kernels=numba, or kernels=cupy where they have GPUs"
        )


def from_settings(settings: Mapping[str, Any], main: bool = True) -> Plan:
    """The plan of checked settings.

    Arguments:
        settings: see `check_settings`. The user's folder must have been checked, too (`inspection.check`).
        main: whether this process decides on the runs; False in its jobs, which read what it decided.

    Raises:
        ConfigError, SchemaError: for mistakes in configs.
        FileError: in a job that can't read what the main process wrote for it.
    """
    beside = settings["beside"] if settings["only"] else None
    places = places_of(settings["scale"], user_folder(settings["folder"]), apart=beside is not None)
    if main:
        tables = standing.find_tables(Path(places.reports), settings["scale"])
    else:
        tables = standing.from_json(Path(standing_file(places)))
    return expand(
        *(settings[name] for name in ("scale", "kernels", "seed", "studies", "folder")),
        tables=tables,
        together=settings["together"][settings["scale"]],
        beside=beside,
        minutes=settings["minutes"] or None,
        reuse_trials_only=settings["trials"] == "there",
    )


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
    tables: Mapping[str, Table] | None = None,
    minutes: float | None = None,
    reuse_trials_only: bool = False,
) -> Plan:
    """Expand studies into runs.

    Arguments:
        scale: a file of conf/scale.
        kernels_name: the backend; `auto` is decided here, by whether this machine has a GPU.
        seed: the root of all randomness, >= 0.
        studies: `all`, or names separated by commas.
        folder: the user's own, with YAML files of methods and perhaps modules; it is put on the module path.
        conf: the folder of all configs.
        together: the largest number of runs in a process, where the study does not say; `all`: all studies share a few
            processes.
        beside: by kind, the project's methods that the user's own are compared with, in the studies that take them up;
            None: all methods of all studies.
        tables: those that are there, by study. The tables of studies that were not chosen stay as they are.
        minutes: the time limit of runs that can stop and go on; None for none.
        reuse_trials_only: run no trials; join records from the trials that are there.

    Raises:
        ValueError: for an unknown study, in one line.
        ConfigError, SchemaError: for mistakes in configs, in one line.
    """
    choose("scale", scale, SCALES)
    if seed < 0:
        raise ValueError(f"seed={seed} must be >= 0")
    user, all_studies = user_folder(folder), study.names(conf)
    plan = Plan(
        scale,
        kernels.resolve(kernels_name),
        seed,
        places_of(scale, user, apart=beside is not None),
        whole=beside is None,
        all_studies=all_studies,
        shared=together == "all",
        reuse_trials_only=reuse_trials_only,
    )
    gpu = plan.kernels == "cupy"
    read = {name: study.read(conf, name, scale, gpu=gpu) for name in all_studies}
    if studies == ALL:
        chosen = [name for name, one in read.items() if gpu or not one.long]
    else:
        chosen = [choose("study", name.strip(), all_studies) for name in studies.split(",")]
    others = [one for name, one in read.items() if name not in chosen]
    composer = Composer(conf, user)
    own = _claimed(composer, user) if user else {}
    selection = selection_of([*(read[name] for name in chosen), *others], conf, own, beside)
    size = 1 if together == "all" else together
    expansion = Expansion(plan, user, composer, CodeDigest(), size, selection, cost.read(), minutes)
    tables = tables or {}
    for name in chosen:
        expansion.add(read[name])
    for one in others:
        expansion.keep(one, tables.get(one.name))
    for one in others:
        if one.always and scale in one.scales:
            expansion.add_always(one, tables.get(one.name))
    for name, theory in own.get("sketch", {}).items():
        for measuring, key, reason in unjudged(conf, theory):
            plan.skipped.append(Skipped(measuring, f"{name}: theory.{key}", reason))
    composer.remember()
    return plan


def _claimed(composer: Composer, user: Path) -> Own:
    """The user's methods by kind and name, each with the `theory` that its config claims; of sketches alone."""

    def theory(kind: str, name: str) -> dict[str, Any]:
        if kind != "sketch":
            return {}
        return composer.resolved((f"{kind}={name}",), {}, "").config[kind]["theory"] or {}

    return {kind: {name: theory(kind, name) for name in names} for kind, names in own_methods(user).items()}
