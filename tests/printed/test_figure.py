"""The figure of printed rounds shows each printed number, and joins those that differ to what was measured."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes

from sketchbench.measure.row import Row
from sketchbench.report.figure import catalogue, rounds
from sketchbench.run.digest import CodeDigest

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
