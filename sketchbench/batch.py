"""Planned runs, and the batches in which they are done."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sketchbench import receipt
from sketchbench.cost import Cost
from sketchbench.files import clear, remove, set_aside
from sketchbench.seal import digest
from sketchbench.signature import targets


@dataclass(frozen=True)
class Run:
    """One planned run: its study, its name there (`srht/d640-b64`), its resolved config and the
    signature of config and code. `columns` are what identifies it in tables; `cost` is what it is known to cost."""

    study: str
    name: str
    config: dict[str, Any]
    signature: str
    columns: dict[str, Any]
    cost: Cost | None = None

    @property
    def needs_folder(self) -> bool:
        """Whether it runs code of the user's own, outside this package."""
        return any(not target.startswith("sketchbench.") for target in targets(self.config))

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

    @property
    def needs_folder(self) -> bool:
        """Whether it runs code of the user's own."""
        return any(run.needs_folder for run in self.runs.values())

    @property
    def seconds(self) -> float | None:
        """How long its runs keep a processor core busy, on average; None where one was never measured."""
        seconds = [run.cost.seconds for run in self.runs.values() if run.cost]
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
        entries = [
            {"name": run.name, "record": path, "signature": run.signature, "config": run.config}
            for path, run in self.runs.items()
        ]
        return json.dumps(entries, sort_keys=True)

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
        from sketchbench import record  # a quarter of a second that a list of runs does without

        lines, done, place = clear(Path(self.receipt)), True, Path(self.receipt)
        for path, run in self.runs.items():
            lines += clear(Path(path))
            try:
                done &= record.read(Path(path)).provenance["signature"] == run.signature
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


def batches(folder: str, runs: dict[str, Run], size: int) -> Iterator[Batch]:
    """Batches of at most `size` runs, of about equal numbers; those with code of the user's own apart from others.

    Runs that are neighbours in the order of names, and take about the same time, are in different batches.

    Arguments:
        folder: of the receipts.
        runs: by the paths of their records.
        size: at least 1.
    """
    done = 0
    for own in (False, True):
        paths = [path for path, run in runs.items() if run.needs_folder == own]
        count = math.ceil(len(paths) / size)
        for first in range(count):
            done += 1
            yield Batch(f"{folder}/{done}.done", {path: runs[path] for path in paths[first::count]})
