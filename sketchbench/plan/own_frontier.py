"""The frontier on a user's data, network and partition: its size, its study, and its reports.

The time of a few rounds determines the size. The study has the judging and the compressors of the project's study
`frontier`; its runs are planned, batched and done as those of the workflow.
"""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from hydra.utils import instantiate

from sketchbench.base.files import parse_json, write_text
from sketchbench.base.project import CONF, PROJECT
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.message import Layout
from sketchbench.federated.rate_choice import RateChoice
from sketchbench.federated.tuning import hold_out
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.neighbours import compare
from sketchbench.learning.dataset.partition import Parts, deal
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.networks import initialise
from sketchbench.plan.expansion import Expansion
from sketchbench.plan.inspection.data import doubts
from sketchbench.plan.inspection.dealing import classes_of_clients
from sketchbench.plan.inspection.forward import check_slopes
from sketchbench.plan.plan import Plan
from sketchbench.plan.selection import MINE, Places, Selection
from sketchbench.report.claim import judge
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.figure import drawing
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.frontier import TRAINING, cells
from sketchbench.report.table import joining
from sketchbench.run.config.chapters import claims
from sketchbench.run.config.composition import Composer, load_part
from sketchbench.run.config.study import Study, read
from sketchbench.run.digest import CodeDigest
from sketchbench.run.execution import execute
from sketchbench.sketch.family import SizeError

KIND = "compressor"
PLAIN, DENSE = "none", "sketched_layers"  # no compression; the compressor of dense layers alone
FEW = (PLAIN, "fiht", "power_sgd", "top_k", "sign", "fetch_sgd", "control/silent")  # of the findings F1 to F5
SPARE = 0.8  # share of the hours, and of a client's records, that is planned with
TRIED = 4  # trainings that are timed
LONG = 0.5  # seconds; a longer difference of two times is trusted
MOST = 64  # rounds that are timed
JUDGED, EVERY, BATCH = 5, 5, 16  # judged rounds; rounds between tests of the target; records of a batch
FIRST = 50  # rounds, at most, of the trainings that try the grid of learning rates
STACK = 2**26  # bytes
SIZE = "size.json"


class Size(NamedTuple):
    """The size of a frontier: rounds and trainings of each method, trainings that try a learning rate, learning rates,
    compressions, and whether all compressors take part or only those of FEW."""

    rounds: int
    trials: int
    tried: int
    rates: tuple[float, ...]
    compressions: tuple[int, ...]
    whole: bool = True

    @property
    def tuning(self) -> RateChoice:
        """How learning rates are chosen."""
        return RateChoice(list(self.rates), min(FIRST, self.rounds), self.tried)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of this size, by key of the task."""
        tuning = {f"tuning.{name}": value for name, value in asdict(self.tuning).items()}
        rounds = {"training.rounds": self.rounds, "training.judged": min(JUDGED, self.rounds), "training.every": EVERY}
        return {"trials": self.trials, **rounds, **tuning, "judging.budgets": [1, *self.compressions]}

    def __str__(self) -> str:
        budgets = ", ".join(f"1/{one}" for one in self.compressions)
        who = "all compressors" if self.whole else f"{len(FEW) - 2} compressors ({', '.join(FEW[1:-1])})"
        rates = f"{self.tried} trainings at each learning rate of {len(self.rates)} and others beside the best"
        return f"{self.trials} trainings of {self.rounds} rounds, after {rates}, at {budgets} of the bytes; {who}"


RATES, COARSE = (0.02, 0.056, 0.157, 0.439, 1.23), (0.056, 0.157, 0.439)
FULL = Size(50, 40, 5, RATES, (4, 16, 64))  # as on digits
# The largest first. Trials are reduced last: with fewer than 18 no test of a median decides anything, at the error rate
# of all comparisons.
SIZES = (
    *(FULL._replace(rounds=rounds) for rounds in (400, 200, 100, 50)),
    FULL._replace(trials=24, tried=1),
    FULL._replace(trials=24, tried=1, compressions=(4, 16)),
    FULL._replace(trials=24, tried=1, compressions=(4, 16), whole=False),
    FULL._replace(trials=24, tried=1, compressions=(4, 16), whole=False, rates=COARSE),
    Size(25, 24, 1, COARSE, (4, 16), whole=False),
    Size(25, 18, 1, COARSE, (16,), whole=False),
    Size(10, 6, 1, COARSE, (16,), whole=False),
    Size(3, 2, 1, (0.2,), (16,), whole=False),
)


@dataclass(frozen=True)
class OwnProblem:
    """The data, the network and the clients of a frontier.

    Arguments:
        dataset, model: names of files in conf or in the user's folder.
        partitions: the config of a partition, by case.
        kernels, seed: as in every run.
        folder: the user's.
    """

    dataset: str
    model: str
    partitions: Mapping[str, Any]
    kernels: str
    seed: int
    folder: Path

    @property
    def name(self) -> str:
        """The name of the reports."""
        return f"{self.dataset}-{self.model}"

    @property
    def groups(self) -> dict[str, str]:
        """The option of each group of the task's config."""
        return {"dataset": self.dataset, "model": self.model}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of every run on this problem, by key of the task."""
        cases = list(self.partitions)
        return {
            "partitions": dict(self.partitions),
            **{"training.batch": self.batch, "training.apart": 1, "training.stack": self.stack},
            **{"training.cases": cases, "training.taking_part": {}},
            **{"privacy.case": cases[0], "privacy.epsilons": [], "privacy.distributed": []},
        }

    def composed(self, compressor: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The config of one run outside of the study, with settings by key of the task."""
        overrides = (f"task={TRAINING}", f"{KIND}={compressor}", *self._options)
        task = {f"task.{key}": value for key, value in settings.items()}
        values = {"kernels": self.kernels, "seed": self.seed, **task}
        return self._composer.resolved(overrides, values, self.name).config

    @property
    def _options(self) -> tuple[str, ...]:
        return tuple(f"{group}@task.{group}={option}" for group, option in self.groups.items())

    @cached_property
    def _composer(self) -> Composer:
        return Composer(CONF, self.folder)

    @cached_property
    def _task(self) -> dict[str, Any]:
        """The section of the task with the data set and the model."""
        return dict(self._composer.resolved((f"task={TRAINING}", *self._options), {}, self.name).config["task"])

    @cached_property
    def data(self) -> Dataset:
        made: Dataset = instantiate(self._task["dataset"], _convert_="all")()
        return made

    @cached_property
    def layout(self) -> Layout:
        """The shapes of the network's update."""
        return Layout(tuple(tuple(value.shape) for value in self._network.parameters()))

    @cached_property
    def _network(self) -> Any:
        make, shape, classes = instantiate(self._task["model"], _convert_="all"), self.data.shape, self.data.classes
        check_slopes(make, shape, classes, self.kernels)
        return initialise(lambda: make(shape=shape, classes=classes), self.seed, shape)

    @cached_property
    def dealt(self) -> dict[str, Parts]:
        """The clients' images at one seed, by case."""
        made = {case: instantiate(dict(node), _convert_="all") for case, node in self.partitions.items()}
        labels = self.data.train.labels
        return {case: deal(make, labels, 0, self.data.users) for case, make in made.items()}

    @property
    def clients(self) -> dict[str, int]:
        """The number of clients, by case."""
        return {case: len(parts) for case, parts in self.dealt.items()}

    @property
    def stack(self) -> int:
        """The number of trainings at once; the updates of all their clients take at most STACK bytes."""
        return max(1, min(FULL.trials, STACK // (max(self.clients.values()) * self.layout.nbytes)))

    def place(self, hours: float) -> Path:
        """The folder of the records and of the size, by images, network, partitions and hours."""
        about = [self.data.digest, self._task["model"], dict(self.partitions), self.kernels, self.seed, hours]
        key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
        return self.folder / "results" / TRAINING / f"{self.name}-{key}"

    @cached_property
    def batch(self) -> int:
        """The number of a client's records in a round."""
        return max(1, min(BATCH, *(smallest(node, self.data, self.seed)[0] for node in self.partitions.values())))

    def compressors(self, whole: bool) -> list[str]:
        """The names of the compressors: the project's (only those in FEW if `whole` is false) and the user's own."""
        study = read(CONF, TRAINING, "quick")
        own = sorted(path.stem for path in (self.folder / KIND).glob("*.yaml"))
        listed = [name for method in study.methods for name in (own if method == MINE else [method])]
        dense = is_perceptron(self._network)
        return [name for name in listed if (whole or name in (*FEW, *own)) and (dense or name != DENSE)]

    def takes(self, compressor: str, compression: float, compressions: Sequence[float]) -> bool:
        """Return whether a compressor fits the budget of a compression."""
        make = instantiate(self.composed(compressor, {})[KIND]["algorithm"], _partial_=True)
        try:
            at_budget(make, self.layout, compression, compressions)
        except SizeError:
            return False
        return True


def smallest(node: Mapping[str, Any], data: Dataset, seed: int) -> tuple[int, bool]:
    """Return the fewest records of a client in five partitions of nine tenths of the samples (a tenth is held out), and
    whether each partition gave all clients the same number."""
    make, sizes = instantiate(dict(node), _convert_="all"), []
    for trial in range(5):
        tried = hold_out(data, seed + trial)
        sizes.append({len(part) for part in deal(make, tried.train.labels.copy(), seed + trial, tried.users)})
    return min(map(min, sizes)), all(len(own) == 1 for own in sizes)


def even(node: Mapping[str, Any], data: Dataset, seed: int) -> tuple[dict[str, Any], str]:
    """Return a partition with the same number of records for each client, as stacked trainings need, and a note if
    clients keep only a part of their records."""
    fewest, equal = smallest(node, data, seed)
    if equal:
        return dict(node), ""
    kept = max(1, int(SPARE * fewest))
    target = "sketchbench.learning.dataset.partition.even"
    note = f"clients have unequal numbers of records, at least {fewest}; {kept} of each are drawn at random"
    return {"_target_": target, "_partial_": True, "partition": dict(node), "samples": kept}, note


def one_class(data: Dataset, clients: int) -> dict[str, Any]:
    """The config of clients of a single class each, as large as the classes allow."""
    fewest = int(np.unique(data.train.labels, return_counts=True)[1].min())
    sharing = -(-clients // len(np.unique(data.train.labels)))
    target, samples = "sketchbench.learning.dataset.partition.one_class", int(SPARE * fewest) // sharing
    return {"_target_": target, "_partial_": True, "clients": clients, "samples": max(1, samples)}


def problem_of(
    dataset: str, model: str, partition: str, clients: int, kernels: str, seed: int, folder: Path
) -> tuple[OwnProblem, list[str]]:
    """Return the problem of these files, and notes on the data set and on changes to the partition.

    It has clients of equal shares, and the clients of `partition`, or, if that is "", clients of one class each."""
    shares = {"_target_": "sketchbench.learning.dataset.partition.iid", "_partial_": True, "clients": clients}
    problem = OwnProblem(dataset, model, {"iid": shares}, kernels, seed, folder)
    notes = doubts(problem.data)
    case, other = "one class", one_class(problem.data, clients)
    if partition:
        other, note = even(load_part("partition", partition, CONF, folder), problem.data, seed)
        case = partition
        notes += [f"{partition}: {note}"] if note else []
    return replace(problem, partitions={"iid": shares, case: other}), notes


def describe(problem: OwnProblem) -> str:
    """Describe data, network and clients in one line, with near copies and the classes of a client."""
    data, cases = problem.data, " and ".join(problem.partitions)
    found = [f"{case} {classes_of_clients(p, data.train.labels, data.users)}" for case, p in problem.dealt.items()]
    copies = f"{len(compare(data).copies) / len(data.test.labels):.2%} of test images have a near copy in training"
    many = f"{len(data.train.labels):,} + {len(data.test.labels):,} images {data.shape} in {data.classes} classes"
    network = f"{problem.model}, {problem.layout.d:,} parameters"
    return f"{data.label}: {many}, {copies}; {network}; clients: {cases}; of each: {'; '.join(found)}"


def shrunk(size: Size) -> list[str]:
    """List, one line each, the settings that differ from the project's frontier on digits."""
    words = {"tried": "trainings that try a rate", "whole": "all compressors"}
    pairs = zip(Size._fields, size, FULL, strict=True)
    changed = [(words.get(name, name), _listed(here), _listed(there)) for name, here, there in pairs if here != there]
    return [f"{name}: {here}; the project's frontier has {there}" for name, here, there in changed]


def _listed(value: Any) -> str:
    words = {True: "yes", False: "no"} if isinstance(value, bool) else {}
    return ", ".join(map(str, value)) if isinstance(value, tuple) else words.get(value, str(value))


@dataclass(frozen=True)
class Costs:
    """The times of a problem.

    Arguments:
        rounds: seconds of a training's round, by compressor that fits a budget.
        evaluation: seconds of one accuracy of one network.
        run: further seconds of a run.
    """

    rounds: Mapping[str, float]
    evaluation: float
    run: float

    def __str__(self) -> str:
        slowest = max(self.rounds, key=lambda name: self.rounds[name])
        plain, most = 1000 * self.rounds[PLAIN], 1000 * self.rounds[slowest]
        return f"{plain:.2g} ms for a training's round without compression, {most:.2g} ms with {slowest}"

    def seconds(self, compressor: str, size: Size, cases: int) -> float:
        """Seconds of one compressor's trainings at one compression."""
        judged = min(JUDGED, size.rounds)
        tried = size.tried * sum(count * min(judged, rounds) for count, rounds in size.tuning.most(size.rounds))
        rounds = size.trials * size.rounds + size.tuning.all_rounds(size.rounds)
        evaluations = size.trials * (1 + judged + size.rounds // EVERY) + tried
        return cases * (rounds * self.rounds.get(compressor, 0.0) + evaluations * self.evaluation)

    def total(self, problem: OwnProblem, size: Size, cores: int) -> float:
        """Seconds of all runs at a size on so many processor cores. Each process trains once without compression."""
        cases, names = len(problem.partitions), problem.compressors(size.whole)
        runs = [(name, one) for name in names for one in (1, *size.compressions)]
        trained = [name for name, one in runs if problem.takes(name, one, (1, *size.compressions))]
        shared = len(runs) * self.run + sum(self.seconds(name, size, cases) for name in trained)
        return self.seconds(PLAIN, size, cases) + shared / cores


def measure(problem: OwnProblem) -> Costs:
    """Time a few rounds of every compressor on one thread; the first training is not timed, as it compiles."""
    numba.set_num_threads(1)
    names = problem.compressors(whole=True)
    fitting = {name: [one for one in (16, 4, 1) if problem.takes(name, one, (one,))][:1] for name in names}
    case, node = next(iter(problem.partitions.items()))
    alone = replace(problem, partitions={case: node}).settings

    def seconds(compressor: str, rounds: int, judged: int = 1) -> float:
        (one,) = fitting[compressor]
        size = Size(rounds, TRIED, 1, (0.06,), (one,)).settings
        again = {"compression": one, "training.judged": judged, "tuning.first": 1}
        config = problem.composed(compressor, {**alone, **size, **again, "judging.budgets": [one]})
        start = time.monotonic()
        execute(config)
        return time.monotonic() - start

    seconds(PLAIN, 1)
    most = 2
    while seconds(PLAIN, most) - seconds(PLAIN, 1) < LONG and most < MOST:
        most *= 2
    steps = TRIED * (most - 1)
    once = {name: seconds(name, 1) for name in names if fitting[name]}
    whole = {name: seconds(name, most) for name in once}
    seconds(PLAIN, most, most)  # whose trainings without compression are remembered
    judging = max(0.0, seconds(PLAIN, most, most) - whole[PLAIN])
    return Costs({name: max(0.0, whole[name] - once[name]) / steps for name in once}, judging / steps, once[PLAIN])


def choose_size(problem: OwnProblem, costs: Costs, hours: float, cores: int) -> Size:
    """Return the largest size that takes SPARE of the hours. Raises ValueError if none does."""
    for size in SIZES:
        if (needed := costs.total(problem, size, cores)) <= SPARE * 3600 * hours:
            return size
    raise ValueError(
        f"hours={hours:g} must be >= {needed / SPARE / 3600:.2g}, the time of the smallest run; give more hours, fewer "
        "images or clients, or a smaller network"
    )


def plan_of(problem: OwnProblem, size: Size, place: Path, cores: int) -> Plan:
    """Return the plan of the study at a size: a batch of runs for each core, with records in a folder."""
    methods = problem.compressors(size.whole)
    settings = {f"task.{key}": value for key, value in {**problem.settings, **size.settings}.items()}
    axes = {"task.compression": [1, *size.compressions]}
    study = Study(TRAINING, TRAINING, KIND, methods, ("quick",), (), axes, settings, problem.groups)
    places = Places(str(place), str(place / "logs"), str(problem.folder / "reports" / TRAINING / problem.name))
    own, names = {KIND: methods}, [TRAINING]
    plan = Plan("quick", problem.kernels, problem.seed, places, whole=False, own=own, all_studies=names)
    together = math.ceil(len(methods) * len(axes["task.compression"]) / cores)
    composer = Composer(CONF, problem.folder)
    Expansion(plan, problem.folder, composer, CodeDigest(), together, Selection({}, {}), {}).add(study)
    plan.scale = problem.name
    return plan


def do(plan: Plan, folder: Path) -> None:
    """Do the batches of a plan side by side, each in a process of its own; records that exist are kept.

    Raises RuntimeError if a process fails, after all have ended; its own error is on standard error.
    """
    plan.describe()
    for line in plan.check_records():
        print(line, file=sys.stderr)
    path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
    environment = {"NUMBA_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "sketchbench", "step", "job", "--folder", str(folder), "--receipt"]
    processes: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the processes, too
    try:
        for batch in plan.all_batches:
            with Path(batch.description).open(encoding="utf-8") as runs:
                processes.append(subprocess.Popen([*command, batch.receipt], stdin=runs, env=environment))
        failed = sum(process.wait() != 0 for process in processes)
    finally:
        for process in processes:
            process.terminate()
    if failed:
        raise RuntimeError(f"{failed} of {len(processes)} processes failed; rerun the same command to resume")


def write(problem: OwnProblem, plan: Plan, command: str) -> ReportedScale:
    """Write table, frontier, figure and verdicts of finished runs as reports of a scale with the problem's name; return
    that scale. `command` regenerates them. No verdict is predicted."""
    scale = ReportedScale(problem.name, Path(plan.places.reports))
    table = scale.reports / "tables" / f"{TRAINING}.csv"
    joining.make(TRAINING, json.loads(plan.manifest(TRAINING)), scale.name, table)
    trained = cells.TrainedStudy(problem.data.label, problem.clients, {}, lambda *_: command)
    cells.join([table], scale.name, scale.reports / "frontier.csv", {TRAINING: trained})
    figure = replace(read_catalogue(CONF / "figure")[TRAINING], title="", data=describe(problem), scales={})
    svg, png = (scale.reports / "figures" / f"{TRAINING}.{kind}" for kind in ("svg", "png"))
    drawing.make(TRAINING, figure, [table], scale.name, svg=svg, png=png)
    ids = [one.id for one in transfer.findings(CONF)]
    files = sorted({claims(CONF)[name] for name in ids})
    csv, markdown = (scale.reports / f"claims.{kind}" for kind in ("csv", "md"))
    judge.judge([table], files, [], plan.facts, csv=csv, markdown=markdown, only=ids)
    return scale


def size_in(place: Path) -> Size | None:
    """The size that an earlier call of the command chose in a folder; None without an earlier call."""
    try:
        content = parse_json((place / SIZE).read_text(encoding="utf-8"), SIZE)
        parts: list[Any] = [tuple(one) if isinstance(one, list) else one for one in content]
        return Size(*parts)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def keep_size(place: Path, size: Size) -> None:
    """Write the size, so that an interrupted run resumes at the same size."""
    write_text(place / SIZE, json.dumps(size))
