"""From settings to a plan: the runs, their resolved configs and their signatures.

`sketchbench plan --runs` lists the runs. A run's config and the digest of its code determine its outcome, and make its
signature. Snakemake repeats a run when its signature changes; tables reject a record with another signature.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from sketchbench import kernels
from sketchbench.base.errors import ConfigError
from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF
from sketchbench.plan import cost
from sketchbench.plan.expansion import Expansion
from sketchbench.plan.inspection.check import check_folder
from sketchbench.plan.inspection.files import own_methods
from sketchbench.plan.plan import RUNS, Plan, Skipped, standing_file
from sketchbench.plan.selection import ALL, Methods, Places, places_of, selection_of, unjudged
from sketchbench.report import standing
from sketchbench.report.standing import RunTable
from sketchbench.run.config import chapters as chapters_of
from sketchbench.run.config import study
from sketchbench.run.config.composition import Composer, user_folder
from sketchbench.run.config.schema import SCALES, load, validate
from sketchbench.run.digest import CodeDigest

FindTables = Callable[[Places, str], Mapping[str, RunTable]]


def settings_with(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the workflow's settings (conf/workflow.yaml), overridden by the options that are not None; raises as
    `check_settings`."""
    settings = load(CONF / "workflow.yaml")
    validate(settings, "workflow", "conf/workflow.yaml")
    settings |= {k: str(v) if isinstance(v, Path) else v for k, v in options.items() if v is not None}
    check_settings(settings)
    return dict(settings)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise SchemaError or ConfigError for an unknown setting, and for a setting that needs another."""
    load(CONF / "workflow.yaml")  # rejects a duplicate key; Snakemake takes the last
    validate(settings, "workflow", "settings")
    if settings["only"] and not settings["folder"]:
        raise ConfigError("--only mine needs --folder DIR, the folder of your own methods")


def check_kernels(name: str, elsewhere: bool) -> None:
    """Check the setting `kernels`: ConfigError for `auto` if jobs run `elsewhere`, on other machines; RuntimeError for
    kernels that this machine lacks if jobs run here."""
    if not elsewhere:
        kernels.usable(name)
    elif name == "auto":
        remedy = "choose --kernels numba, or --kernels cupy if they have GPUs"
        raise ConfigError(f"--kernels auto is undecided, since jobs run on other machines; {remedy}")


def from_settings(settings: Mapping[str, Any], main: bool = True) -> Plan:
    """Return the plan of checked settings, after a check of the user's folder; raises as `expand` and `check_folder`.

    The `main` process decides on the runs. Its jobs read which tables it found, and raise FileError if they can't."""
    if (user := user_folder(settings["folder"])) and main:
        check_folder(user)
    return expand(
        settings["scale"],
        settings["kernels"],
        settings["seed"],
        settings["studies"],
        user,
        chapters=settings["chapters"],
        tables=_find_tables if main else _planned_tables,
        together=settings["together"][settings["scale"]],
        beside=settings["beside"] if settings["only"] else None,
        minutes=settings["minutes"] or None,
        reuse_trials_only=settings["trials"] == "there",
    )


def _find_tables(places: Places, scale: str) -> Mapping[str, RunTable]:
    return standing.find_tables(Path(places.reports), scale)


def _planned_tables(places: Places, _: str) -> Mapping[str, RunTable]:
    return standing.from_json(Path(standing_file(places)))


def expand(
    scale: str = "quick",
    kernels_name: str = "auto",
    seed: int = 0,
    studies: str = "all",
    user: Path | None = None,
    *,
    chapters: str = "all",
    conf: Path = CONF,
    together: int | Literal["all", "short"] = 1,
    beside: Methods | None = None,
    tables: FindTables | None = None,
    minutes: float | None = None,
    reuse_trials_only: bool = False,
) -> Plan:
    """Expand studies into runs.

    Arguments:
        kernels_name: the backend; `auto` becomes `cupy` if this machine has a GPU.
        seed: the root of all randomness, >= 0.
        studies: `all`, or names separated by commas.
        chapters: `all`, or folders of conf/study, separated by commas, if `studies` is `all`.
        user: the user's folder, of `user_folder`, with YAML files of methods and perhaps modules.
        together: the largest number of runs in a process, for a study without its own number; `all`: all studies share
            a few processes; `short`: short studies share processes, and others have up to `RUNS` runs in a process.
        beside: see `Selection`.
        tables: returns the existing tables by study. Tables of studies that are not chosen are kept.
        minutes: the time limit of runs that can resume; None for none.
        reuse_trials_only: run no trials; join records from the existing trials.

    Raises ValueError, ConfigError or SchemaError, in one line, for an unknown study and for mistakes in configs.
    """
    choose("scale", scale, SCALES)
    if seed < 0:
        raise ValueError(f"seed={seed} must be >= 0")
    names = study.names(conf)
    places = places_of(scale, user, apart=beside is not None)
    plan = Plan(scale, kernels.resolve(kernels_name), seed, places, whole=beside is None, all_studies=names)
    plan.sharing, plan.reuse_trials_only = together if isinstance(together, str) else "", reuse_trials_only
    gpu = plan.kernels == "cupy"
    read = {name: study.read(conf, name, scale, gpu=gpu) for name in names}
    if ALL not in (studies, chapters):
        raise ConfigError(f"studies={studies} and chapters={chapters} both choose; give one of them")
    if studies == ALL:
        of = {name: path.parent.name for name, path in chapters_of.named(conf, "study").items()}
        known = sorted(set(of.values()))
        taken = known if chapters == ALL else [choose("chapter", one.strip(), known) for one in chapters.split(",")]
        chosen = [one for one in read.values() if of[one.name] in taken and (gpu or not one.long)]
    else:
        chosen = [read[choose("study", name.strip(), names)] for name in studies.split(",")]
    others = [one for one in read.values() if one not in chosen]
    composer = Composer(conf, user)
    named = own_methods(user) if user else {}
    plan.own = {kind: methods for kind, methods in named.items() if methods}
    own: dict[str, dict[str, Any]] = {kind: {name: {} for name in methods} for kind, methods in named.items()}
    for name in own.get("sketch", ()):
        own["sketch"][name] = composer.resolved((f"sketch={name}",), {}, "").config["sketch"]["theory"] or {}
    selection = selection_of([*chosen, *others], conf, own, beside)
    size = together if isinstance(together, int) else RUNS
    expansion = Expansion(plan, user, composer, CodeDigest(), size, selection, cost.read(), minutes)
    existing = tables(places, scale) if tables else {}
    for one in chosen:
        expansion.add(one)
    for one in others:
        expansion.keep(one, existing.get(one.name))
    for one in others:
        if one.always and scale in one.scales:
            expansion.add_always(one, existing.get(one.name))
    for name, theory in own.get("sketch", {}).items():
        for measuring, key, reason in unjudged(conf, theory):
            plan.skipped.append(Skipped(measuring, f"{name}: theory.{key}", reason))
    composer.remember()
    return plan
