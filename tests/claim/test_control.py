"""Negative controls: how they are read and named, and whose references their rows are held against."""

from typing import Any

import pandas as pd
import pytest

from sketchbench.report.claim.control import IMPOSSIBLE, NegativeControl, read_controls, with_references


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"method": "zero"}, "zero"),
        ({"where": {"noise": 0.5}, "studies": ["controls"]}, "noise=0.5, controls"),
        ({"method": "zero", "where": {"case": "still"}}, "zero, still"),
        ({"where": {"case": "still"}}, "still"),
        ({"reason": "an identity"}, IMPOSSIBLE),
    ],
)
def test_one_control_for_all_methods(content: dict[str, Any], name: str) -> None:
    controls = read_controls(content)
    assert list(controls) == ["default"]
    assert controls["default"].name == name


def test_controls_by_method() -> None:
    controls = read_controls({"default": {"method": "zero"}, "zero": {"reason": "it is one"}})
    assert controls["default"] == NegativeControl(method="zero")
    assert controls["zero"].reason == "it is one"
    assert read_controls({"good": {"where": {"d": 25}}}) == {"good": NegativeControl(where={"d": 25})}


def test_a_control_by_an_unknown_column() -> None:
    with pytest.raises(ValueError, match="column=nose is unknown; did you mean noise"):
        read_controls({"where": {"nose": 0.5}})


def test_the_references_of_the_claim() -> None:
    """They go by quantity and axes, other than those that distinguish the control; the control's own are left out."""
    control = {"quantity": ["q", "q", "q"], "case": "still", "d": [4, 8, 16], "mean": [1.0, 2.0, 3.0]}
    claimed = {"quantity": ["q", "q", "other"], "case": "moved", "d": [4, 8, 16]}
    rows = pd.DataFrame(control).assign(exact=float("nan"), bound=99.0)
    references = pd.DataFrame(claimed).assign(exact=[0.5, 0.6, 0.7], bound=[5.0, 6.0, 7.0])
    found = with_references(rows, references, ["case"])
    assert found[["d", "mean", "exact", "bound"]].to_numpy().tolist() == [[4, 1.0, 0.5, 5.0], [8, 2.0, 0.6, 6.0]]
    assert with_references(rows, references, []).empty
