"""Planned runs, and the batches in which they are done."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sketchbench.files import clear, remove, set_aside
from sketchbench.plan import receipt
from sketchbench.plan.cost import Cost
from sketchbench.report.seal import digest
from sketchbench.run.course import told
from sketchbench.run.signature import targets


@dataclass(frozen=True)
class Run:
    """One planned run: its study, its name there (`srht/d640-b64`), its resolved config and the
    signature of config and code. `columns` are what identifies it in tables. `cost` is what it is known
    to cost; `parts` are its trials, where they are runs of their own. `minutes` is its time limit, and
    `checkpoints` a folder."""

    study: str
    name: str
    config: dict[str, Any]
    signature: str
    columns: dict[str, Any]
    cost: Cost | None = None
    parts: tuple["Run", ...] = ()
    minutes: float | None = None
    checkpoints: str | None = None

    @property
    def needs_folder(self) -> bool:
        """Whether it runs code of the user's own, outside this package."""
        return any(not target.startswith("sketchbench.") for target in targets(self.config))

    @property
    def seconds(self) -> float | None:
        """How long it keeps a processor core busy, on average; None where that was never measured. Of a run that is
        made of its trials it is nothing to speak of."""
        if self.parts:
            return 0.0
        return self.cost.seconds if self.cost else None

    @property
    def payload(self) -> str:
        """The config as JSON with sorted keys."""
        return json.dumps(self.config, sort_keys=True)


@dataclass(frozen=True)
class Batch:
    """Runs of a study that one process does, one after the other.

    Its receipt, written when all of their records are there, is what Snakemake sees. A batch begun again skips the
    records that are there, so that what it costs to add a run, or to be killed, is that run.
    """

    receipt: str
    runs: dict[str, Run]  # by the paths of their records
    trials: dict[str, dict[str, Run]] = field(default_factory=dict)  # of a run that is made of them, by the same paths
    needs: tuple[str, ...] = ()  # the receipts of these trials

    @property
    def needs_folder(self) -> bool:
        """Whether it runs code of the user's own."""
        return any(run.needs_folder for run in self.runs.values())

    @property
    def seconds(self) -> float | None:
        """How long its runs keep a processor core busy, on average; None where one was never measured."""
        seconds = [run.seconds for run in self.runs.values() if run.seconds is not None]
        return sum(seconds) if len(seconds) == len(self.runs) else None

    @property
    def mebibytes(self) -> int | None:
        """The most memory that one of its runs needed, in MiB; None where one was never measured."""
        peaks = [run.cost.mebibytes for run in self.runs.values() if run.cost]
        return max(peaks) if len(peaks) == len(self.runs) else None

    @property
    def title(self) -> str:
        """The names of its runs; of many, the first and the last."""
        names = [run.name for run in self.runs.values()]
        return ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]} ({len(names)} runs)"

    @property
    def description(self) -> str:
        """The file with what a job needs to know, beside the receipt."""
        return str(Path(self.receipt).with_suffix(".json"))

    @property
    def payload(self) -> str:
        """What a job needs to know of the runs, as JSON with sorted keys: the content of that file."""
        return json.dumps([self._entry(path, run) for path, run in self.runs.items()], sort_keys=True)

    def _entry(self, path: str, run: Run) -> dict[str, Any]:
        config = told(run.config, run.minutes, run.checkpoints)
        entry: dict[str, Any] = {"name": run.name, "record": path, "signature": run.signature, "config": config}
        if path in self.trials:
            entry["trials"] = [
                {"trial": one.config["trial"], "record": place, "signature": one.signature}
                for place, one in self.trials[path].items()
            ]
        return entry

    @property
    def signatures(self) -> str:
        """64 hex digits that change with its runs, and with what any of them depends on."""
        return digest(self._receipt)

    @property
    def _receipt(self) -> str:
        return receipt.text({path: run.signature for path, run in self.runs.items()})

    def check(self) -> list[str]:
        """Withdraw the receipt of a batch whose records are not all there, whole and as planned.

        Snakemake sees files, not contents: a truncated or edited record would count as done. Records and receipts that
        are not whole, or no files of their own, are renamed. Returns a line for each of those.

        Raises FileError where one can't be renamed.
        """
        from sketchbench.run import record  # a quarter of a second that a list of runs does without

        lines, done, place = clear(Path(self.receipt)), True, Path(self.receipt)
        for path, run in self.runs.items():
            lines += clear(Path(path))
            try:
                made = record.read(Path(path)).provenance
                done &= made["signature"] == run.signature and record.trials(made, len(run.parts)) == len(run.parts)
            except record.RecordError as error:
                done = False
                if Path(path).exists():
                    set_aside(Path(path))
                    lines.append(f"{error}; set aside, to be computed again")
        if place.is_file():
            lines += self._withdraw(place, done)
        return lines

    def _withdraw(self, place: Path, done: bool) -> list[str]:
        """Remove a receipt, unless it is that of these runs and they are done; rename one that is no receipt at all."""
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, ValueError):
            text = ""
        if not receipt.FORM.fullmatch(text):
            set_aside(place)
            return [f"{place}: not a whole receipt; set aside, to be made again"]
        if not done or text != self._receipt:
            remove(place)
        return []


def batches(folder: str, runs: dict[str, Run], size: int, record: Callable[[Run], str]) -> Iterator[Batch]:
    """Batches of at most `size` runs, of about equal numbers; those with code of the user's own apart from others.

    Runs that are neighbours in the order of names, and take about the same time, are in different batches. Where trials
    are runs of their own they are in the place of theirs, first all trials 0, then all trials 1; last come batches that
    make the records of runs of those of trials.

    Arguments:
        folder: of the receipts.
        runs: by the paths of their records.
        size: at least 1.
        record: gives the path of a run's record.
    """
    whole = {path: run for path, run in runs.items() if run.parts}
    trials = {path: {record(part): part for part in run.parts} for path, run in whole.items()}
    longest = max((len(run.parts) for run in whole.values()), default=0)
    parts = [run.parts[number] for number in range(longest) for run in whole.values() if number < len(run.parts)]
    first = {path: run for path, run in runs.items() if not run.parts} | {record(part): part for part in parts}
    made = list(_divided(folder, first, size))
    yield from made
    needs = tuple(batch.receipt for batch in made)
    for batch in _divided(folder, whole, max(len(whole), 1), len(made)):
        yield replace(batch, trials={path: trials[path] for path in batch.runs}, needs=needs)


def _divided(folder: str, runs: dict[str, Run], size: int, done: int = 0) -> Iterator[Batch]:
    """Batches whose numbers begin after `done`."""
    for own in (False, True):
        paths = [path for path, run in runs.items() if run.needs_folder == own]
        count = math.ceil(len(paths) / size)
        for first in range(count):
            done += 1
            yield Batch(f"{folder}/{done}.done", {path: runs[path] for path in paths[first::count]})
