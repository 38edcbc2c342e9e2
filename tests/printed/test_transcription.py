"""What conf/printed says of the papers is complete, and a mistake in it is refused in one line."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from all_claims import CLAIMS
from matplotlib.axes import Axes

from sketchbench.measure.column import Column
from sketchbench.measure.row import Row
from sketchbench.report.figure import catalogue, rounds
from sketchbench.report.printed.transcription import FOLDER, PrintedError, read_printed
from sketchbench.run.config.chapters import named
from sketchbench.run.config.schema import SchemaError
from sketchbench.run.digest import CodeDigest

ROOT = Path(__file__).parents[2]
# What the papers have. song2023 has no figure, tang2021 no table.
PLACES = {
    "song2023": {"Table 1", "Table 2"},
    "zhang2021": {"Table 1", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "§6.3, Appendix A.2"},
    "tang2021": {"Figure 1", "Figure 2", "Figure 3", "Figure 4"},
}
DRAW = {
    "cell": "one",
    "printed": "2.50",
    "criterion": "draw",
    "study": "embedding",
    "where": {"quantity": "embedding_constant"},
    "tolerance": {"amount": 0, "widest": 0.5, "reason": "none"},
}
CELLS = read_printed(FOLDER.glob("*.yaml"))


def written(folder: Path, *cells: dict[str, Any], **changes: Any) -> Path:
    path = folder / "table.yaml"
    path.write_text(yaml.safe_dump({"paper": "song2023", "place": "Table 1", "about": "x", "cells": cells, **changes}))
    return path


def without(*keys: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**DRAW, **changes}.items() if key not in keys}


def test_every_table_and_figure_is_there() -> None:
    assert {paper: {cell.place for cell in CELLS if cell.paper == paper} for paper in PLACES} == PLACES


def test_table_1_of_zhang2021_has_its_20_cells() -> None:
    cells = [cell for cell in CELLS if (cell.paper, cell.place) == ("zhang2021", "Table 1")]
    measured = Counter((cell.study, cell.where["case"], cell.where["participation"]) for cell in cells)
    shares = (0.01, 0.1, 0.2, 0.5, 1)
    models = ("federated_mlp", "federated_cnn")
    assert measured == Counter((study, case, c) for study in models for case in ("plain", "sketched") for c in shares)
    # The text sums the table up: 2.6 to 3.6 times the rounds for the perceptron, 0.6 to 5.6 for the CNN (3.67 is cut).
    rounds = {(cell.study, cell.where["case"], cell.where["participation"]): cell.number for cell in cells}
    for study, ends in (("federated_mlp", (2.6, 3.6)), ("federated_cnn", (0.6, 5.6))):
        ratios = [rounds[study, "sketched", c] / rounds[study, "plain", c] for c in shares]
        assert (min(ratios), max(ratios)) == pytest.approx(ends, abs=0.1)


def test_the_rounds_are_those_that_studies_judge_by_and_figures_show() -> None:
    rounds: dict[str, dict[str, list[float]]] = {"federated_mlp": {}, "federated_cnn": {}}
    for cell in CELLS:
        if (cell.paper, cell.place) == ("zhang2021", "Table 1"):
            rounds[cell.study].setdefault(f"{cell.where['participation']:g}", []).append(cell.number)
    for name, both in rounds.items():
        study = yaml.safe_load(named(ROOT / "conf", "study")[name].read_text())
        paper = study["scales"]["paper"]
        settings = [study["set"], *(part.get("set", {}) for part in (paper, *paper["variations"]))]
        judged = {share: pair for each in settings for share, pair in each.get("task.judging.printed", {}).items()}
        assert len(judged) == 5
        assert judged == both
    for figure, name in (("rounds_to_target", "federated_mlp"), ("rounds_to_target_cnn", "federated_cnn")):
        content = yaml.safe_load(named(ROOT / "conf", "figure")[figure].read_text())
        shown = content["scales"]["paper"]["arguments"]["printed"]
        assert list(zip(shown["plain"], shown["sketched"], strict=True)) == [tuple(r) for r in rounds[name].values()]


def test_claims_and_quantities_exist() -> None:
    measuring = "".join(path.read_text() for path in (ROOT / "sketchbench" / "task").rglob("*.py"))
    for cell in CELLS:
        if cell.claim:
            assert CLAIMS[cell.claim].paper == cell.paper, cell.name
            assert cell.study in CLAIMS[cell.claim].studies, cell.name
        if cell.where:
            assert re.search(rf"""[`"]{cell.where[Column.QUANTITY]}[`"]""", measuring), cell.name


def test_digits_count() -> None:
    rounding = {cell.printed: cell.rounding for cell in CELLS if cell.criterion in ("draw", "digits")}
    assert rounding["222"] == 0.5
    assert rounding["3.28"] == pytest.approx(0.005)
    assert rounding["1.0"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (without(colum="mean"), "'colum' was unexpected"),
        (without(printed=2.5), "is not of type"),
        (without(criterion="near"), "'near' is not one of"),
        (without("criterion"), "cell 'one': criterion is missing; choose one of draw"),
        (without("tolerance"), "cell 'one': criterion=draw needs tolerance; add it"),
        (without(criterion="claim"), "criterion=claim reads verdicts and ignores where"),
        (without("where", criterion="claim"), "criterion=claim needs claim"),
        (without(printed="about 2"), "printed=about 2 must be a number"),
        (without(study="embeding"), "study=embeding is unknown; did you mean embedding"),
        (without(where={"quantity": "mean", "rond": 1}), "column=rond is unknown"),
        (without(where={"case": "random"}), "where needs a quantity"),
        (without(criterion="open"), "criterion=open needs reason"),
    ],
)
def test_a_wrong_cell_is_refused_in_one_line(tmp_path: Path, cell: dict[str, Any], told: str) -> None:
    with pytest.raises((SchemaError, PrintedError)) as refused:
        read_printed([written(tmp_path, cell)])
    assert told in str(refused.value)
    assert "table.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_cell_is_there_once(tmp_path: Path) -> None:
    with pytest.raises(PrintedError, match="duplicate cell 'one'"):
        read_printed([written(tmp_path, DRAW, DRAW)])


def test_cells_have_what_all_have(tmp_path: Path) -> None:
    common = {**without("cell", "printed", "where"), "where": {"quantity": "a", "method": "srht"}}
    cells = [{"cell": "one", "printed": "1", "where": {"case": "x"}, "over": {"case": "y"}}]
    (cell,) = read_printed([written(tmp_path, *cells, common=common)])
    assert dict(cell.where) == {"quantity": "a", "method": "srht", "case": "x"}
    assert dict(cell.over) == {"quantity": "a", "method": "srht", "case": "y"}


# The figure of printed rounds shows each printed number, and joins those that differ to what was measured


SHARE = 0.1  # 96 rounds are printed, plain, and 322 sketched


def tables(plain: float, sketched: float) -> dict[str, pd.DataFrame]:
    """Both studies, with rounds of the perceptron at one share of the clients."""
    where = {"participation": SHARE}
    rounds = [
        Row("rounds_to_target", case=case, **where).mean([mean - 1, mean, mean + 1])
        for case, mean in (("plain", plain), ("sketched", sketched))
    ]
    measured = [{"method": "balanced_count_sketch", "label": "Balanced CountSketch", **row} for row in rounds]
    mlp = pd.DataFrame(measured)
    return {"federated_mlp": mlp, "federated_cnn": mlp.assign(participation=0.3)}


def open_markers(axes: Axes) -> list[float]:
    return sorted(float(y) for line in axes.lines if line.get_markerfacecolor() == "none" for y in line.get_ydata())


@pytest.mark.parametrize(("plain", "sketched", "joined"), [(96, 322, 0), (40, 322, 1), (40, 140, 2)])
def test_what_differs_is_joined(plain: float, sketched: float, joined: int) -> None:
    mlp, cnn = rounds.plot_printed(tables(plain, sketched), cells="zhang2021-table-1").axes
    assert open_markers(mlp) == [82, 83, 84, 96, 222, 287, 298, 308, 322, 572]
    assert open_markers(cnn) == [31, 91, 97, 170, 174, 176, 189, 309, 462, 636]
    dotted = [line for line in mlp.lines if line.get_linestyle() == ":"]
    assert len(dotted) == joined
    assert all(len({*line.get_xdata()}) == 1 for line in mlp.lines)  # all numbers of a share stand at it


def test_without_printed_numbers_what_was_measured_is_shown() -> None:
    mlp, _ = rounds.plot_printed(tables(40, 140)).axes
    assert open_markers(mlp) == []
    assert {float(line.get_ydata()[0]) for line in mlp.lines if line.get_marker() != "None"} == {40, 140}


def test_another_printed_number_draws_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, code = catalogue.read_catalogue()["printed_rounds"], CodeDigest()
    before = entry.digest(code)
    text = (catalogue.PRINTED / "zhang2021-table-1.yaml").read_text()
    monkeypatch.setattr(catalogue, "PRINTED", tmp_path)
    (tmp_path / "zhang2021-table-1.yaml").write_text(text)
    assert entry.digest(code) == before
    (tmp_path / "zhang2021-table-1.yaml").write_text(text.replace('"222"', '"223"'))
    assert entry.digest(code) != before
