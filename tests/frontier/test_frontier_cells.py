"""The frontier is joined from the tables of its studies, cell by cell."""

from pathlib import Path
from typing import Any

import made_up
import pandas as pd
import pytest

from sketchbench.plan.trained import trained
from sketchbench.report import seal
from sketchbench.report.frontier import IMAGES, SAMPLED, TRAINING
from sketchbench.report.frontier.cells import COLUMNS, MEANINGS, TrainedStudy, cells, join, read


def cell(frontier: pd.DataFrame, method: str, compression: float, case: str = "iid", epsilon: Any = None) -> Any:
    rows = frontier[(frontier["method"] == method) & (frontier["compression"] == compression)]
    rows = rows[rows["case"] == case]
    rows = rows[rows["epsilon"].isna() if epsilon is None else rows["epsilon"] == epsilon]
    assert len(rows) == 1
    return rows.iloc[0]


def test_what_was_measured_stands_in_its_cell() -> None:
    frontier = cells(made_up.tables())
    row = cell(frontier, "top_k", 16)
    assert row["accuracy"] == pytest.approx(0.90, abs=1e-3)
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
    assert row["loss"] == pytest.approx(0.05, abs=1e-3)
    assert row["leak_server"] == pytest.approx(12 / 16, abs=1e-3)
    assert row["leak_sum"] == pytest.approx(1 / 16, abs=1e-3)
    assert "client_time" not in row  # times differ from run to run
    assert row["client_memory"] == 1.0
    assert not row["adds_up"]
    assert cell(frontier, "srht", 16)["adds_up"]
    assert cell(frontier, "top_k", 16, epsilon=1.0)["accuracy"] < row["accuracy"]


def test_every_column_has_a_meaning_and_controls_are_left_out() -> None:
    frontier = cells(made_up.tables())
    plain = {name.removesuffix("_low").removesuffix("_high") for name in frontier}
    assert plain == set(MEANINGS)
    assert not frontier["method"].str.startswith("control/").any()


def test_a_budget_that_is_too_small_says_why() -> None:
    frontier = cells(made_up.tables())
    refused = frontier[frontier["refused"].notna()]
    assert list(refused["method"]) == ["none"]
    assert refused["accuracy"].isna().all()


def test_bytes_are_counted_up_down_and_both_ways_and_to_the_target() -> None:
    frontier = cells(made_up.tables())
    row = cell(frontier, "top_k", 16)
    assert (row["bytes_up"], row["bytes_down"], row["bytes_both"]) == (940, 2820, 3760)
    assert (row["reached"], row["rounds_to_target"]) == (made_up.TRIALS, pytest.approx(50))
    assert [row[f"target_{way}"] for way in ("up", "down", "both")] == pytest.approx([47_000, 141_000, 188_000])
    missed = cell(frontier, "srht", 16)
    assert missed["reached"] == 0
    assert pd.isna(missed["rounds_to_target"])
    assert pd.isna(missed["target_both"])


def test_tables_without_a_target_leave_it_empty() -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    older = rows[~rows["quantity"].isin(["reached", "rounds_to_target"])]
    row = cell(cells({**tables, "frontier": older}), "top_k", 16)
    assert row[["reached", "rounds_to_target", "target_both"]].isna().all()
    assert row["bytes_both"] == 3760


def test_dominated_is_whoever_takes_no_fewer_bytes_both_ways_and_lies_below_beyond_both_intervals() -> None:
    frontier = cells(made_up.tables())
    assert cell(frontier, "srht", 4)["dominated"]  # by Top-K at 1/16, which takes half of the bytes
    assert not cell(frontier, "srht", 64)["dominated"]  # by uploads alone it were
    assert not cell(frontier, "top_k", 16)["dominated"]
    tables = made_up.tables()
    rows = tables["frontier"]
    rows.loc[rows["method"] == "top_k", "sd"] = 1.0  # intervals so wide that nothing is certain
    assert not cell(cells(tables), "srht", 4)["dominated"]


def test_trainings_alone_are_a_frontier() -> None:
    frontier = cells({"frontier": made_up.tables()["frontier"]})
    assert frontier["leak_server"].isna().all()
    assert cell(frontier, "top_k", 16)["accuracy"] > 0.8


def about(study: str, **taking_part: int) -> TrainedStudy:
    return TrainedStudy("digits", {"iid": 10, "sampled": 100}, taking_part, lambda *cell: f"{study} {cell}")


def test_clients_that_are_drawn_have_cells_of_their_own() -> None:
    """Beside those of all clients, with a command of their own; a budget that is refused by both stands once."""
    tables = made_up.tables()
    rows = tables["frontier"]
    alone = rows[rows["case"].isin(["iid"]) & rows["epsilon"].isna()].assign(case="sampled")
    more = pd.concat([alone, rows[rows["status"] == "refused"]])
    said = {TRAINING: about("all"), SAMPLED: about("few", sampled=10)}
    frontier = cells({**tables, SAMPLED: more}, said)
    row = cell(frontier, "srht", 16, "sampled")
    assert row["accuracy"] == pytest.approx(0.76, abs=1e-3)
    assert (row["clients"], row["taking_part"], row["command"]) == (100, 10, "few ('srht', 16)")
    row = cell(frontier, "srht", 16)
    assert (row["clients"], row["taking_part"], row["command"]) == (10, 10, "all ('srht', 16)")
    assert len(frontier[frontier["refused"].notna()]) == 1


def test_what_was_measured_on_one_network_is_not_said_of_another() -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    other = rows[rows["epsilon"].isna() & (rows["method"] == "top_k")].assign(d=89_834)
    frontier = cells({**tables, IMAGES: other})
    own = frontier[(frontier["method"] == "top_k") & (frontier["compression"] == 16) & (frontier["case"] == "iid")]
    by_size = own[own["epsilon"].isna()].set_index("d")
    assert by_size.loc[made_up.D, "leak_server"] == pytest.approx(12 / 16, abs=1e-3)
    assert by_size.loc[89_834, ["leak_server", "client_memory"]].isna().all()
    assert by_size["adds_up"].eq(False).all()


def test_large_counts_keep_all_digits(tmp_path: Path) -> None:
    tables = made_up.tables()
    rows = tables["frontier"]
    rows["bytes_down"] *= 1_000_001
    path = tmp_path / "frontier.csv"
    rows.to_csv(path, index=False)
    seal.write("table", "quick", {}, [path])
    join([path], "quick", path.with_name("joined.csv"))
    frontier = read(path.with_name("joined.csv"))
    assert list(frontier) == COLUMNS
    assert cell(frontier, "top_k", 16)["bytes_down"] == 2820 * 1_000_001


@pytest.mark.parametrize("study", [TRAINING, SAMPLED, IMAGES])
def test_configs_say_what_trainings_are_of(study: str) -> None:
    said = trained(study, "paper")
    assert said.data == ("CIFAR-10" if study == IMAGES else "MNIST")
    assert said.clients["iid"] == 10
    assert (said.clients["sampled"] == 1000) == (study == SAMPLED)
    assert said.taking_part == {"sampled": 10}
    command = said.command("top_k", 64.0)
    assert command.startswith("sketchbench run task=frontier compressor=top_k scale=paper dataset@task.dataset=")
    assert command.endswith("task.compression=64")
    assert ("task.training.cases=[sampled]" in command) == (study == SAMPLED)
