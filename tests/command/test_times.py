"""Times stand apart from tables and verdicts, so that what git tracks is the same after every run of a commit."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.claim.judge import judge
from sketchbench.report.table import times
from sketchbench.report.table.reading import COLUMNS, read_table
from sketchbench.run import record

CLAIM = """\
id: {id}
paper: song2023
place: x
statement: x
dataset: x
role: ours
studies: [one]
checks: [{{criterion: probability, where: {{quantity: {quantity}}}}}]
{predicted}
"""
FACTS = {"scale": "quick", "kernels": "numpy", "seed": 0, "skipped": [], "studies": ["one"]}
LESS = {"trials": 1000, "count": 5, "bound": 0.5}


def made(folder: Path, seconds: float, count: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        {"case": "a", "quantity": "seconds", "mean": seconds},
        {"case": "a", "quantity": "slower", **LESS, "count": count},
        {"case": "a", "quantity": "wrong", **LESS},
        {"case": "b", "quantity": "client_time", "status": "refused", "reason": "too large"},
    ]
    place = folder / "one.parquet"
    record.write(place, record.Record(rows, {"signature": "s"}))
    entry = {"record": str(place), "signature": "s", "columns": {"method": "good", "label": "Good"}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([entry])))
    csv = folder / "tables" / "one.csv"
    main(["step", "table", "one", "--csv", str(csv), "--scale", "quick"])
    return csv


def judged(folder: Path, csv: Path) -> pd.DataFrame:
    for id, quantity, predicted in (("S1", "wrong", "predicted: holds"), ("S2", "slower", "on_times: true")):
        (folder / f"{id}.yaml").write_text(CLAIM.format(id=id, quantity=quantity, predicted=predicted))
    claims = sorted(folder.glob("S*.yaml"))
    places = {"csv": folder / "claims.csv", "markdown": folder / "claims.md"}
    assert judge([csv], claims, [], json.dumps(FACTS), **places) == []
    return pd.read_csv(folder / "claims.csv").set_index("claim")


def tracked(folder: Path) -> dict[str, bytes]:
    names = ("tables/one.csv", "tables/seals.jsonl", "claims.csv", "claims.md", "seals.jsonl")
    return {name: (folder / name).read_bytes() for name in names}


def test_two_runs_leave_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seconds, count in ((1.0, 5), (2.0, 7)):
        verdicts = judged(tmp_path, made(tmp_path, seconds, count, monkeypatch))
        found.append(tracked(tmp_path))
        assert dict(verdicts["verdict"]) == {"S1": "holds"}
        assert verdicts.loc["S1", "statistic"] == 0.005
        (row,) = pd.read_csv(tmp_path / "times.csv").to_dict("records")
        assert (row["claim"], row["statistic"]) == ("S2", count / 1000)
    assert found[0] == found[1]


def test_what_is_no_number_is_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv = made(tmp_path, 1.0, 5, monkeypatch)
    assert list(read_table(csv, "table", COLUMNS)["quantity"]) == ["wrong", "client_time"]
    timed = times.read(csv)
    assert timed is not None
    assert list(timed["quantity"]) == ["seconds", "slower"]


def test_a_checkout_without_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv = made(tmp_path, 1.0, 5, monkeypatch)
    times.place(csv).unlink()
    verdicts = judged(tmp_path, csv)
    assert dict(verdicts["verdict"]) == {"S1": "holds"}
    assert not (tmp_path / "times.csv").exists()


def test_times_of_another_table_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv = made(tmp_path, 1.0, 5, monkeypatch)
    csv.write_text(csv.read_text().replace("1000", "2000"))
    seal.write("table", "quick", {}, [csv])
    assert times.read(csv) is None


def test_a_table_that_has_none_any_more(tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("method,label,quantity\na,A,q\n")
    times.write(table, "method,label,quantity,mean\na,A,seconds,1\n", "quick")
    assert times.place(table).is_file()
    times.write(table, "", "quick")
    assert [path.name for path in (tmp_path / "times").iterdir()] == [seal.LOCK]
