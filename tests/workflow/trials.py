"""Trials of kill, full disk and damage on the small project: what is done to it, by a kind and a random generator."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from conftest import Project

from sketchbench.report.seal import LOCK, MANIFEST
from sketchbench.run import record

REPORTS, RESULTS = Path("reports/smoke"), Path("results/smoke")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Makes a disk full for Python, where none can be mounted: every file that is written through to the disk, from the n-th
# on, finds no space. `DISK` is a file with a line for each that was.
FULL = """\
import os
from errno import ENOSPC
place, allowed = os.environ.get("DISK"), int(os.environ.get("DISK_ALLOWED", "0"))
if place:
    def fsync(number, real=os.fsync):
        with open(place, "a") as file:
            file.write("x")
        if os.path.getsize(place) > allowed:
            raise OSError(ENOSPC, "No space left on device")
        real(number)
    os.fsync = fsync
"""


def prepared(project: Project, figure: bool, again: bool) -> dict[str, object]:
    """The outcome of a run that nothing disturbs, of that which is there or `again`, timed; with a second study, of
    which there is a figure, where asked for."""
    if figure:
        study = "task: norms\nsketch: all\naxes: {d: [12], b: [4]}\nset: {task.trials: 40}\n"
        (project.path / "conf" / "study" / "norms.yaml").write_text(study)
    (project.path / "sitecustomize.py").write_text(FULL)
    if again:
        fresh(project)
        start = time.monotonic()
        project.succeed(wrapper=True)
        (project.path / "seconds").write_text(str(time.monotonic() - start))
    whole = outcome(project)
    assert len(whole) == (3 + 3 + 3 + 4 if figure else 3 + 2 + 2)
    return whole


def outcome(project: Project) -> dict[str, object]:
    """Every report byte for byte, but for origins, and the rows and signature of every record."""
    found: dict[str, object] = {
        str(path): path.read_bytes()
        for path in sorted((project.path / REPORTS).rglob("*"))
        if path.is_file() and path.suffix != ".rejected" and "origin" not in path.parts and path.name != LOCK
    }
    for path in sorted((project.path / RESULTS).rglob("*.parquet")):
        stored = record.read(path)
        found[str(path)] = (repr(stored.rows), stored.provenance["signature"])
    return found


def leftovers(project: Project) -> list[Path]:
    """Files of which only a part was written."""
    hidden = [path for name in ("reports", "results") for path in (project.path / name).rglob(".*")]
    return [path for path in hidden if path.is_file() and path.name not in (".snakemake_timestamp", LOCK)]


def fresh(project: Project) -> None:
    for name in ("reports", "results", ".snakemake", "logs"):
        shutil.rmtree(project.path / name, ignore_errors=True)


# --- kills


def kill(project: Project, chance: random.Random, of_a_job: bool) -> str:
    """Start from nothing, and kill Snakemake, or what it runs, at a random time within that of a whole run."""
    fresh(project)
    process = project.start(wrapper=True)
    seconds = float((project.path / "seconds").read_text())
    after, number = chance.uniform(0.05, 0.95) * seconds, chance.choice(SIGNALS)
    time.sleep(after)
    while not (found := list(_family(process.pid, of_a_job))) and process.poll() is None:
        time.sleep(0.05)
    for one in found:
        with _gone():
            one.send_signal(number)
    process.communicate(timeout=300)
    return f"{number.name} to {len(found)} after {after:.1f} s"


def _family(pid: int, of_a_job: bool) -> Iterator[psutil.Process]:
    with _gone():
        for one in psutil.Process(pid).children(recursive=True):
            with _gone():
                if ("sketchbench." in " ".join(one.cmdline()[:4])) is of_a_job and one.name() != "flock":
                    yield one


@contextmanager
def _gone() -> Iterator[None]:
    """Of processes that end in the meantime."""
    with suppress(psutil.Error):
        yield


def wait_for_orphans(project: Project) -> None:
    """Jobs whose Snakemake was killed work on; what they write is whole, too."""
    mine = []
    for one in psutil.process_iter():
        with _gone():
            if one.cwd() == str(project.path) and "sketchbench." in " ".join(one.cmdline()[:4]):
                mine.append(one)
    psutil.wait_procs(mine, timeout=60)


# --- full disks


def full_disk(project: Project, chance: random.Random) -> str:
    """Nothing can be written after a few files, by all programs of this project."""
    fresh(project)
    allowed, place = chance.randrange(0, 11), project.path / "disk"
    place.unlink(missing_ok=True)
    os.environ |= {"DISK": str(place), "DISK_ALLOWED": str(allowed)}
    try:
        code, output = project.run(wrapper=True)
    finally:
        del os.environ["DISK"], os.environ["DISK_ALLOWED"]
    logs = "".join(path.read_text() for path in (project.path / "logs").rglob("*.log"))
    assert code == 0 or "no space left on device while writing" in output + logs, output + logs
    assert "Traceback" not in logs
    assert not leftovers(project)
    return f"{allowed} files, then none; exit {code}"


def full_mount(project: Project, chance: random.Random) -> str:
    """A file system of 2 MB for reports and results, of which only some KB are free. Needs the right to mount one."""
    fresh(project)
    free = chance.randrange(0, 80) * 1024
    disk = project.path / "mounted"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", disk], check=True)
    try:
        for name in ("reports", "results"):
            (disk / name).mkdir()
            (project.path / name).symlink_to(disk / name)
        (disk / "filler").write_bytes(bytes(2 * 1024 * 1024 - 4 * 4096 - free))
        code, _ = project.run(wrapper=True)
        logs = "".join(path.read_text() for path in (project.path / "logs").rglob("*.log"))
        assert "Traceback" not in logs, logs
        assert not leftovers(project)
        (disk / "filler").unlink()
        project.succeed(wrapper=True)
        for name in ("reports", "results"):  # so that it can be compared after the file system is gone
            (project.path / name).unlink()
            shutil.copytree(disk / name, project.path / name)
    finally:
        subprocess.run(["umount", disk], check=True)
    return f"{free // 1024} KB free; exit {code}"


# --- damage


def damage(project: Project, chance: random.Random) -> str:
    """One of the files of a finished run is damaged in one way."""
    files = [path for path in _finished(project) if path.is_file() and path.stat().st_size]
    path, way = chance.choice(files), chance.choice(sorted(WAYS))
    WAYS[way](path, chance)
    return f"{path.relative_to(project.path)}: {way}"


def _finished(project: Project) -> list[Path]:
    found = [path for name in (REPORTS, RESULTS) for path in sorted((project.path / name).rglob("*"))]
    return [path for path in found if path.suffix != ".rejected" and path.name != ".snakemake_timestamp"]


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(content))


def _link(path: Path, _: random.Random) -> None:
    copy = Path(f"{path}.copy".replace("/reports/", "/disk-of-").replace("/results/", "/disk-of-"))
    copy.parent.mkdir(parents=True, exist_ok=True)
    path.replace(copy)
    path.symlink_to(copy)


def _folder(path: Path, _: random.Random) -> None:
    path.unlink()
    (path / "inner").mkdir(parents=True)


def _dangling(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _swap(path: Path, chance: random.Random) -> None:
    """With another file of the same kind, or with any other."""
    others = [other for other in path.parents[1].rglob("*") if other.is_file() and other != path]
    other = chance.choice([one for one in others if one.suffix == path.suffix] or others)
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


WAYS: dict[str, Callable[[Path, random.Random], object]] = {
    "emptied": lambda path, _: path.write_bytes(b""),
    "truncated": lambda path, chance: os.truncate(path, chance.randrange(path.stat().st_size)),
    "a flipped bit": _flip,
    "something appended": lambda path, _: path.write_bytes(path.read_bytes() + b"\n"),
    "edited digits": lambda path, _: path.write_bytes(path.read_bytes().replace(b"4", b"5").replace(b"a", b"b") + b" "),
    "replaced by a link to a copy": _link,
    "replaced by a dangling link": _dangling,
    "replaced by a folder": _folder,
    "swapped with another": _swap,
    "removed": lambda path, _: path.unlink(),
}


def disorder(project: Project, chance: random.Random) -> str:
    """Folders that are gone or no folders, and what Snakemake remembers."""
    way = chance.choice(sorted(DISORDERS))
    DISORDERS[way](project.path)
    return way


def _file_for_folder(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


def _forget(path: Path) -> None:
    shutil.rmtree(path / ".snakemake" / "metadata")
    for entry in _finished(Project(path)):
        if entry.is_file():
            os.utime(entry, (0, 0))


def _damage_memory(path: Path) -> None:
    for entry in (path / ".snakemake" / "metadata").rglob("*"):
        if entry.is_file():
            entry.write_bytes(entry.read_bytes()[:20])


def _of_another_seed(path: Path, what: Path = REPORTS) -> None:
    """All files are whole, and fit together, but they are others, and newer than what they should be made of."""
    for name in (REPORTS, RESULTS):
        shutil.copytree(path / name, path / "kept" / name)
    Project(path).succeed("seed=1")
    other = RESULTS if what == REPORTS else REPORTS
    shutil.rmtree(path / other)
    shutil.copytree(path / "kept" / other, path / other)
    shutil.rmtree(path / "kept")
    for entry in (path / what).rglob("*"):
        os.utime(entry)


DISORDERS: dict[str, Callable[[Path], object]] = {
    "no results": lambda path: shutil.rmtree(path / "results"),
    "no reports": lambda path: shutil.rmtree(path / "reports"),
    "no logs": lambda path: shutil.rmtree(path / "logs"),
    "no memory of Snakemake": lambda path: shutil.rmtree(path / ".snakemake"),
    "a cut memory of Snakemake": _damage_memory,
    "no memory, and every file of 1970": _forget,
    "a file for the folder of a study": lambda path: _file_for_folder(path / RESULTS / "tiny"),
    "a file for the folder of tables": lambda path: _file_for_folder(path / REPORTS / "tables"),
    "a damaged memory of configs": lambda path: (path / "results" / "composed.txt").write_text("{}"),
    "seals that are gone": lambda path: [place.unlink() for place in (path / REPORTS).rglob(MANIFEST)],
    "reports of another seed": _of_another_seed,
    "results of another seed": lambda path: _of_another_seed(path, RESULTS),
}


KINDS: dict[str, Callable[[Project, random.Random], str]] = {
    "damage": damage,
    "kill of Snakemake": lambda project, chance: kill(project, chance, of_a_job=False),
    "full disk": full_disk,
    "disorder": disorder,
    "kill of a job": lambda project, chance: kill(project, chance, of_a_job=True),
}
if os.environ.get("SKETCHBENCH_MOUNT"):
    KINDS["full file system"] = full_mount
