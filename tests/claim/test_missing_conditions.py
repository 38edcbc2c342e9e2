"""A claim without the rows of a condition decides nothing."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import writing

from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.evaluate import evaluate

ABOUT_B: dict[str, Any] = {"criterion": "upper_bound", "where": {"quantity": "q", "b": [4, 8]}}


def table(*sizes: int, **changes: Any) -> pd.DataFrame:
    """A row of the method `good` for each b, and all rows of `other`."""
    rows = [writing.table(good=1.0).assign(b=b, bound=2.0, **changes) for b in sizes]
    return pd.concat([*rows, *(writing.table(other=1.0).assign(b=b, bound=2.0) for b in (4, 8))], ignore_index=True)


def judged(folder: Path, measured: pd.DataFrame, **changes: Any) -> tuple[str, str]:
    """The verdict on `good`, and the conditions without rows."""
    writing.claim(folder, "X1", "one", **{"checks": [ABOUT_B], "negative_control": {"reason": "none"}, **changes})
    rows = evaluate(read_claims([folder / "X1.yaml"]), {"one": measured}, "quick")[0].set_index("method")
    found = {name: (str(rows.at[name, "verdict"]), str(rows.at[name, "missing"])) for name in rows.index}
    assert found["other"] == ("holds", "")
    return found["good"]


def test_every_condition_needs_a_row(tmp_path: Path) -> None:
    assert judged(tmp_path, table(4, 8)) == ("holds", "")
    assert judged(tmp_path, table(4)) == ("inconclusive", "b=8")
    assert judged(tmp_path, table(4, mean=3.0)) == ("fails", "b=8")  # one condition is enough to refute it


def test_a_row_without_a_number_is_no_measurement(tmp_path: Path) -> None:
    measured = table(4, 8)
    measured.loc[1, "bound"] = float("nan")
    assert judged(tmp_path, measured) == ("inconclusive", "b=8")


def test_a_claim_may_allow_it(tmp_path: Path) -> None:
    assert judged(tmp_path, table(4), may_lack={"b": [8]}) == ("holds", "")
    assert judged(tmp_path, table(8), may_lack={"b": [8]}) == ("inconclusive", "b=4")


@pytest.mark.parametrize(("status", "verdict"), [("refused", "holds"), ("unfinished", "inconclusive")])
def test_a_method_may_refuse_a_condition(tmp_path: Path, status: str, verdict: str) -> None:
    refused = pd.DataFrame([{"method": "good", "label": "GOOD", "quantity": "p", "b": 8, "status": status}])
    measured = pd.concat([table(4), refused], ignore_index=True)
    assert judged(tmp_path, measured)[0] == verdict


def test_a_refusal_counts_for_its_case_only(tmp_path: Path) -> None:
    about = {**ABOUT_B, "where": {**ABOUT_B["where"], "case": "flat"}}
    for case, verdict in (("flat", "holds"), (None, "holds"), ("spike", "inconclusive")):
        row = {"method": "good", "label": "GOOD", "quantity": "p", "b": 8, "status": "refused", "case": case}
        measured = pd.concat([table(4).assign(case="flat"), pd.DataFrame([row])], ignore_index=True)
        assert judged(tmp_path, measured, checks=[about])[0] == verdict


def test_every_check_needs_a_row(tmp_path: Path) -> None:
    other = {"criterion": "upper_bound", "where": {"quantity": "r"}}
    measured = pd.concat([table(4, 8), writing.table(other=1.0).assign(quantity="r", bound=2.0)], ignore_index=True)
    assert judged(tmp_path, measured, checks=[ABOUT_B, other]) == ("inconclusive", "quantity=r")
    assert judged(tmp_path, measured, checks=[ABOUT_B, other], may_lack={"quantity": ["r"]}) == ("holds", "")


def test_the_control_counts_what_it_rejects(tmp_path: Path) -> None:
    bad = pd.concat([writing.table(bad=mean).assign(b=b, bound=2.0) for b, mean in ((4, 1.0), (8, 3.0))])
    measured = pd.concat([table(4, 8), bad], ignore_index=True)
    writing.claim(
        tmp_path, "X1", "one", checks=[ABOUT_B], negative_control={"method": "bad"}, methods=["good", "other"]
    )
    rows = evaluate(read_claims([tmp_path / "X1.yaml"]), {"one": measured}, "quick")[0]
    assert rows["negative_control_rejected"].tolist() == ["1 of 2"] * 2
