"""`sketchbench gather FOLDER`: copy records, and checkpoints of unfinished runs, from another machine.

The content decides, not the name: the checksum must match, and the signature must be that of a run planned here, with
the same config and code. Each rejected file is listed with the reason.
"""

import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from sketchbench.base.course import outcome_config
from sketchbench.base.files import FileError, check_writable, clear, set_aside, write_bytes
from sketchbench.command.plan import plan_of, settings
from sketchbench.plan.parcel import unpack
from sketchbench.plan.plan import Plan
from sketchbench.run import record

Fate = Literal["taken", "refused", "damaged", "not needed"]


@click.command("gather")
@click.argument("source", type=click.Path(path_type=Path), metavar="FOLDER")
@settings
@click.option("--dry-run", is_flag=True, help="List the files, and copy none.")
def command(source: Path, dry_run: bool, **options: Any) -> None:
    """Copy records and checkpoints from another machine to results/.

    FOLDER is searched recursively, with its tar archives. Copies files that the current plan needs and that the same
    code made; files in results/ are never replaced.

    \b
    sketchbench gather /mnt/gpu/results --scale paper --dry-run
    """
    if not source.is_dir():
        raise FileError(f"{source} is not a directory; pass one that holds records")
    plan = plan_of(options)
    if Path(plan.places.results).resolve().is_relative_to(source.resolve()):
        raise FileError(f"{source} holds the results of this machine; pass a directory from another machine")
    if not dry_run:
        check_writable(Path(plan.places.results, "new"))
    fates: Counter[str] = Counter()
    for outcome in Gathering(plan, dry=dry_run).look_through(source):
        fates[outcome.fate] += 1
        print(outcome)
    counts = ", ".join(f"{count} {fate}" for fate, count in fates.items()) or "it holds no record and no checkpoint"
    print(f"{source}: {counts}{' (nothing was written)' if dry_run else ''}")
    if fates["damaged"]:
        sys.exit(f"sketchbench: error: {fates['damaged']} damaged files were rejected; copy them again")


class GatherOutcome(NamedTuple):
    """The fate of a file, and the reason."""

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
        """Copy the records and checkpoints below a folder and in its tar archives, in the order of their paths.

        Links are skipped.

        Raises:
            FileError: if a file can't be written here.
        """
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if path.name.endswith(".parquet"):  # the suffix of `.parquet`, of a run without settings, is empty
                yield self._record(path)
            elif path.suffix == ".pt":
                yield self._checkpoint(path)
            elif path.suffix == ".tar":
                yield from self._archive(path)

    def _archive(self, archive: Path) -> Iterator[GatherOutcome]:
        """The outcomes of an archive's files, as if it were a directory."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            try:
                unpack(archive, folder)
            except (tarfile.TarError, OSError) as error:
                yield GatherOutcome(archive, "damaged", " ".join(str(error).split()))
                return
            for outcome in self.look_through(folder):
                yield outcome._replace(path=archive / outcome.path.relative_to(folder))

    def _record(self, path: Path) -> GatherOutcome:
        try:
            record.read(path)  # looks at the end first, where a huge file of zeros shows
            content = path.read_bytes()
            theirs = record.parse(content, path)
        except (record.RecordError, OSError) as error:
            return GatherOutcome(path, "damaged", str(error).removeprefix(f"{path}: "))
        signature = theirs.provenance.get("signature")
        if signature in self._joined:
            return GatherOutcome(path, "not needed", "its trials are separate runs here, and are copied instead")
        if signature not in self._places:
            return GatherOutcome(path, "refused", f"{self._stranger(theirs)}; its signature is {signature}")
        place = self._places[signature]
        try:
            ours = record.read(place, signature)
        except record.RecordError:
            return self._taken(path, place, content)
        if ours.rows == theirs.rows:
            return GatherOutcome(path, "not needed", f"{place} holds the same already")
        reason = f"{place} holds other numbers or times; remove it to copy this one"
        return GatherOutcome(path, "refused", reason)

    def _stranger(self, theirs: record.Record) -> str:
        """The reason why a record belongs to no planned run."""
        config: Any = theirs.provenance.get("config")
        whole = isinstance(config, dict) and isinstance(config.get("task"), dict)
        if whole and outcome_config(config) in self._configs:
            return "made by other code"
        return "no such run is planned here"

    def _checkpoint(self, path: Path) -> GatherOutcome:
        from sketchbench.federated import checkpoint  # a second and a half that records do without

        try:
            content, rounds = checkpoint.verify(path)
        except (ValueError, OSError) as error:
            return GatherOutcome(path, "damaged", str(error))
        position = max((i for i, part in enumerate(path.parts[:-1]) if part in self._owners), default=None)
        if position is None:
            return GatherOutcome(path, "refused", "no such run is planned here, or other code made it")
        place = self._checkpoints.joinpath(*path.parts[position:])
        with suppress(ValueError, OSError):
            if place.is_file() and checkpoint.verify(place)[1] >= rounds:
                return GatherOutcome(path, "not needed", f"{place} already holds an equal or later checkpoint")
        return self._taken(path, place, content)

    def _taken(self, path: Path, place: Path, content: bytes) -> GatherOutcome:
        if not self._dry:
            clear(place)
            if place.is_file():
                set_aside(place)
            write_bytes(place, content)
        return GatherOutcome(path, "taken", f"as {place}")
