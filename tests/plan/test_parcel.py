"""Parcels: what a job needs goes there, what it made comes home, and nothing that another plan or state made."""

import functools
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sketchbench.base.files import FileError
from sketchbench.base.project import PROJECT
from sketchbench.learning.dataset.dataset import VARIABLE
from sketchbench.plan import making, parcel
from sketchbench.plan.batch import Batch, unfinished_records
from sketchbench.plan.plan import Plan
from sketchbench.run import record
from sketchbench.run.job import Outcome

CHECKPOINTS = "results/smoke/checkpoints/0"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    return tmp_path


@functools.cache
def plan() -> Plan:
    return making.expand("smoke", "numpy", studies="norms", together=1)


def batch() -> Batch:
    """The first batch of a plan, with one run."""
    return plan().all_batches[0]


def entry(name: str, *, trial: int | None = None, **config: Any) -> dict[str, Any]:
    own = {"task": {"_target_": "x.Y", "minutes": 1.0, "checkpoints": CHECKPOINTS}, **config}
    own |= {} if trial is None else {"trial": trial}
    return {"name": name, "record": f"results/smoke/s/{name}.parquet", "signature": "0" * 16, "config": own}


def written(one: dict[str, Any], signature: str = "0" * 16) -> None:
    record.write(Path(one["record"]), record.Record([{"x": 1}], {"signature": signature}))


def put(path: str, text: str = "x") -> Path:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


def names(archive: str) -> set[str]:
    with tarfile.open(archive) as tar:
        return set(tar.getnames())


def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    monkeypatch.chdir(folder)


def test_a_job_needs_its_parcel_alone(here: Path) -> None:
    """It runs in a folder that holds nothing else, by the code of this checkout."""
    entries = [run.entry for run in batch().runs]
    parcel.send(entries, Path("to_job.tar"), commit="1234")
    work = here / "work"
    work.mkdir()
    Path("to_job.tar").rename(work / "to_job.tar")
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(PROJECT)!r}]"]
    command[-1] += "; from sketchbench.command.main import main; main()"
    command += ["step", "work", "to_job.tar", "--outcome", "out/from_job.tar"]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    assert not Path(entries[0]["record"]).exists()
    assert parcel.take(work / "out" / "from_job.tar", entries, Path(batch().receipt)) == []
    assert record.read(Path(entries[0]["record"]), entries[0]["signature"]).rows
    assert batch().check() == []
    assert Path(batch().receipt).is_file()


def test_only_what_is_left_travels() -> None:
    done, left = entry("done"), entry("left")
    written(done)
    put(f"{CHECKPOINTS}/a.pt")
    put(f"{CHECKPOINTS}/lock")
    put("mine/method.py")
    parcel.send([done, left], Path("to_job.tar"), Path("mine"))
    assert names("to_job.tar") == {parcel.BATCH, f"{CHECKPOINTS}/a.pt", "folder/method.py"}
    parcel.unpack(Path("to_job.tar"), Path("there"))
    assert [one["name"] for one in json.loads(Path("there", parcel.BATCH).read_text(encoding="utf-8"))] == ["left"]


@pytest.mark.parametrize(
    "change", [written, lambda one: put(f"{CHECKPOINTS}/a.pt", "y"), lambda one: put(f"{CHECKPOINTS}/b.pt")]
)
def test_a_parcel_of_another_state_has_another_name(change: Callable[[dict[str, Any]], object]) -> None:
    entries = [entry("one"), entry("two")]
    put(f"{CHECKPOINTS}/a.pt")
    before = parcel.state(entries)
    assert parcel.state([entry("one"), entry("two")]) == before
    assert parcel.state([entry("one"), {**entry("two"), "signature": "1" * 16}]) != before
    change(entries[0])
    assert parcel.state(entries) != before


def test_what_is_unfinished_comes_home_with_its_checkpoints(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receipt says so; checkpoints of a run that is done by now are gone."""
    done, left = entry("done", trial=0), entry("left", trial=1)
    put(f"{CHECKPOINTS}/trial0/a.pt")
    elsewhere(here / "job", monkeypatch)
    written(done)
    put(f"{CHECKPOINTS}/trial1/b.pt", "progress")
    log = put("job.log", "3 rounds")
    parcel.pack_outcome([done, left], Outcome([], {left["record"]: "left: round 3"}), here / "from_job.tar", log)
    monkeypatch.chdir(here)
    assert parcel.take(Path("from_job.tar"), [done, left], Path("results/1.done"), Path("logs/1.log")) == []
    assert unfinished_records(Path("results/1.done").read_text(encoding="utf-8")) == [left["record"]]
    assert record.read(Path(done["record"]), done["signature"]).rows == [{"x": 1}]
    assert Path(CHECKPOINTS, "trial1", "b.pt").read_text(encoding="utf-8") == "progress"
    assert not Path(CHECKPOINTS, "trial0").exists()
    assert Path("logs/1.log").read_text(encoding="utf-8") == "3 rounds"
    assert [path.name for path in Path("results").iterdir() if path.is_dir()] == ["smoke"]


def test_what_failed_leaves_no_receipt_and_all_else_is_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, failed = entry("done"), entry("failed")
    elsewhere(here / "job", monkeypatch)
    written(done)
    parcel.pack_outcome([done, failed], Outcome(["failed: too large"], {}), here / "from_job.tar")
    monkeypatch.chdir(here)
    assert parcel.take(Path("from_job.tar"), [done, failed], Path("results/1.done")) == ["failed: too large"]
    assert not Path("results/1.done").exists()
    assert Path(done["record"]).is_file()


def test_a_parcel_that_lacks_a_record_or_has_another_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = entry("one")
    elsewhere(here / "job", monkeypatch)
    parcel.pack_outcome([one], Outcome([], {}), here / "empty.tar")
    written(one)
    parcel.pack_outcome([one], Outcome([], {}), here / "from_job.tar")
    monkeypatch.chdir(here)
    with pytest.raises(FileError, match=r"empty.tar: it lacks results/smoke/s/one.parquet; run the same command again"):
        parcel.take(Path("empty.tar"), [one], Path("results/1.done"))
    with pytest.raises(record.RecordError):
        parcel.take(Path("from_job.tar"), [{**one, "signature": "1" * 16}], Path("results/1.done"))
    assert not Path("results/1.done").exists()
    assert not Path(one["record"]).exists()


def test_data_sets_travel_under_their_checksum() -> None:
    read = [entry("one", dataset={"_target_": "sketchbench.learning.dataset.mnist.load"})]
    assert parcel.data_sets(read) == []  # there is none here
    put("data/mnist/images", "first")
    (name,) = parcel.data_sets([*read, entry("other")])
    parcel.pack_data(name, Path("mnist.tar"))
    assert names("mnist.tar") == {"mnist/images"}
    put("data/mnist/images", "other")
    assert parcel.data_sets(read) != [name]
    with pytest.raises(FileError, match=rf"{name}: the files in .* changed since the plan"):
        parcel.pack_data(name, Path("mnist.tar"))


def test_what_is_asked_for() -> None:
    """The memory of an unmeasured batch in whole GiB; about twice as much at the second attempt."""
    sent = parcel.SentBatch(batch(), plan())
    assert sent.outcome.startswith(f"{batch().place}.{parcel.state([run.entry for run in batch().runs])}.")
    assert [sent.megabytes(attempt) for attempt in (1, 2)] == [4096, 7168]
    assert sent.minutes(2) == 2 * sent.minutes(1)
    assert sent.priority > 0
