"""The frontier on data, network and partition of one's own: at which size, by the time that rounds take, and its runs.

The task `frontier` is composed as a study composes it, with the judging and the compressors of the project's study.
"""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hydra.utils import instantiate

from sketchbench.base.files import parse_json, write_text
from sketchbench.base.project import CONF
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.message import Layout
from sketchbench.federated.paired import RateChoice
from sketchbench.federated.tuning import hold_out
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.dataset.partition import deal
from sketchbench.learning.model.networks import initialise
from sketchbench.learning.objective.stacked import is_perceptron
from sketchbench.plan.cost import format_duration
from sketchbench.plan.selection import MINE
from sketchbench.report.claim import judge
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.figure import drawing
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.frontier import TRAINING, cells
from sketchbench.report.table import joining
from sketchbench.run import job, record
from sketchbench.run.config.composition import Composed, Composer, load_part
from sketchbench.run.config.study import read
from sketchbench.run.execution import execute
from sketchbench.run.signature import signature
from sketchbench.sketch.family import SizeError

PLAIN, DENSE = "none", "sketched_layers"  # no compression; the compressor of dense layers alone
FEW = (PLAIN, "fiht", "power_sgd", "top_k", "sign", "fetch_sgd", "control/silent")  # of the findings F1 to F5
SPARE = 0.8  # share of the hours, and of a client's records, that is planned with
TRIED = 4  # trainings that are timed
LONG = 0.5  # seconds between two measurements, from which on a difference is trusted
MOST = 64  # rounds that are timed
JUDGED, EVERY, BATCH = 5, 5, 16  # rounds that are judged; from one on the way to the next; records of a batch
FIRST, KEPT = 15, 2  # rounds of the first heat, and learning rates that are tried again
STACK = 2**26  # bytes
SIZE = "size.json"


class Size(NamedTuple):
    """How much is run: rounds and trainings of each method, trainings and learning rates that are tried, compressions,
    and whether all compressors take part, or those of FEW."""

    rounds: int
    trials: int
    tried: int
    rates: tuple[float, ...]
    compressions: tuple[int, ...]
    whole: bool = True

    @property
    def tuning(self) -> RateChoice:
        """How learning rates are chosen."""
        return RateChoice(list(self.rates), min(FIRST, self.rounds), KEPT, self.rounds, self.tried)

    def __str__(self) -> str:
        budgets = ", ".join(f"1/{one}" for one in self.compressions)
        who = "all compressors" if self.whole else f"{len(FEW) - 2} compressors ({', '.join(FEW[1:-1])})"
        rates = f"{self.tried} trainings at each of {len(self.rates)} learning rates"
        return f"{self.trials} trainings of {self.rounds} rounds, after {rates}, at {budgets} of the bytes; {who}"


RATES, COARSE = (0.02, 0.06, 0.2, 0.6, 1.8), (0.06, 0.2, 0.6)
FULL = Size(50, 24, 3, RATES, (4, 16, 64))  # as on digits
# From the largest on. Trials are kept as long as can be: of fewer than 18 no test of a median decides anything at the
# error rate of all comparisons.
SIZES = (
    *(FULL._replace(rounds=rounds) for rounds in (400, 200, 100, 50)),
    FULL._replace(tried=1),
    FULL._replace(tried=1, compressions=(4, 16)),
    FULL._replace(tried=1, compressions=(4, 16), whole=False),
    FULL._replace(tried=1, compressions=(4, 16), whole=False, rates=COARSE),
    Size(25, 24, 1, COARSE, (4, 16), whole=False),
    Size(25, 18, 1, COARSE, (16,), whole=False),
    Size(10, 6, 1, COARSE, (16,), whole=False),
    Size(3, 2, 1, (0.2,), (16,), whole=False),
)


@dataclass(frozen=True)
class Problem:
    """What the compressors are tried on.

    Arguments:
        dataset, model: names of files of conf or of the user's folder.
        partitions: the config of a partition, by case.
        kernels, seed: as of every run.
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
        """The name of its reports."""
        return f"{self.dataset}-{self.model}"

    def composed(self, compressor: str, **values: Any) -> Composed:
        """The config of a run, with values by key of the task, `__` for a dot."""
        overrides = (
            f"task={TRAINING}",
            f"compressor={compressor}",
            *(f"{group}@task.{group}={getattr(self, group)}" for group in ("dataset", "model")),
            *(f"{name}={getattr(self, name)}" for name in ("kernels", "seed")),
        )
        settings: dict[str, Any] = {"partitions": self.partitions, "training.batch": self.batch, "training.apart": 1}
        settings |= {"privacy.epsilons": [], "privacy.distributed": [], "training.taking_part": {}}
        settings |= {key.replace("__", "."): value for key, value in values.items()}
        cases = list(settings["partitions"])
        settings |= {"training.cases": cases, "privacy.case": cases[0]}
        task = {f"task.{key}": value for key, value in settings.items()}
        return self._composer.resolved(overrides, task, self.name)

    @cached_property
    def _composer(self) -> Composer:
        return Composer(CONF, self.folder)

    @cached_property
    def _task(self) -> dict[str, Any]:
        """The section of the task, for its parts that depend on nothing else."""
        overrides = tuple(f"{group}@task.{group}={getattr(self, group)}" for group in ("dataset", "model"))
        return dict(self._composer.resolved((f"task={TRAINING}", *overrides), {}, self.name).config["task"])

    @cached_property
    def data(self) -> Dataset:
        made: Dataset = instantiate(self._task["dataset"], _convert_="all")()
        return made

    @cached_property
    def layout(self) -> Layout:
        """Of the network's update."""
        return Layout(tuple(tuple(value.shape) for value in self._network.parameters()))

    @cached_property
    def _network(self) -> Any:
        make = instantiate(self._task["model"], _convert_="all")
        return initialise(lambda: make(shape=self.data.shape, classes=self.data.classes), self.seed)

    @cached_property
    def clients(self) -> dict[str, int]:
        """The number of clients, by case."""
        made = {case: instantiate(dict(node), _convert_="all") for case, node in self.partitions.items()}
        return {case: len(deal(make, self.data.train.labels, 0, self.data.users)) for case, make in made.items()}

    @property
    def stack(self) -> int:
        """Trainings at once, of whose clients' updates a single array takes at most STACK bytes."""
        return max(1, min(FULL.trials, STACK // (max(self.clients.values()) * self.layout.nbytes)))

    def place(self, hours: float) -> Path:
        """The folder of the records of this problem, with these images, and of the size for so many hours."""
        about = [self.data.digest, self._task["model"], dict(self.partitions), self.kernels, self.seed, hours]
        key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
        return self.folder / "results" / TRAINING / f"{self.name}-{key}"

    @cached_property
    def batch(self) -> int:
        """Records of a client in a round."""
        return max(1, min(BATCH, *(smallest(node, self.data, self.seed)[0] for node in self.partitions.values())))

    def compressors(self, whole: bool) -> list[str]:
        """The names of the compressors: those of the project's study, and the user's own; or the few of FEW."""
        study = read(CONF, TRAINING, "quick")
        own = sorted(path.stem for path in (self.folder / "compressor").glob("*.yaml"))
        listed = [name for method in study.methods for name in (own if method == MINE else [method])]
        dense = is_perceptron(self._network)
        return [name for name in listed if (whole or name in (*FEW, *own)) and (dense or name != DENSE)]

    def takes(self, compressor: str, compression: float, compressions: Sequence[float]) -> bool:
        """Whether a compressor is trained at a compression, and not refused."""
        make = instantiate(self.composed(compressor).config["compressor"]["algorithm"], _partial_=True)
        try:
            at_budget(make, self.layout, compression, compressions)
        except SizeError:
            return False
        return True


def smallest(node: Mapping[str, Any], data: Dataset, seed: int) -> tuple[int, bool]:
    """The fewest records of a client, by five partitions of nine tenths of the samples, as where a tenth is held out;
    and whether each gave all clients equally many."""
    make, sizes = instantiate(dict(node), _convert_="all"), []
    for trial in range(5):
        tried = hold_out(data, seed + trial)
        sizes.append({len(part) for part in deal(make, tried.train.labels, seed + trial, tried.users)})
    return min(map(min, sizes)), all(len(own) == 1 for own in sizes)


def even(node: Mapping[str, Any], data: Dataset, seed: int) -> tuple[dict[str, Any], str]:
    """A partition whose clients have equally many records, as stacked trainings need: the same one, or one of which
    clients keep a part; and a note on that."""
    fewest, equal = smallest(node, data, seed)
    if equal:
        return dict(node), ""
    kept = max(1, int(SPARE * fewest))
    target = "sketchbench.learning.dataset.partition.even"
    note = f"clients have unequally many records, from {fewest} on; {kept} of each are drawn at random"
    return {"_target_": target, "_partial_": True, "partition": dict(node), "samples": kept}, note


def one_class(data: Dataset, clients: int) -> dict[str, Any]:
    """Clients of a single class each, as large as the classes allow."""
    fewest = int(np.unique(data.train.labels, return_counts=True)[1].min())
    sharing = -(-clients // len(np.unique(data.train.labels)))
    target, samples = "sketchbench.learning.dataset.partition.one_class", int(SPARE * fewest) // sharing
    return {"_target_": target, "_partial_": True, "clients": clients, "samples": max(1, samples)}


def problem_of(
    dataset: str, model: str, partition: str, clients: int, kernels: str, seed: int, folder: Path
) -> tuple[Problem, list[str]]:
    """The problem of these files: equal shares of the images, and the clients of `partition`, or those of one class
    where it is ""; and notes on what was changed for that."""
    shares = {"_target_": "sketchbench.learning.dataset.partition.iid", "_partial_": True, "clients": clients}
    problem, notes = Problem(dataset, model, {"iid": shares}, kernels, seed, folder), []
    problem.data.check_disjoint()
    case, other = "one class", one_class(problem.data, clients)
    if partition:
        other, note = even(load_part("partition", partition, CONF, folder), problem.data, seed)
        case, notes = partition, [f"{partition}: {note}"] if note else []
    return replace(problem, partitions={"iid": shares, case: other}), notes


def describe(problem: Problem) -> str:
    """Data, network and clients in a line."""
    data, cases = problem.data, " and ".join(problem.partitions)
    many = f"{len(data.train.labels):,} + {len(data.test.labels):,} images {data.shape} in {data.classes} classes"
    return f"{data.label}: {many}; {problem.model}, {problem.layout.d:,} parameters; clients: {cases}"


def shrunk(size: Size) -> list[str]:
    """What is less, or more, than in the project's frontier on digits, in a line each."""
    changes = {name: (getattr(size, name), getattr(FULL, name)) for name in Size._fields}
    words = {"tried": "trainings that try a rate", "whole": "all compressors"}
    lines = []
    for name, (here, there) in changes.items():
        if here != there:
            lines.append(f"{words.get(name, name)}: {_listed(here)}, where the project's frontier has {_listed(there)}")
    return lines


def _listed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class Costs:
    """What a problem takes.

    Arguments:
        rounds: seconds of a training's round, by compressor, but for those that fit into no budget.
        evaluation: seconds of an accuracy of one network.
        run: seconds of a run beside that.
    """

    rounds: Mapping[str, float]
    evaluation: float
    run: float

    def __str__(self) -> str:
        slowest = max(self.rounds, key=lambda name: self.rounds[name])
        plain, most = 1000 * self.rounds[PLAIN], 1000 * self.rounds[slowest]
        return f"{plain:.2g} ms for a training's round without compression, {most:.2g} ms with {slowest}"

    def seconds(self, compressor: str, size: Size, cases: int) -> float:
        """Of the trainings of a compressor at one compression."""
        judged, heats = min(JUDGED, size.rounds), size.tuning.heats if len(size.rates) > 1 else []
        tried = size.tried * sum(count * min(judged, rounds) for count, rounds in heats)
        rounds = size.trials * size.rounds + size.tuning.all_rounds
        evaluations = size.trials * (1 + judged + size.rounds // EVERY) + tried
        return cases * (rounds * self.rounds.get(compressor, 0.0) + evaluations * self.evaluation)

    def total(self, problem: Problem, size: Size) -> float:
        """Of all runs at a size, and once of the trainings without compression beside them."""
        cases, names = len(problem.partitions), problem.compressors(size.whole)
        runs = [(name, one) for name in names for one in (1, *size.compressions)]
        trained = [name for name, one in runs if problem.takes(name, one, (1, *size.compressions))]
        return len(runs) * self.run + sum(self.seconds(name, size, cases) for name in (PLAIN, *trained))


def measure(problem: Problem) -> Costs:
    """Time a few rounds of every compressor; the first training is not timed, as it compiles."""
    names = problem.compressors(whole=True)
    fitting = {name: [one for one in (16, 4, 1) if problem.takes(name, one, (one,))][:1] for name in names}
    case, node = next(iter(problem.partitions.items()))

    def seconds(compressor: str, rounds: int, judged: int = 1) -> float:
        (one,) = fitting[compressor]
        config = problem.composed(
            compressor,
            compression=one,
            partitions={case: node},
            trials=TRIED,
            training__rounds=rounds,
            training__judged=judged,
            tuning__rates=[0.06],
            tuning__first=1,
            tuning__rounds=1,
            tuning__trials=1,
            judging__budgets=[one],
        ).config
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


def choose_size(problem: Problem, costs: Costs, hours: float) -> Size:
    """The largest size that takes SPARE of the hours. Raises ValueError where none does."""
    for size in SIZES:
        if (needed := costs.total(problem, size)) <= SPARE * 3600 * hours:
            return size
    raise ValueError(
        f"hours={hours:g} must be >= {needed / SPARE / 3600:.2g}, which the smallest run takes here; give more, fewer "
        "images or clients, or a smaller network"
    )


class Run(NamedTuple):
    """A run: its compressor and compression, its config, its signature, and the path of its record."""

    compressor: str
    label: str
    compression: int
    config: dict[str, Any]
    signature: str
    record: Path

    @property
    def there(self) -> bool:
        """Whether its record is there, of the same config and code."""
        try:
            record.read(self.record, self.signature)
        except record.RecordError:
            return False
        return True


def runs_of(problem: Problem, size: Size, place: Path) -> list[Run]:
    """All runs at a size, whose records are in a folder; those at the middle of the compressions first."""
    budgets, runs = (1, *size.compressions), []
    pairs = itertools.product(sorted(budgets, key=lambda one: abs(one - 16)), problem.compressors(size.whole))
    for one, name in pairs:
        composed = problem.composed(
            name,
            compression=one,
            trials=size.trials,
            training__rounds=size.rounds,
            training__judged=min(JUDGED, size.rounds),
            training__stack=problem.stack,
            training__every=EVERY,
            **{f"tuning__{name}": value for name, value in asdict(size.tuning).items()},
            judging__budgets=list(budgets),
        )
        signed = signature(composed.config, problem.folder)
        runs.append(Run(name, composed.label, one, composed.config, signed, place / f"{signed}.parquet"))
    return runs


def do(problem: Problem, runs: Sequence[Run], say: Callable[[str], None]) -> None:
    """Do the runs whose records are not there, and say which one is done and how long the others take."""
    left, start = [run for run in runs if not run.there], time.monotonic()
    if len(left) < len(runs):
        say(f"{len(runs) - len(left)} of {len(runs)} runs are there already")
    for number, run in enumerate(left, 1):
        began = time.monotonic()
        job.run(run.config, run.record, problem.folder)
        now = time.monotonic()
        rest = format_duration((now - start) / number * (len(left) - number))
        done = f"{number} of {len(left)}: {run.label} at 1/{run.compression}: {format_duration(now - began)}"
        say(f"{done}; about {rest} left")


def write(problem: Problem, runs: Sequence[Run], scale: ReportedScale, command: str) -> None:
    """Write table, frontier, figure and verdicts of finished runs, which `command` makes again, as reports of a scale
    with the name of the problem. Nothing is expected of the compressors."""
    entries = [
        {
            "record": str(run.record),
            "signature": run.signature,
            "columns": {"method": run.compressor, "label": run.label, "compression": float(run.compression)},
        }
        for run in runs
    ]
    table = scale.reports / "tables" / f"{TRAINING}.csv"
    joining.make(TRAINING, entries, scale.name, table)
    trained = cells.TrainedStudy(problem.data.label, problem.clients, {}, lambda *_: command)
    cells.join([table], scale.name, scale.reports / "frontier.csv", {TRAINING: trained})
    figure = replace(read_catalogue(CONF / "figure")[TRAINING], title="", data=describe(problem), scales={})
    svg, png = (scale.reports / "figures" / f"{TRAINING}.{kind}" for kind in ("svg", "png"))
    drawing.make(TRAINING, figure, [table], scale.name, svg=svg, png=png)
    kind, methods = "compressor", sorted({run.compressor for run in runs})
    facts = {
        **{"scale": scale.name, "kernels": problem.kernels, "seed": problem.seed, "skipped": [], "whole": False},
        **{"studies": [TRAINING], "kinds": {TRAINING: kind}, "own": {kind: methods}, "only_own": True},
    }
    claims = [CONF / "claim" / f"{one.id}.yaml" for one in transfer.findings(CONF)]
    csv, markdown = (scale.reports / f"claims.{kind}" for kind in ("csv", "md"))
    judge.judge([table], claims, [], json.dumps(facts), csv=csv, markdown=markdown)


def size_in(place: Path) -> Size | None:
    """The size that was chosen before, and written to a folder; None for none."""
    try:
        content = parse_json((place / SIZE).read_text(encoding="utf-8"), SIZE)
        parts: list[Any] = [tuple(one) if isinstance(one, list) else one for one in content]
        return Size(*parts)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def keep_size(place: Path, size: Size) -> None:
    """Write the size, so that a run that was stopped goes on at the same."""
    write_text(place / SIZE, json.dumps(size))
