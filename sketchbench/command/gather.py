"""`sketchbench gather FOLDER`: records, and checkpoints of unfinished runs, that another machine made.

A record is taken by its content, whatever its name: its checksum must fit, and its signature must be that of a run
planned here, so of the same config and the same code. Every other file is refused, in a line with the reason.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from sketchbench.base.course import outcome_config
from sketchbench.base.files import FileError, check_writable, clear, set_aside, write_bytes
from sketchbench.command.plan import plan_of, settings
from sketchbench.plan.plan import Plan
from sketchbench.run import record

Fate = Literal["taken", "refused", "damaged", "not needed"]


@click.command("gather")
@click.argument("source", type=click.Path(path_type=Path), metavar="FOLDER")
@settings
@click.option("--dry-run", is_flag=True, help="List the files that would be taken, and take none.")
def command(source: Path, dry_run: bool, **options: Any) -> None:
    """Copy records and checkpoints that another machine made into results/.

    FOLDER is searched with all folders in it. A file is taken if a run of the plan, of the same code, misses it; files
    in results/ are never replaced. Options are as in Snakemake's --config.

    \b
    sketchbench gather /mnt/gpu/results --scale paper --dry-run
    """
    if not source.is_dir():
        raise FileError(f"{source} is {'no folder' if source.exists() else 'not there'}; name one with records in it")
    plan = plan_of(options)
    if Path(plan.places.results).resolve().is_relative_to(source.resolve()):
        raise FileError(f"{source} holds the results that are here; name a folder that comes from elsewhere")
    if not dry_run:
        check_writable(Path(plan.places.results, "new"))
    fates: Counter[str] = Counter()
    for outcome in Gathering(plan, dry=dry_run).look_through(source):
        fates[outcome.fate] += 1
        print(outcome)
    counts = ", ".join(f"{count} {fate}" for fate, count in fates.items()) or "no record and no checkpoint in it"
    print(f"{source}: {counts}{' (nothing was written)' if dry_run else ''}")
    if fates["damaged"]:
        sys.exit(f"sketchbench: error: {fates['damaged']} damaged files were refused; copy them once more")


class GatherOutcome(NamedTuple):
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

    def look_through(self, folder: Path) -> Iterator[GatherOutcome]:
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

    def _record(self, path: Path) -> GatherOutcome:
        try:
            record.read(path)  # looks at the end first, where a huge file of zeros shows
            content = path.read_bytes()
            theirs = record.parse(content, path)
        except (record.RecordError, OSError) as error:
            return GatherOutcome(path, "damaged", str(error).removeprefix(f"{path}: "))
        signature = theirs.provenance.get("signature")
        if signature in self._joined:
            return GatherOutcome(path, "not needed", "its trials are runs of their own here, and taken instead")
        if signature not in self._places:
            return GatherOutcome(path, "refused", f"{self._stranger(theirs)}; its signature is {signature}")
        place = self._places[signature]
        try:
            ours = record.read(place, signature)
        except record.RecordError:
            return self._taken(path, place, content)
        if ours.rows == theirs.rows:
            return GatherOutcome(path, "not needed", f"{place} is there already, and the same")
        reason = f"{place} is there already, with other numbers or times; remove it to take this one"
        return GatherOutcome(path, "refused", reason)

    def _stranger(self, theirs: record.Record) -> str:
        """Why a record is of no run that is planned here."""
        config: Any = theirs.provenance.get("config")
        whole = isinstance(config, dict) and isinstance(config.get("task"), dict)
        if whole and outcome_config(config) in self._configs:
            return "made by other code than is here"
        return "no such run is planned here"

    def _checkpoint(self, path: Path) -> GatherOutcome:
        from sketchbench.federated import checkpoint  # a second and a half that records do without

        try:
            content, rounds = checkpoint.verify(path)
        except (ValueError, OSError) as error:
            return GatherOutcome(path, "damaged", str(error))
        position = max((i for i, part in enumerate(path.parts[:-1]) if part in self._owners), default=None)
        if position is None:
            return GatherOutcome(path, "refused", "it is of no run that is planned here, or was made by other code")
        place = self._checkpoints.joinpath(*path.parts[position:])
        with suppress(ValueError, OSError):
            if place.is_file() and checkpoint.verify(place)[1] >= rounds:
                return GatherOutcome(path, "not needed", f"{place} is there already, and as far")
        return self._taken(path, place, content)

    def _taken(self, path: Path, place: Path, content: bytes) -> GatherOutcome:
        if not self._dry:
            clear(place)
            if place.is_file():
                set_aside(place)
            write_bytes(place, content)
        return GatherOutcome(path, "taken", f"as {place}")
