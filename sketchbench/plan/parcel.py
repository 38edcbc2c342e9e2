"""Parcels: all that a job reads, and all that it writes, as one file each, for jobs that share no folder with the plan.

The storage of Snakemake carries a file that a rule names in advance. How many records and checkpoints a batch has is
known by the plan alone, so they travel in tar archives: one is sent to the job, the other is sent back.
"""

import functools
import hashlib
import io
import json
import math
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sketchbench.base.course import can_resume
from sketchbench.base.files import FileError, make_folder, parse_json, write_bytes, write_text
from sketchbench.learning.dataset.dataset import data_root
from sketchbench.plan import cluster
from sketchbench.plan.batch import Batch, receipt_text
from sketchbench.plan.plan import Plan
from sketchbench.run import record
from sketchbench.run.config.targets import targets
from sketchbench.run.job import Outcome, forget_checkpoints, is_there

Entry = dict[str, Any]  # as `Run.entry`

BATCH, OUTCOME, COMMIT, LOG, FOLDER = "batch.json", "outcome.json", "commit", "job.log", "folder"
DATA = {  # by module of data sets: the folders of its files below the data root
    "sketchbench.learning.dataset.mnist": ("mnist",),
    "sketchbench.learning.dataset.cifar10": ("cifar-10-batches-bin", "cifar-10-batches-py"),
    "sketchbench.learning.dataset.lfw": ("lfw_home",),
}


class SentBatch:
    """A batch that travels: the name of its outcome, and what its job asks for. The name has a digest of what is left
    to do, with its checkpoints, and the data sets that it reads; so what was made of another plan is never taken."""

    def __init__(self, batch: Batch, plan: Plan) -> None:
        entries = [run.entry for run in batch.runs]
        self.batch = batch
        self.outcome = ".".join([batch.place, state(entries), *data_sets(entries), "from_job", "tar"])
        self.priority = plan.priority(*Path(batch.place).parts[-2:])

    def minutes(self, attempt: int) -> int:
        """The run time to ask for."""
        return cluster.minutes(self.batch, attempt)

    def megabytes(self, attempt: int) -> int:
        """The memory to ask for, in whole GiB and at least 2: AWS Batch's plugin asks for 2 in place of other sizes."""
        return max(2, math.ceil(cluster.megabytes(self.batch, attempt) / 1024)) * 1024


def state(entries: Sequence[Entry]) -> str:
    """16 hex digits over what is left of a batch, with its checkpoints."""
    left = _left(entries)
    kept = [[str(path), _sha256([path])] for path in _checkpoints(left)]
    return hashlib.sha256(json.dumps([left, kept], sort_keys=True).encode()).hexdigest()[:16]


def data_sets(entries: Iterable[Entry]) -> list[str]:
    """The data sets that runs read and this machine has, each as its name and a checksum of its files."""
    modules = {target.rpartition(".")[0] for entry in entries for target in targets(entry["config"])}
    found = {module.rpartition(".")[2]: _data_files(module) for module in sorted(modules & DATA.keys())}
    return [f"{name}-{_sha256(files)}" for name, files in found.items() if files]


def _data_files(module: str) -> list[Path]:
    return _files(data_root(None) / folder for folder in DATA[module])


def pack_data(name: str, parcel: Path) -> None:
    """Write a data set, of `data_sets`, into an archive. Raises FileError if its files are others by now."""
    module = f"sketchbench.learning.dataset.{name.partition('-')[0]}"
    files = _data_files(module)
    if f"{name.partition('-')[0]}-{_sha256(files)}" != name:
        raise FileError(0, f"{name}: the files in {data_root(None)} changed since the plan; run the same command again")
    _pack(parcel, {str(path.relative_to(data_root(None))): path for path in files})


def send(entries: Sequence[Entry], parcel: Path, folder: Path | None = None, commit: str | None = None) -> None:
    """Pack the input of a batch's job: the runs without records, their checkpoints, and a user's folder."""
    left = _left(entries)
    own = {f"{FOLDER}/{path.relative_to(folder)}": path for path in _files([folder])} if folder else {}
    texts = {BATCH: json.dumps(left, sort_keys=True)} | ({COMMIT: commit} if commit else {})
    _pack(parcel, {str(path): path for path in _checkpoints(left)} | own, texts)


def pack_outcome(entries: Sequence[Entry], outcome: Outcome, parcel: Path, log: Path | None = None) -> None:
    """Pack the results of a batch's job: records, checkpoints, the log, and failed or unfinished runs."""
    records = [path for entry in entries if is_there(path := Path(entry["record"]), entry)]
    files = {str(path): path for path in [*records, *_checkpoints(entries)]} | ({LOG: log} if log else {})
    _pack(parcel, files, {OUTCOME: json.dumps(outcome._asdict(), sort_keys=True)})


def take(parcel: Path, entries: Sequence[Entry], receipt: Path, log: Path | None = None) -> list[str]:
    """Move a job's results to their places, and write the receipt of its batch. Returns a line for each run that
    failed; there is no receipt then, and all else of the parcel is there. Raises RecordError for a record that isn't
    whole or as planned, and FileError for one that lacks."""
    make_folder(receipt.parent)
    with tempfile.TemporaryDirectory(dir=receipt.parent) as name:
        place = Path(name)
        unpack(parcel, place)
        if log:
            write_bytes(log, (place / LOG).read_bytes())
        outcome = Outcome(**parse_json((place / OUTCOME).read_text(encoding="utf-8"), f"{parcel}: {OUTCOME}"))
        for path in _files([place]):
            if path.suffix == ".pt":
                write_bytes(path.relative_to(place), path.read_bytes())
        for entry in entries:
            path = Path(entry["record"])
            if (place / path).is_file():
                record.read(place / path, entry["signature"])
                write_bytes(path, (place / path).read_bytes())
                forget_checkpoints(entry["config"])
    if outcome.failed:
        return outcome.failed
    for entry in entries:
        if entry["record"] not in outcome.unfinished and not is_there(Path(entry["record"]), entry):
            raise FileError(0, f"{parcel}: it lacks {entry['record']}; run the same command again")
    write_text(receipt, receipt_text({entry["record"]: entry["signature"] for entry in entries}, outcome.unfinished))
    return []


def unpack(archive: Path, folder: Path) -> None:
    """Write an archive's plain files into a folder. Links and devices are left out. Raises TarError for a file that
    would be outside the folder. (`extractall` has no filter before Python 3.11.4, which Debian 12 lacks.)"""
    folder = folder.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                continue
            path = (folder / member.name).resolve()
            if not path.is_relative_to(folder):
                raise tarfile.TarError(f"{member.name!r} would be outside")
            write_bytes(path, content.read())


def _left(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if not is_there(Path(entry["record"]), entry)]


def _checkpoints(entries: Iterable[Entry]) -> list[Path]:
    """The files in the folders of checkpoints of runs, without locks."""
    limited = (entry["config"] for entry in entries if can_resume(entry["config"]))
    folders = {folder for config in limited if (folder := config["task"]["checkpoints"])}
    return [path for path in _files(map(Path, sorted(folders))) if path.suffix == ".pt"]


def _files(folders: Iterable[Path]) -> list[Path]:
    """All files below folders, without hidden ones and what Python compiled."""
    found = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if path.suffix != ".pyc" and not path.name.startswith(".")]


def _sha256(files: Iterable[Path]) -> str:
    """16 hex digits over the names and contents of files."""
    found = hashlib.sha256()
    for path in files:
        about = path.stat()
        found.update(f"{path.name}\n{_file_sha256(path.absolute(), about.st_mtime_ns, about.st_size)}\n".encode())
    return found.hexdigest()[:16]


@functools.cache
def _file_sha256(path: Path, _changed: int, _size: int) -> str:
    """The digest of a file's content, read once: hundreds of batches may read one data set."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _pack(archive: Path, files: dict[str, Path], texts: dict[str, str] | None = None) -> None:
    """Write an archive: the same bytes of the same files."""
    make_folder(archive.parent)
    with tarfile.open(archive, "w") as tar:
        for name, content in _contents(files, texts or {}):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def _contents(files: dict[str, Path], texts: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    yield from ((name, text.encode()) for name, text in texts.items())
    for name, path in files.items():
        yield name, path.read_bytes()
