"""The frontier is joined from the tables of its studies, cell by cell."""

from typing import Any

import made_up
import pandas as pd
import pytest

from sketchbench.report.frontier.cells import MEANINGS, cells


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
    assert row["command"].endswith("compressor=top_k task.compression=16")
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


def test_dominated_is_whoever_sends_no_less_and_lies_below_beyond_both_intervals() -> None:
    frontier = cells(made_up.tables())
    assert cell(frontier, "srht", 16)["dominated"]
    assert not cell(frontier, "top_k", 16)["dominated"]
    tables = made_up.tables()
    rows = tables["frontier"]
    rows.loc[rows["method"] == "top_k", "sd"] = 1.0  # intervals so wide that nothing is certain
    assert not cell(cells(tables), "srht", 16)["dominated"]


def test_trainings_alone_are_a_frontier() -> None:
    frontier = cells({"frontier": made_up.tables()["frontier"]})
    assert frontier["leak_server"].isna().all()
    assert cell(frontier, "top_k", 16)["accuracy"] > 0.8


def test_clients_that_are_drawn_have_cells_of_their_own() -> None:
    """Beside those of all clients, with a command of their own; a budget that is refused by both stands once."""
    tables = made_up.tables()
    rows = tables["frontier"]
    alone = rows[rows["case"].isin(["iid"]) & rows["epsilon"].isna()].assign(case="sampled")
    frontier = cells({**tables, "frontier_sampled": pd.concat([alone, rows[rows["status"] == "refused"]])})
    row = cell(frontier, "srht", 16, "sampled")
    assert row["accuracy"] == pytest.approx(0.76, abs=1e-3)
    assert "'task.training.cases=[sampled]'" in row["command"]
    assert "sampled" not in cell(frontier, "srht", 16)["command"]
    assert len(frontier[frontier["refused"].notna()]) == 1
