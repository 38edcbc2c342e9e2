"""Records and checkpoints from elsewhere: what fits is taken, all else is refused with a reason."""

import functools
import io
import json
import shutil
import tarfile
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from sketchbench.command.main import main
from sketchbench.federated import checkpoint
from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan
from sketchbench.run import job, record
from sketchbench.run.record import Record, write

ROWS = [{"quantity": "loss", "trial": 0, "mean": 0.1}]
OPTIONS = ["--scale", "paper", "--kernels", "numba", "--studies", "federated_cifar10,norms,double_blind_client"]


@functools.cache
def planned() -> Plan:
    return plan.expand("paper", "numba", studies="federated_cifar10,norms,double_blind_client")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of results of another machine, which has made all; here is nothing yet."""
    there = planned()
    for run in there.all_runs:
        for unit in (run, *run.trials):
            write(tmp_path / "usb" / unit.record, Record(ROWS, {"signature": unit.signature, "config": unit.config}))
    (run,) = there.runs["federated_cifar10"].values()
    for rounds, name in ((3, "tuning"), (5, "trial1")):
        folder = tmp_path / "usb" / "results" / "paper" / "checkpoints" / run.checkpoints_name / name
        path = checkpoint.path_of(str(folder), name)
        checkpoint.save(path, {"t": rounds, "curve": {}, "state": None})
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return tmp_path / "usb"


def gathered(folder: Path, *more: str, code: int = 0) -> list[str]:
    ends = pytest.raises(SystemExit, match=r"^sketchbench: error: ") if code else nullcontext()
    said = io.StringIO()
    with redirect_stdout(said), ends:
        main(["gather", str(folder), *OPTIONS, *more])
    return [line.replace(f"{folder}/", "") for line in said.getvalue().splitlines()]


def of(fate: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(f"{fate}: ")]


def here() -> list[Path]:
    return sorted(path for path in Path().rglob("*") if path.is_file() and "composed" not in path.name)


def test_all_is_taken_once(elsewhere: Path) -> None:
    lines = gathered(elsewhere, "--dry-run")
    assert lines[-1].endswith("(nothing was written)")
    assert here() == []
    lines = gathered(elsewhere)
    units = planned().units
    assert len(of("taken", lines)) == len(units) + 2
    (joined,) = of("not needed", lines)
    assert "its trials are separate runs here, and are copied instead" in joined
    for unit in units:
        assert record.read(Path(unit.record), unit.signature).rows == ROWS
    for batch in planned().all_batches:
        entries = [entry for entry in json.loads(batch.payload) if "trials" not in entry]
        assert job.run_batch(entries) == job.Outcome([], {})  # there is nothing to do
    lines = gathered(elsewhere)
    assert not of("taken", lines)
    assert len(of("not needed", lines)) == len(units) + 1 + 2


def change(path: Path, **changes: Any) -> None:
    stored = record.read(path)
    provenance = {key: value for key, value in stored.provenance.items() if key != "schema"}
    write(path, Record(changes.pop("rows", stored.rows), {**provenance, **changes}))


def test_what_is_refused(elsewhere: Path) -> None:
    results = elsewhere / "results" / "paper"
    trials = sorted((results / "federated_cifar10").rglob("trial*.parquet"))
    norms = sorted((results / "norms").rglob("*.parquet"))
    change(trials[0], signature="0" * 16)
    config = record.read(norms[0]).provenance["config"]
    change(norms[0], signature="1" * 16, config={**config, "seed": 77})
    norms[1].write_bytes(norms[1].read_bytes()[:-9])
    for path, content in ((norms[2], b"PAR1"), (norms[3], b"")):
        path.write_bytes(content)
    first, second = sorted(results.rglob("*.pt"))
    first.write_bytes(first.read_bytes()[:-3] + b"???")
    shutil.move(second.parent.parent, results / "checkpoints" / "of_another_run")
    (elsewhere / "link.parquet").symlink_to(norms[4])
    place = Path(planned().places.results, *norms[5].relative_to(results).parts)
    change(norms[5])
    shutil.copytree(norms[5].parent, place.parent)
    change(place, rows=[{**ROWS[0], "mean": 0.2}])
    foreign = Path(planned().places.results, *norms[6].relative_to(results).parts)
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("no record")
    before = place.read_bytes()
    lines = gathered(elsewhere, code=1)

    def reason(path: Path) -> str:
        (line,) = (line for line in lines if str(path.relative_to(elsewhere)) in line)
        return line

    assert "refused" in reason(trials[0])
    assert "made by other code; its signature is 0000" in reason(trials[0])
    assert "no such run is planned here; its signature is 1111" in reason(norms[0])
    for path in norms[1:4]:
        assert reason(path).startswith("damaged: ")
    assert "holds other numbers or times" in reason(norms[5])
    assert place.read_bytes() == before
    assert [line for line in lines if ".pt: it was changed" in line and line.startswith("damaged: ")]
    assert [line for line in lines if ".pt: no such run is planned here" in line and line.startswith("refused: ")]
    assert not [line for line in lines if "link.parquet" in line]
    assert of("taken", lines)
    assert not list(Path().rglob("*.pt"))
    assert foreign.with_name(f"{foreign.name}.rejected").read_text() == "no record"


def test_the_checkpoint_that_is_farther_wins(elsewhere: Path) -> None:
    gathered(elsewhere)
    path = next((elsewhere / "results").rglob("trial1/*.pt"))
    ours = Path(*path.relative_to(elsewhere).parts)
    for rounds, fate in ((4, "not needed"), (6, "taken")):
        checkpoint.save(path, {"t": rounds, "curve": {}, "state": None})
        assert [line for line in of(fate, gathered(elsewhere)) if "trial1" in line and ".pt" in line]
        assert checkpoint.verify(ours)[1] == max(rounds, 5)


@pytest.mark.parametrize(
    ("folder", "words"),
    [("none", "is not a directory"), ("file", "is not a directory"), (".", "holds the results of this machine")],
)
def test_a_wrong_folder(elsewhere: Path, folder: str, words: str) -> None:
    Path("file").touch()
    with pytest.raises(SystemExit, match=words):
        main(["gather", folder, *OPTIONS])
    with pytest.raises(SystemExit):
        main(["gather"])


def test_an_archive_is_searched_like_a_folder(elsewhere: Path) -> None:
    """And a damaged one is refused."""
    archives = elsewhere.with_name("archives")
    archives.mkdir()
    with tarfile.open(archives / "all.tar", "w") as tar:
        tar.add(elsewhere, arcname=".")
    taken = of("taken", gathered(elsewhere, "--dry-run"))
    assert of("taken", gathered(archives)) == [line.replace("taken: ", "taken: all.tar/") for line in taken]
    (archives / "all.tar").write_bytes((archives / "all.tar").read_bytes()[:700])
    assert of("damaged", gathered(archives, code=1))


@pytest.mark.parametrize("name", ["../away.parquet", "/{}/away.parquet"])
def test_an_archive_writes_nothing_elsewhere(elsewhere: Path, name: str) -> None:
    archives = elsewhere.with_name("archives")
    archives.mkdir()
    with tarfile.open(archives / "all.tar", "w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.FIFOTYPE):
            other = tarfile.TarInfo("link.parquet")
            other.type, other.linkname = kind, str(elsewhere)
            tar.addfile(other)
        tar.addfile(tarfile.TarInfo(name.format(str(elsewhere).strip("/"))))
    assert "would be outside" in "".join(of("damaged", gathered(archives, code=1)))
    assert not (elsewhere / "away.parquet").exists()
