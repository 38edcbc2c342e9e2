"""Seals: a report is read as it was written, or refused in one line; what is damaged is put aside to be made again."""

import fcntl
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from sketchbench.base.files import FileError
from sketchbench.command.main import main
from sketchbench.report import seal, standing
from sketchbench.report.seal import Seal, SealError
from sketchbench.run import record

FACTS = json.dumps({"scale": "quick", "kernels": "numpy", "seed": 0, "studies": ["norms", "tails"], "skipped": []})
CLAIM = """\
id: X1
paper: ours
role: printed
place: here
statement: the mean is 1
dataset: none
studies: [norms]
checks: [{criterion: equality, where: {quantity: q}, margin: 0.1}]
"""
ROW = {"case": "c", "quantity": "q", "mean": 1.0, "sd": 1.0, "skewness": 0.0, "trials": 10_000, "exact": 1.0}


def tabulated(folder: Path, study: str, monkeypatch: pytest.MonkeyPatch, scale: str = "quick") -> Path:
    """The table of a study of one run, made by the command; its manifest is beside it."""
    place = folder / "results" / f"{study}.parquet"
    record.write(place, record.Record([ROW | {"case": study}], {"signature": study}))
    columns = {"method": "good", "label": "Good", "d": 12}
    manifest = json.dumps([{"record": str(place), "signature": study, "columns": columns}])
    (folder / f"{study}.json").write_text(manifest)
    monkeypatch.setattr("sys.stdin", io.StringIO(manifest))
    csv = folder / "tables" / f"{study}.csv"
    main(["step", "table", study, "--csv", str(csv), "--scale", scale])
    return csv


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return tabulated(tmp_path, "norms", monkeypatch)


def evaluate(csv: Path) -> None:
    folder = csv.parents[1]
    (folder / "X1.yaml").write_text(CLAIM)
    paths = [f"--{name}={folder}/claims.{end}" for name, end in (("csv", "csv"), ("page", "md"))]
    main(["step", "claims", str(csv), f"--claims={folder}", f"--facts={FACTS}", *paths])


def draw(csv: Path) -> None:
    main(["step", "figure", "squared_norm", str(csv), f"--svg={csv.parent}/f.svg", f"--png={csv.parent}/f.png"])


def check(csv: Path) -> None:
    main(["check", str(csv.parents[1] / "claims.csv")])


def checked(folder: Path) -> list[str]:
    """What a plan does with the reports of this folder."""
    manifests = {"norms": (folder / "norms.json").read_text()}
    return standing.check(folder, "quick", manifests, {}, facts=FACTS, marks=folder / "marks")


def error(command: Callable[[Path], None], csv: Path) -> str:
    """The one line with which a command ends."""
    with pytest.raises(SystemExit) as stop:
        command(csv)
    message = str(stop.value.code)
    assert message.startswith("sketchbench: error: ")
    assert "\n" not in message
    return message


def test_a_seal_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells what was made of what, and nothing of the machine, the folder or the time."""
    (tmp_path / "one.csv").write_bytes(b"a,b\n")
    seal.write("table", "quick", {"records": "00"}, [tmp_path / "one.csv"])
    text = (tmp_path / seal.MANIFEST).read_text()
    assert json.loads(text) == {
        "name": "one",
        "seal": 2,
        "kind": "table",
        "scale": "quick",
        "made_of": {"records": "00"},
        "files": {"one.csv": seal.digest(b"a,b\n")},
        "checksum": json.loads(text)["checksum"],
    }
    assert seal.read(tmp_path / "one.csv") == Seal(
        "table", "quick", {"records": "00"}, {"one.csv": seal.digest("a,b\n")}
    )
    assert seal.content(tmp_path / "one.csv", "table", "quick") == b"a,b\n"


def manifest(path: Path) -> Path:
    return path.with_name(seal.MANIFEST)


def replace_seal(path: Path, other: Path) -> None:
    """Give a report the seal of another, of the same name or not, as somebody could who copies lines."""
    lines = [line for line in manifest(path).read_text().splitlines(keepends=True) if f'"{path.stem}"' not in line[:40]]
    (own,) = (line for line in manifest(other).read_text().splitlines(keepends=True) if f'"{other.stem}"' in line[:40])
    own = own.replace(f'"name": "{other.stem}"', f'"name": "{path.stem}"')
    manifest(path).write_text("".join(sorted([*lines, own])))


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[]", b"{}", b"null", b"\xff\xfe", b"", b"1e999"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_what_is_no_seal(csv: Path, content: bytes, end: bytes) -> None:
    manifest(csv).write_bytes(content + end)
    with pytest.raises(SealError, match="not all of its seals are whole"):
        seal.content(csv, "table")


def test_a_damaged_line_is_of_one_report(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other reports are read and sealed as before; the next run drops the line, and keeps the damaged manifest."""
    other = tabulated(tmp_path, "tails", monkeypatch)
    whole = manifest(csv).read_bytes()
    damages = {
        "changed": whole.replace(b'"scale": "quick"', b'"scale": "paper"', 1),
        "renamed": whole.replace(b'{"name": "norms"', b'{"name": "moments"', 1),
        "cut off": whole[5:],
        "merged": b"".join([b"<<<<<<< HEAD\n", *whole.splitlines(keepends=True)[1:]]),
    }
    for content in damages.values():
        manifest(csv).write_bytes(content)
        assert seal.content(other, "table")
        for reader in (lambda: seal.read(csv), lambda: seal.find(csv), lambda: seal.seals(csv.parent)):
            with pytest.raises(SealError, match="not all of its seals are whole"):
                reader()
        (line,) = seal.mend(tmp_path)
        assert line.startswith(f"{manifest(csv)}: ")
        assert csv.with_name(f"{seal.MANIFEST}.rejected").read_bytes() == content
        assert list(seal.seals(csv.parent)) == ["tails"]
        assert seal.mend(tmp_path) == []
    csv.unlink()
    tabulated(tmp_path, "norms", monkeypatch)
    assert manifest(csv).read_bytes() == whole


def test_a_seal_that_is_removed(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seals of other reports stay; a manifest without seals goes."""
    before = manifest(csv).read_bytes()
    other = tabulated(tmp_path, "tails", monkeypatch)
    assert list(seal.seals(csv.parent)) == ["norms", "tails"]
    seal.put(other, None)
    assert manifest(csv).read_bytes() == before
    seal.put(csv, None)
    seal.put(csv, None)
    assert not manifest(csv).exists()
    assert seal.find(csv) is None


SEALING = """\
import sys
from pathlib import Path
from sketchbench.report import seal
folder, own, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    path = folder / f"{own}{number}.csv"
    path.write_text(own)
    seal.write("table", "quick", {"records": own}, [path])
    if number % 3 == 0:
        seal.put(path, None)
"""


def test_processes_that_seal_at_once_lose_nothing(tmp_path: Path) -> None:
    """Four processes of 30 seals each, 10 of which they remove; without the lock most seals are lost."""
    command = [sys.executable, "-c", SEALING, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, own, "30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for own in "abcd"
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    kept = sorted(f"{own}{number}" for own in "abcd" for number in range(30) if number % 3)
    assert list(seal.seals(tmp_path)) == kept
    assert all(seal.content(tmp_path / f"{name}.csv", "table") == name[0].encode() for name in kept)


def test_a_process_that_is_killed_leaves_no_lock(csv: Path) -> None:
    """The kernel frees it, though the file of the lock stays."""
    code = SEALING.replace(
        "for number", "held = seal._lock(folder)\nprint('locked', flush=True)\nsys.stdin.read()\nfor number"
    )
    command = [sys.executable, "-c", code, str(csv.parent), "a", "1"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "locked\n"]
    with csv.with_name(seal.LOCK).open("ab") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process.kill()
    process.communicate()
    seal.write("table", "quick", {}, [csv])


def test_a_file_system_without_locks(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and no seal changes."""

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    before = manifest(csv).read_bytes()
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(FileError, match=r"\.seals\.lock can't be locked \(No locks available\); choose another folder"):
        seal.write("table", "quick", {}, [csv])
    assert manifest(csv).read_bytes() == before


def test_whoever_reads_a_table_verifies_it(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims and figures; and nothing is written of a table that is refused."""
    whole = csv.read_bytes()
    other = tabulated(tmp_path, "tails", monkeypatch)
    smoke = tabulated(tmp_path / "smoke", "norms", monkeypatch, "smoke")

    def edit(path: Path) -> None:
        path.write_bytes(whole.replace(b"10000", b"20000"))

    def swap(path: Path) -> None:
        shutil.copy(other, path)
        replace_seal(path, other)

    def copy(path: Path) -> None:
        shutil.copy(smoke, path)
        shutil.copy(manifest(smoke), manifest(path))

    damages: list[tuple[Callable[[Path], object], str]] = [
        (edit, "it was changed or cut off; run sketchbench results --scale quick --studies norms"),
        (lambda path: path.write_bytes(whole[:40]), "it does not match its seal"),
        (lambda path: path.write_bytes(b""), "it does not match its seal"),
        (lambda path: shutil.copy(other, path), "it does not match its seal"),
        (swap, "not all of its seals are whole"),
        (lambda path: manifest(path).write_text("{}"), "not all of its seals are whole"),
        (lambda path: seal.put(path, None), "norms.csv: it has no seal in seals.jsonl"),
        (lambda path: manifest(path).unlink(), "norms.csv: it has no seal in seals.jsonl"),
        (lambda path: seal.put(path, seal.read(other)), "renamed or swapped"),
        (lambda path: path.unlink(), "is not there; run sketchbench results --scale quick --studies norms"),
        (copy, "of scale=smoke, not quick"),
    ]
    for damage, message in damages:
        csv.unlink(missing_ok=True)  # as Snakemake does: no step writes over what has no seal that names it
        manifest(csv).unlink(missing_ok=True)
        other.unlink()
        tabulated(tmp_path, "tails", monkeypatch)
        tabulated(tmp_path, "norms", monkeypatch)
        damage(csv)
        for command in (evaluate, draw):
            assert message in error(command, csv)
    assert not list(tmp_path.glob("claims.*")) + list(csv.parent.glob("f.*"))


def test_verdicts_are_verified(csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `claim check`, which is `make check`."""
    evaluate(csv)
    verdicts = tmp_path / "claims.csv"
    with pytest.raises(SystemExit) as stop:
        check(csv)
    assert stop.value.code == 0
    assert "1 verdicts, 1 nothing predicted" in capsys.readouterr().out
    whole = verdicts.read_text()
    verdicts.write_text(whole.replace("holds", "fails"))
    assert "claims.csv: it does not match its seal" in error(check, csv)
    verdicts.write_text(whole)
    assert "its seal is of kind table, not claims" in error(lambda _: main(["check", str(csv)]), csv)
    page = verdicts.with_suffix(".md")
    page.write_text(page.read_text() + "edited")
    assert "claims.md: it does not match its seal" in error(check, csv)
    evaluate(csv)
    against = ["check", str(verdicts), "--against"]
    older = tmp_path / "older.csv"
    older.write_text(whole)
    for path, message in (
        (tmp_path / "none.csv", "none.csv is not there"),
        (csv, "its seal is of kind table, not claims"),
        (older, "older.csv: it has no seal"),
    ):
        assert message in error(lambda _, path=path: main([*against, str(path)]), csv)  # type: ignore[misc]


@pytest.mark.parametrize("facts", ["", "[", "[]", "{}", '{"scale": "quick"}'])
def test_no_facts(csv: Path, monkeypatch: pytest.MonkeyPatch, facts: str) -> None:
    monkeypatch.setattr(f"{__name__}.FACTS", facts)
    assert "--facts " in error(evaluate, csv)
    assert not list(csv.parents[1].glob("claims.*"))


@pytest.mark.parametrize("text", ["", "[", "[1]", "{}", '[{"record": 1, "signature": "a", "columns": {}}]', "[" * 9999])
def test_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    arguments = ["step", "table", "s", "--csv", str(tmp_path / "s.csv")]
    message = error(lambda _: main(arguments), tmp_path)
    assert "the manifest" in message or "a study without runs has no table" in message
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of table, claims and figure: one line, and what was there is still there, or is refused for want of its seal."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = csv.read_bytes()
    evaluate(csv)
    monkeypatch.setattr("os.fsync", full)
    for command in (evaluate, lambda path: tabulated(path.parents[1], "norms", monkeypatch)):
        if command is not evaluate:
            monkeypatch.setattr(record, "write", lambda *_: None)
        assert "no space left on device while writing" in error(command, csv)
    assert csv.read_bytes() == before
    assert {path.name for path in csv.parents[1].rglob(".*") if path.is_file()} == {seal.LOCK}


def test_the_plan_puts_aside_what_is_damaged(csv: Path, tmp_path: Path) -> None:
    """One line for each damaged file; of what is whole nothing is said, and nothing is touched."""
    evaluate(csv)
    files = [csv, manifest(csv), *tmp_path.glob("claims.*"), tmp_path / seal.MANIFEST]
    whole = {path: path.read_bytes() for path in files}

    def restored() -> None:
        for path, content in whole.items():
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        for path in tmp_path.rglob("*.rejected"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def linked(path: Path) -> None:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")

    def folder(path: Path) -> None:
        path.unlink()
        (path / "x").mkdir(parents=True)

    def dangling(path: Path) -> None:
        path.unlink()
        path.symlink_to("nowhere")

    assert checked(tmp_path) == []
    assert len(whole) == 5
    for path in whole:
        for damage in (
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(path.read_bytes()[:-9]),
            lambda path: path.write_bytes(path.read_bytes() + b"\n"),
            linked,
            folder,
            dangling,
        ):
            damage(path)
            (line,) = checked(tmp_path)
            assert line.startswith(f"{path}: ")
            assert "set aside, to be made again" in line
            assert not path.exists() or path.name == seal.MANIFEST  # a manifest keeps whole seals
            assert (
                path.with_name(f"{path.name}.rejected").is_symlink() or path.with_name(f"{path.name}.rejected").exists()
            )
            restored()
    assert checked(tmp_path) == []


def test_a_report_without_a_seal_is_left_alone(csv: Path, tmp_path: Path) -> None:
    """Snakemake makes it again for want of its mark."""
    before, mark = csv.read_bytes(), tmp_path / "marks" / "tables" / "norms"
    mark.parent.mkdir(parents=True)
    mark.touch()
    assert checked(tmp_path) == []
    assert mark.exists()
    manifest(csv).unlink()
    assert checked(tmp_path) == []
    assert csv.read_bytes() == before
    assert not mark.exists()
    mark.mkdir()
    (line,) = checked(tmp_path)
    assert line == f"{mark}: it is not a file of its own; set aside, to be made again"


def test_a_whole_report_of_something_else(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other records, another scale, another table: only its seal and its mark go, without a word."""
    evaluate(csv)
    marks = [tmp_path / "marks" / name for name in ("claims", "tables/norms")]
    (tmp_path / "marks" / "tables").mkdir(parents=True)
    for mark in marks:
        mark.touch()
    manifest = (tmp_path / "norms.json").read_text()
    (tmp_path / "norms.json").write_text(manifest.replace('"norms", "columns"', '"other", "columns"'))
    assert checked(tmp_path) == []
    assert seal.find(csv) is None
    assert not any(mark.exists() for mark in marks)
    csv.unlink()  # nothing is written over what has no seal
    (tmp_path / "norms.json").write_text(manifest)
    tabulated(tmp_path, "norms", monkeypatch, "smoke")
    assert checked(tmp_path) == []
    assert seal.find(csv) is None
    csv.unlink()
    (tmp_path / "claims.csv").unlink()
    (tmp_path / "claims.md").unlink(missing_ok=True)
    tabulated(tmp_path, "norms", monkeypatch)
    evaluate(csv)
    pd.read_csv(csv).assign(mean=2.0).to_csv(csv, index=False)
    seal.write("table", "quick", seal.read(csv).made_of, [csv])
    assert checked(tmp_path) == []
    assert seal.find(tmp_path / "claims.csv") is None
    assert (tmp_path / "claims.csv").exists()
