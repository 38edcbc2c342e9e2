"""What made a record is a commit, or one and edits of it; and tables from before there were seals are sealed with the
commit that git has them from, or refused in one line."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sketchbench.command.main import main
from sketchbench.report import seal, standing
from sketchbench.report.standing import Table
from sketchbench.run import job


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """A committed table."""
    place = tmp_path / "reports" / "paper" / "tables" / "tails.csv"
    place.parent.mkdir(parents=True)
    place.write_text("method,label,quantity,mean\nams,AMS,q,1.0\nsrht,SRHT,q,1.0\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "tables"]):
        git(place, *command)
    return place


def git(place: Path, *command: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    folder = str(place.parents[3])
    return subprocess.run(["git", "-C", folder, *who, *command], check=True, capture_output=True, text=True).stdout


def test_a_committed_table_is_taken_as_it_is(csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, commit = csv.read_bytes(), git(csv, "log", "-1", "--format=%h", "--abbrev=12").strip()
    (csv.parents[3] / "later").write_text("")
    git(csv, "add", ".")
    git(csv, "commit", "-qm", "another")
    main(["step", "adopt", str(csv), "--scale", "paper"])
    assert capsys.readouterr().out == f"{csv}: {commit}\n"
    assert csv.read_bytes() == before
    assert seal.read(seal.beside(csv)).commits == {"ams": commit, "srht": commit}
    (found,) = standing.find(csv.parents[1], "paper").values()
    assert found == Table({"ams": "", "srht": ""}, {})
    states = found.states({"ams": "1", "srht": "2"}, {"seed": "0", "kernels": "numba"})
    assert states == {standing.OLDER: ["ams", "srht"]}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: seal.write("table", "paper", {}, [path]), "has a seal already"),
        (lambda path: path.write_text(path.read_text().replace("1.0", "2.0")), "not committed as it is here"),
        (lambda path: path.write_text("a,b\n1,2\n"), "lacks the columns"),
        (lambda path: path.unlink(), "is not there"),
        (lambda path: (path.parents[3] / ".git").rename(path.parents[3] / "git"), "not committed as it is here"),
    ],
)
def test_what_is_not_sure_is_refused(csv: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(csv)
    before = seal.beside(csv).exists()
    with pytest.raises(SystemExit) as stop:
        main(["step", "adopt", str(csv), "--scale", "paper"])
    assert str(stop.value.code).startswith("sketchbench: error: ")
    assert message in str(stop.value.code)
    assert "\n" not in str(stop.value.code)
    assert seal.beside(csv).exists() is before


def commit_now() -> str | None:
    """What a process that begins now would say."""
    job._commit.cache_clear()
    return job._commit()


def test_edits_of_code_and_configs_make_a_commit_dirty(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports don't, since a run writes them while it goes on."""
    project = csv.parents[3]
    for name in ("sketchbench", "conf"):
        (project / name).mkdir()
        (project / name / "file").write_text("")
    git(csv, "add", ".")
    git(csv, "commit", "-qm", "code")
    monkeypatch.setattr(job, "PROJECT", project)
    commit = git(csv, "log", "-1", "--format=%h", "--abbrev=12").strip()
    csv.write_text("other")
    assert commit_now() == commit
    for name in ("sketchbench", "conf"):
        (project / name / "file").write_text("edited")
        assert commit_now() == f"{commit}-dirty"
        git(csv, "checkout", "--", name)
    assert commit_now() == commit
    (project / ".git").rename(project / "git")
    assert commit_now() is None
