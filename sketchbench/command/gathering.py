"""Gather records, and checkpoints of unfinished runs, that another machine made.

`sketchbench gather FOLDER` searches a folder, such as `results` of another machine. A record is taken by its content,
whatever its name: its checksum must fit, and its signature must be that of a run planned here, so of the same config
and the same code. A record that is here already stays. Every other file is refused, in a line with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sketchbench.files import clear, write_bytes
from sketchbench.plan.plan import Plan
from sketchbench.run import record
from sketchbench.run.course import outcome_config

Fate = Literal["taken", "refused", "damaged", "not needed"]


@dataclass(frozen=True)
class Outcome:
    """What became of a file, and why."""

    path: Path
    fate: Fate
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.fate}: {self.path}{': ' if self.reason else ''}{self.reason}"


class Gathering:
    """Copies the records and checkpoints that a plan lacks.

    Arguments:
        plan: the plan.
        dry: report every file, and copy none.
    """

    def __init__(self, plan: Plan, *, dry: bool = False) -> None:
        self._dry = dry
        self._places = {unit.signature: Path(unit.record) for unit in plan.units}
        self._configs = [outcome_config(unit.config) for unit in plan.units]
        self._joined = {run.signature for run in plan.all_runs if run.trials}
        self._checkpoints = Path(plan.places.results, "checkpoints")
        self._owners = {run.checkpoints_name for run in plan.all_runs}

    def look_through(self, folder: Path) -> Iterator[Outcome]:
        """Take the records and checkpoints below a folder, in the order of their paths; links are passed over.

        Raises:
            FileError: where a file can't be written here.
        """
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix == ".parquet":
                yield self._record(path)
            elif path.suffix == ".pt":
                yield self._checkpoint(path)

    def _record(self, path: Path) -> Outcome:
        try:
            record.read(path)  # looks at the end first, where a huge file of zeros shows
            content = path.read_bytes()
            theirs = record.parse(content, path)
        except (record.RecordError, OSError) as error:
            return Outcome(path, "damaged", str(error).removeprefix(f"{path}: "))
        signature = theirs.provenance.get("signature")
        if signature in self._joined:
            return Outcome(path, "not needed", "its trials are runs of their own here, and taken instead")
        if signature not in self._places:
            return Outcome(path, "refused", f"{self._stranger(theirs)}; its signature is {signature}")
        place = self._places[signature]
        try:
            ours = record.read(place, signature)
        except record.RecordError:
            return self._taken(path, place, content)
        if ours.rows == theirs.rows:
            return Outcome(path, "not needed", f"{place} is there already, and the same")
        return Outcome(
            path, "refused", f"{place} is there already, with other numbers or times; remove it to take this one"
        )

    def _stranger(self, theirs: record.Record) -> str:
        """Why a record is of no run that is planned here."""
        config = theirs.provenance.get("config")
        known = (
            isinstance(config, dict)
            and isinstance(config.get("task"), dict)
            and outcome_config(config) in self._configs
        )
        return "made by other code than is here" if known else "no such run is planned here"

    def _checkpoint(self, path: Path) -> Outcome:
        from sketchbench.federated import checkpoint  # a second and a half that records do without

        try:
            content, rounds = checkpoint.verify(path)
        except (ValueError, OSError) as error:
            return Outcome(path, "damaged", str(error))
        position = max((i for i, part in enumerate(path.parts[:-1]) if part in self._owners), default=None)
        if position is None:
            return Outcome(path, "refused", "it is of no run that is planned here, or was made by other code")
        place = self._checkpoints.joinpath(*path.parts[position:])
        if place.is_file():
            try:
                known = checkpoint.verify(place)[1]
            except (ValueError, OSError):
                known = -1
            if known >= rounds:
                return Outcome(path, "not needed", f"{place} is there already, and as far")
        return self._taken(path, place, content)

    def _taken(self, path: Path, place: Path, content: bytes) -> Outcome:
        if not self._dry:
            clear(place)
            write_bytes(place, content)
        return Outcome(path, "taken", f"as {place}")
