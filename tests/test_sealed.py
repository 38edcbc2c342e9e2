"""Every tracked report is sealed: one that was changed is refused, by name, by all that shows it."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from published import TRACKED, checkout, reports

from sketchbench.base.project import PROJECT
from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.claim import history, judge
from sketchbench.report.committed import CommitError, of_commit, other_page, other_tables
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.figure import benchmarks, drawing
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.frontier import cells as frontier
from sketchbench.report.printed import cells as printed
from sketchbench.report.seal import SealError
from sketchbench.report.site import claims as claims_page
from sketchbench.report.site import figures, page, tables
from sketchbench.report.site import frontier as frontier_page
from sketchbench.report.site import history as history_page
from sketchbench.report.site import printed as printed_page
from sketchbench.report.table import origin

CONF = PROJECT / "conf"
ENTRY = read_catalogue()["growth"]
NOWHERE = Path("/nonexistent/x")  # where a reader that is not stopped could write nothing
Reader = Callable[[ReportedScale, Path], object]  # of a CSV, or of a figure's SVG
READERS: dict[str, list[Reader]] = {
    "tables": [
        lambda scale, csv: tables._table(csv, scale.name, CONF),
        lambda scale, csv: judge._read([csv], [], scale.name),
        lambda scale, csv: drawing.make("x", ENTRY, [csv], scale.name, svg=NOWHERE, png=NOWHERE),
        lambda scale, csv: frontier.join([csv], scale.name, NOWHERE),
        lambda scale, csv: printed.compare([csv], [], csv, scale.name, csv=NOWHERE),
    ],
    "origin": [
        lambda scale, csv: origin.read(csv.parents[1] / csv.name),
        lambda scale, csv: claims_page._sources(scale, [csv.stem]),
    ],
    "figures": [
        lambda scale, svg: figures.asset(scale, svg.stem),
        lambda scale, svg: figures.figure_html(page.Asset("", b""), svg.stem, scale),
    ],
    "claims": [
        lambda scale, csv: read_outcomes(scale),
        lambda scale, csv: main(["check", str(csv)]),
        lambda scale, csv: main(["check", str(reports() / "claims.csv"), "--against", str(csv)]),
        lambda scale, csv: main(["show", "S2", "--scale", scale.name]),
        lambda scale, csv: printed.compare([], [], csv, scale.name, csv=NOWHERE),
    ],
    "frontier": [
        lambda scale, csv: next(frontier_page.pages([scale], CONF)),
        lambda scale, csv: main(["advise", "--bytes=1e4", "--parameters=3760", "--frontier", str(csv)]),
    ],
    "printed": [lambda scale, csv: next(printed_page.pages([scale], CONF))],
    "history": [
        lambda scale, csv: next(history_page.pages([scale], CONF)),
        lambda scale, csv: history.read(csv),
    ],
    "benchmarks": (timed := [lambda scale, csv: benchmarks.figure_of(csv, NOWHERE, NOWHERE)]),
    "benchmarks-gpu": timed,
}


def tracked() -> list[Path]:
    """The published reports; skips the test where git has none, as others may lie beside them."""
    if not TRACKED:
        pytest.skip("git tracks no reports here")
    return [path.relative_to(checkout()) for path in sorted(reports().rglob("*")) if path.is_file()]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the published reports."""
    folder = tmp_path_factory.mktemp("project")
    for path in tracked():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout() / path, folder / path)
    return folder


def flipped(content: bytes) -> bytes:
    """The content with another bit in its middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def damages(path: Path, whole: bytes) -> Iterator[tuple[bytes, str]]:
    """The damaged contents of a file, with the name of the report that each is of; a manifest has one for each line."""
    if path.name != seal.MANIFEST:
        yield flipped(whole), path.stem
        return
    lines = whole.splitlines(keepends=True)
    for number, line in enumerate(lines):
        yield b"".join([*lines[:number], flipped(line), *lines[number + 1 :]]), json.loads(line)["name"]


def test_every_changed_report_is_refused_by_each_of_its_readers(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a line that names the file, and the command that makes it again; so is it by the check of a whole folder."""
    monkeypatch.chdir(copied)
    roots = [Path("reports"), Path("reports/paper")]
    assert [seal.damages(root) for root in roots] == [[], []]
    seen = set()
    for path in tracked():
        root = roots["paper" in path.parts]
        scale = ReportedScale("paper" if "paper" in path.parts else "quick", root)
        whole = path.read_bytes()
        for damaged, name in damages(path, whole):
            path.write_bytes(damaged)
            kind = name if path.parent == root else path.parent.name
            seen.add(kind)
            for reader in READERS[kind]:
                with pytest.raises((SealError, SystemExit)) as stop:
                    reader(scale, path.with_name(f"{name}.{'svg' if kind == 'figures' else 'csv'}"))
                assert path.name in str(stop.value), (path, name)
                assert re.search(r"; run (sketchbench results|make bench|git restore)", str(stop.value)), stop.value
                assert "\n" not in str(stop.value)
        path.write_bytes(whole)
    assert seen == set(READERS)


def test_the_check_of_a_folder_finds_each_of_them(copied: Path) -> None:
    """What has no seal, what differs from it, and what is missing."""
    folder = copied / "reports"
    changes = {
        "claims.md": lambda path: path.write_text("edited"),
        "tables/norms.csv": lambda path: path.unlink(),
        "printed.csv": lambda path: seal.put(path, None),
        "figures/seals.jsonl": lambda path: path.write_bytes(path.read_bytes()[:-9]),
        "tables/mine.csv": lambda path: path.write_text("method\n"),
    }
    names = [*changes, "seals.jsonl"]
    before = {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
    for name, change in changes.items():
        change(folder / name)
    lines = seal.damages(folder)
    assert [line.partition(": ")[0].removeprefix(f"{folder}/") for line in lines] == [
        "claims.md",
        "printed.csv",
        "tables/mine.csv",
        "tables/norms.csv",
        "figures/seals.jsonl",
    ]
    (folder / "tables/mine.csv").unlink()
    for name, content in before.items():
        (folder / name).write_bytes(content)


def test_nothing_reads_reports_in_another_way() -> None:
    """Only one module calls pandas' reader, and it verifies what it reads."""
    sources = (PROJECT / "sketchbench").rglob("*.py")
    assert [path.name for path in sources if "read_csv(" in path.read_text(encoding="utf-8")] == ["reading.py"]


@pytest.mark.git
def test_committed_reports_of_other_code_are_found(tmp_path: Path) -> None:
    """By what tables are made of, and by the page; other numbers of the same code are no difference."""

    def write(made_of: str, number: int, text: str) -> None:
        table = tmp_path / "tables" / "one.csv"
        table.parent.mkdir(exist_ok=True)
        table.write_text(f"method,label,quantity,mean\na,A,q,{number}\n")
        seal.write("table", "quick", {"a": made_of}, [table])
        for name in ("claims.csv", "claims.md"):
            (tmp_path / name).write_text(text)
        seal.write("claims", "quick", {}, [tmp_path / "claims.csv", tmp_path / "claims.md"])

    def compare() -> list[str]:
        with of_commit(tmp_path) as folder:
            return [*other_tables(folder, tmp_path), *other_page(folder, tmp_path)]

    write("1", 1, "page")
    with pytest.raises(CommitError, match=r"git has no claims\.csv with its seal"):
        compare()
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "reports"]):
        subprocess.run(["git", "-C", str(tmp_path), *who, *command], check=True, capture_output=True)
    assert compare() == []
    write("1", 2, "page")
    assert compare() == []
    write("2", 1, "page")
    (line,) = compare()
    assert "tables/one.csv: differs from the commit's; run make results" in line
    write("1", 1, "other")
    (line,) = compare()
    assert "claims.md: differs from the commit's" in line
