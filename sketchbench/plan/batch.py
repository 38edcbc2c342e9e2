"""Planned runs, their batches (one process each), and the receipts of batches."""

import itertools
import json
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sketchbench.base.course import with_time_limit
from sketchbench.base.files import clear, remove, set_aside
from sketchbench.plan.cost import Cost
from sketchbench.report.seal import digest, present
from sketchbench.run.config.targets import targets

LEAST = 30.0  # seconds of runs that justify a process
UNFINISHED = "-" * 16  # replaces a signature in a receipt
RECEIPT = re.compile(r"(([0-9a-f]{16}|-{16}) .+\n)+")


@dataclass(frozen=True)
class Run:
    """One planned run.

    Attributes:
        name: within the study: `srht/d640-b64`.
        config: resolved; a trial's has the number `trial`.
        columns: the values that identify the run in tables.
        record: the path of its record.
        cost: the mean cost of a run of the study at this scale; None if the study is unmeasured.
        trials: a run for each trial, if the run joins their records.
        minutes, checkpoints: the time limit and the folder of checkpoints; None for none.
    """

    study: str
    name: str
    config: dict[str, Any]
    signature: str
    columns: dict[str, Any]
    record: str
    cost: Cost | None = None
    trials: tuple["Run", ...] = ()
    minutes: float | None = None
    checkpoints: str | None = None

    @property
    def needs_folder(self) -> bool:
        """Whether the run uses code of the user's folder."""
        return any(not target.startswith("sketchbench.") for target in targets(self.config))

    @property
    def checkpoints_name(self) -> str:
        """The name of the folder of checkpoints: the signature of the run or of its first trial, which stays the same
        when trials are added."""
        return (self.trials or (self,))[0].signature

    @property
    def seconds(self) -> float | None:
        """Mean seconds on one core; None for an unmeasured run. Joining trials takes 0."""
        return 0.0 if self.trials else self.cost.seconds if self.cost else None

    @property
    def entry(self) -> dict[str, Any]:
        """The description of the run for its job."""
        config = with_time_limit(self.config, self.minutes, self.checkpoints)
        entry = {"name": self.name, "record": self.record, "signature": self.signature, "config": config}
        own = [{"trial": one.config["trial"], "record": one.record, "signature": one.signature} for one in self.trials]
        return {**entry, "trials": own} if own else entry


@dataclass(frozen=True)
class Batch:
    """One or more runs that a process does in turn.

    Snakemake sees its receipt, which is written after all records. A restarted batch skips runs with records. A batch
    `needs` the receipts of the batches whose trials its runs join."""

    receipt: str
    runs: Sequence[Run]
    needs: tuple[str, ...] = ()

    @property
    def needs_folder(self) -> bool:
        """Whether a run uses code of the user's folder."""
        return any(run.needs_folder for run in self.runs)

    @property
    def studies(self) -> list[str]:
        """The studies of its runs, sorted."""
        return sorted({run.study for run in self.runs})

    @property
    def seconds(self) -> float | None:
        """Mean seconds on one core; None if one of the runs is unmeasured."""
        seconds = [run.seconds for run in self.runs if run.seconds is not None]
        return sum(seconds) if len(seconds) == len(self.runs) else None

    @property
    def mebibytes(self) -> int | None:
        """The peak memory of any run in MiB; None if one of the runs is unmeasured."""
        peaks = [run.cost.mebibytes for run in self.runs if run.cost]
        return max(peaks) if len(peaks) == len(self.runs) else None

    @property
    def title(self) -> str:
        """The names of the runs; the first and last of three or more."""
        names = [run.name for run in self.runs]
        return ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]} ({len(names)} runs)"

    @property
    def place(self) -> str:
        """The path of the receipt without its ending."""
        return str(Path(self.receipt).with_suffix(""))

    @property
    def description(self) -> str:
        """The path of the file, beside the receipt, that describes the runs to the job."""
        return f"{self.place}.json"

    @property
    def payload(self) -> str:
        """The content of that file: JSON with sorted keys."""
        return json.dumps([run.entry for run in self.runs], sort_keys=True)

    @property
    def signatures(self) -> str:
        """The SHA-256 of the receipt, which changes with the list of runs and with each signature."""
        return digest(receipt_text({run.record: run.signature for run in self.runs}))

    def check(self) -> list[str]:
        """Remove the receipt unless all records exist, whole and as planned.

        Snakemake sees files, not contents: to it a truncated or edited record is done. Damaged records and receipts are
        renamed. Returns a line for each; raises FileError if one can't be renamed.
        """
        from sketchbench.run import record  # a quarter of a second that a list of runs does without

        place, text, done = Path(self.receipt), "", True
        lines = [*clear(place), *present(place)]
        for run in self.runs:
            path, planned = Path(run.record), len(run.trials)
            lines += clear(path)
            try:
                provenance = record.read(path).provenance
                done &= provenance["signature"] == run.signature and record.trials(provenance, planned) == planned
            except record.RecordError as error:
                done = False
                if path.exists():
                    set_aside(path)
                    lines.append(f"{error}; set aside, to be computed again")
        if place.is_file():
            with suppress(OSError, ValueError):
                text = place.read_text(encoding="utf-8")
            if not RECEIPT.fullmatch(text):
                set_aside(place)
                lines.append(f"{place}: not a whole receipt; set aside, to be made again")
            elif not done or digest(text) != self.signatures:
                remove(place)
        return lines


def receipt_text(signatures: Mapping[str, str], unfinished: Container[str] = ()) -> str:
    """The content of a receipt: one line a record, with its signature, or dashes if it is unfinished, and its path."""
    lines = (f"{UNFINISHED if path in unfinished else signature} {path}\n" for path, signature in signatures.items())
    return "".join(lines)


def unfinished_records(receipt: str) -> list[str]:
    """The paths of unfinished records in the content of a receipt."""
    return [line.partition(" ")[2] for line in receipt.splitlines() if line.startswith(UNFINISHED)]


def batches(folder: str, runs: Sequence[Run], size: int) -> list[Batch]:
    """Return batches of at most `size` runs, of similar numbers, with receipts in a folder; a user's code has separate
    batches.

    Runs that are neighbours by name take similar times, and go to different batches. Trials follow the other runs: all
    trials 0, then all trials 1, ...; the last batches join them.
    """
    joining = [run for run in runs if run.trials]
    by_number = itertools.zip_longest(*(run.trials for run in joining))
    trials = [trial for same_number in by_number for trial in same_number if trial]
    first = _divided(folder, [*(run for run in runs if not run.trials), *trials], size)
    needs = tuple(batch.receipt for batch in first)
    last = _divided(folder, joining, max(len(joining), 1), len(first))
    return [*first, *(replace(batch, needs=needs) for batch in last)]


def packed(folder: str, studies: Sequence[Sequence[Run]], seconds: float) -> list[Batch]:
    """Return batches of whole, measured studies that take about `seconds`; later batches take less. The first batch
    has the shortest studies, `LEAST` seconds in all, if others remain."""
    lengths = {place: sum(run.seconds or 0.0 for run in runs) for place, runs in enumerate(studies)}
    shortest = sorted(lengths, key=lambda place: lengths[place])
    sums = itertools.accumulate(lengths[place] for place in shortest)
    first = [place for place, total in zip(shortest, sums, strict=True) if total <= LEAST]
    first = first if len(first) < len(studies) else []
    rest = [place for place in reversed(shortest) if place not in first]
    rooms = list(_rooms(sum(lengths[place] for place in rest), seconds))
    bins: list[list[int]] = [[] for _ in rooms]
    for place in rest:  # the longest first, each where most room is left
        chosen = max(range(len(rooms)), key=lambda number: rooms[number])
        rooms[chosen] -= lengths[place]
        bins[chosen].append(place)
    groups = [[run for place in sorted(chosen) for run in studies[place]] for chosen in [first, *bins] if chosen]
    return [Batch(f"{folder}/{number}.done", group) for number, group in enumerate(groups, 1)]


def _rooms(left: float, most: float) -> Iterator[float]:
    """Yield the seconds of each process: a third of the rest, so that all end together on a few cores; from `LEAST` to
    `most` seconds."""
    while True:
        room = min(max(left / 3, LEAST), most)
        yield room
        left -= room
        if left <= 0:
            return


def _divided(folder: str, runs: Sequence[Run], size: int, before: int = 0) -> list[Batch]:
    """Return batches with numbers after `before`."""
    groups: list[list[Run]] = []
    for own in (False, True):
        chosen = [run for run in runs if run.needs_folder == own]
        count = math.ceil(len(chosen) / size)
        groups += [chosen[first::count] for first in range(count)]
    return [Batch(f"{folder}/{number}.done", group) for number, group in enumerate(groups, before + 1)]
