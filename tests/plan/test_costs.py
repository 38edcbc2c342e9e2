"""What runs cost: taken from records, kept in a file, and told in a plan."""

from pathlib import Path

import pytest
from whole_plan import whole_plan

from sketchbench.command.main import main
from sketchbench.plan import cost
from sketchbench.plan.batch import Batch, Run
from sketchbench.plan.cost import Cost, CostError, Key
from sketchbench.run import record


def _record(path: Path, seconds: object, peak: object) -> None:
    record.write(path, record.Record([{"x": 1}], {"signature": "0", "cpu_seconds": seconds, "peak_mebibytes": peak}))


def test_costs_are_those_of_the_records(tmp_path: Path) -> None:
    _record(tmp_path / "moments" / "srht" / "d8.parquet", 1.0, 200)
    _record(tmp_path / "moments" / "control" / "zero" / "d8.parquet", 3.0, 100)
    _record(tmp_path / "tails" / "srht" / "d8.parquet", 5.0, 300)
    _record(tmp_path / "older" / "srht" / "d8.parquet", None, None)
    (tmp_path / "tails" / "srht" / "damaged.parquet").write_bytes(b"PAR1")
    assert cost.measured(tmp_path) == {"moments": Cost(2.0, 3.0, 200, 2), "tails": Cost(5.0, 5.0, 300, 1)}


def test_the_file_says_what_was_written_and_keeps_other_scales(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(cost.text({Key("paper", "tails"): Cost(7200.0, 9000.0, 500, 3)}))
    monkeypatch.setattr(cost, "FILE", file)
    _record(tmp_path / "results" / "tails" / "srht" / "d8.parquet", 5.0, 300)
    main(["costs", "smoke", "--results", str(tmp_path / "results")])
    assert cost.read(file) == {
        Key("paper", "tails"): Cost(7200.0, 9000.0, 500, 3),
        Key("smoke", "tails"): Cost(5.0, 5.0, 300, 1),
    }
    assert "1 studies at smoke: 5 seconds of a core" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "scale,study\n",
        ",".join(cost.COLUMNS) + "\nquick,tails,1,2,1,100\n",
        "\x00",
        ",".join(cost.COLUMNS) + "\nquick\n",
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with pytest.raises(CostError, match=r"costs\.csv: .*restore it") as refused:
        cost.read(file)
    assert "\n" not in str(refused.value)


def test_every_study_of_the_quick_scale_has_a_cost() -> None:
    planned = whole_plan("quick")
    unknown = {run.study for runs in planned.runs.values() for run in runs.values() if run.cost is None}
    assert not unknown, "run `make results`, then `sketchbench costs quick`"
    assert "never measured" not in planned.summary


def test_a_batch_is_as_long_as_its_runs_together_and_unknown_where_one_is() -> None:
    known = Run("one", "a", {}, "0", {}, "a.parquet", Cost(2.0, 3.0, 100, 1))
    unknown = Run("one", "b", {}, "0", {}, "b.parquet")
    both = Batch("x.done", [known, known])
    assert (both.seconds, both.mebibytes) == (4.0, 100)
    mixed = Batch("x.done", [known, unknown])
    assert mixed.seconds is mixed.mebibytes is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7199, "120 minutes"), (9000, "2.5 hours")],
)
def test_durations_are_told_in_the_unit_that_reads_best(seconds: float, words: str) -> None:
    assert cost.format_duration(seconds) == words
