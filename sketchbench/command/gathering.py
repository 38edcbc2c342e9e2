"""Bring in what was made elsewhere: records, and checkpoints of runs that are not finished.

`sketchbench gather FOLDER` looks through a folder, such as `results` of another machine. What decides is what
a record says of itself, not its name: its checksum must fit, and its signature be that of a run planned here, with the
same config and the same code. It is copied where nothing is yet. All else is refused, in a line that says why.
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
class Found:
    """A file that was looked at: what became of it, and why, in words."""

    path: Path
    fate: Fate
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.fate}: {self.path}{': ' if self.reason else ''}{self.reason}"


class Gathering:
    """Takes what a plan misses.

    Arguments:
        plan: what is planned here.
        dry: say what would be taken, and take nothing.
    """

    def __init__(self, plan: Plan, *, dry: bool = False) -> None:
        self._dry = dry
        self._places = {unit.signature: Path(unit.record) for unit in plan.units}
        self._configs = [outcome_config(unit.config) for unit in plan.units]
        self._joined = {run.signature for run in plan.all_runs if run.trials}
        self._checkpoints = Path(plan.places.results, "checkpoints")
        self._owners = {run.checkpoints_name for run in plan.all_runs}

    def look_through(self, folder: Path) -> Iterator[Found]:
        """What became of each record and checkpoint in a folder and all folders in it, in the order of their paths;
        links are left alone.

        Raises FileError where a file can't be written here.
        """
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix == ".parquet":
                yield self._record(path)
            elif path.suffix == ".pt":
                yield self._checkpoint(path)

    def _record(self, path: Path) -> Found:
        try:
            record.read(path)  # looks at the end first, where a huge file of zeros shows
            content = path.read_bytes()
            theirs = record.verified(content, path)
        except (record.RecordError, OSError) as error:
            return Found(path, "damaged", str(error).removeprefix(f"{path}: "))
        signature = theirs.provenance.get("signature")
        if signature in self._joined:
            return Found(path, "not needed", "its trials are runs of their own here, and taken instead")
        if signature not in self._places:
            return Found(path, "refused", f"{self._stranger(theirs)}; its signature is {signature}")
        place = self._places[signature]
        try:
            ours = record.read(place, signature)
        except record.RecordError:
            return self._taken(path, place, content)
        if ours.rows == theirs.rows:
            return Found(path, "not needed", f"{place} is there already, and the same")
        return Found(
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

    def _checkpoint(self, path: Path) -> Found:
        from sketchbench.federated import checkpoint  # a second and a half that records do without

        try:
            content, rounds = checkpoint.verified(path)
        except (ValueError, OSError) as error:
            return Found(path, "damaged", str(error))
        position = max((i for i, part in enumerate(path.parts[:-1]) if part in self._owners), default=None)
        if position is None:
            return Found(path, "refused", "it is of no run that is planned here, or was made by other code")
        place = self._checkpoints.joinpath(*path.parts[position:])
        if place.is_file():
            try:
                known = checkpoint.verified(place)[1]
            except (ValueError, OSError):
                known = -1
            if known >= rounds:
                return Found(path, "not needed", f"{place} is there already, and as far")
        return self._taken(path, place, content)

    def _taken(self, path: Path, place: Path, content: bytes) -> Found:
        if not self._dry:
            clear(place)
            write_bytes(place, content)
        return Found(path, "taken", f"as {place}")
