"""Tables keep the digits that another processor would find, too, and no fewer than their intervals warrant."""

from pathlib import Path

import numpy as np
import pandas as pd
from all_claims import CLAIMS
from published import reports as published

from sketchbench.base.project import CONF
from sketchbench.report.claim import error_rate
from sketchbench.report.claim.check import read_verdicts
from sketchbench.report.claim.control import KINDS
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.table.rounding import rounded


def tables() -> list[Path]:
    return sorted((published() / "tables").glob("*.csv"))


def texts(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.12g", lineterminator="\n")


def perturbed(table: pd.DataFrame, size: float) -> pd.DataFrame:
    """The table with every fractional number moved by up to a relative size."""
    rng, table = np.random.default_rng(0), table.copy()
    for name in [name for name in table if pd.api.types.is_float_dtype(table[name])]:
        values = table[name].to_numpy()
        moved = values * (1 + size * rng.uniform(-1, 1, len(values)))
        table[name] = np.where(values == np.rint(values), values, moved)
    return table


def test_the_rule() -> None:
    """A mean by its standard error, spreads by 6 digits, all else by 10; whole numbers stay."""
    row = {"mean": 0.123456789012, "sd": 0.987654321012, "skewness": -0.1234567890, "maximum": 2.3456789012}
    row |= {"trials": 10_000, "bound": 0.12345678901234, "bytes_up": 123456789012.0}
    rows = [row, {**row, "sd": 1e-14, "mean": 1.23456789012345}, {**row, "trials": 1, "sd": np.nan}, {"mean": 3e-15}]
    first, constant, single, nothing = rounded(pd.DataFrame(rows)).to_dict("records")
    assert (first["mean"], first["sd"], first["skewness"], first["maximum"]) == (0.123457, 0.987654, -0.123457, 2.34568)
    assert (first["bound"], first["bytes_up"], first["trials"]) == (0.123456789, 123456789012.0, 10_000)
    assert (constant["mean"], constant["sd"], constant["skewness"]) == (1.23456789, 0.0, 0.0)
    assert single["mean"] == 0.123457
    assert nothing["mean"] == 0.0
    assert rounded(pd.DataFrame({"quantity": ["q"], "value": [1.0]})).to_dict("records") == [
        {"quantity": "q", "value": 1}
    ]


def test_last_bits_change_next_to_no_cell() -> None:
    """Relative errors of 1e-12, far above those of any processor, change fewer cells than one in 500."""
    changed = cells = 0
    for path in tables():
        table = perturbed(pd.read_csv(path), 1e-3)  # so that it has all bits, as a record has
        before, after = (texts(rounded(one)).replace("\n", ",").split(",") for one in (table, perturbed(table, 1e-12)))
        changed += sum(one != other for one, other in zip(before, after, strict=True))
        cells += len(before)
    assert 0 < changed < 2e-3 * cells


def test_rounding_changes_no_verdict() -> None:
    """Nor any statistic by more than a thousandth of its interval, though each number had an error of 1e-12."""
    claims = [claim for claim in CLAIMS.values() if not claim.on_times]
    moved = {path.stem: rounded(perturbed(pd.read_csv(path), 1e-12)) for path in tables()}
    before = read_verdicts(published() / "claims.csv")
    before = before[before["claim"].isin(claim.id for claim in claims)]
    after = evaluate(claims, moved, "quick", rate=error_rate.read(CONF), older=list(moved))[0].fillna({"method": ""})
    both = before.merge(after, on=["claim", "method"], suffixes=("", "_after"))
    assert len(both) == len(after) == len(before) > 500
    for name in ("role", "verdict", *(f"{kind}{end}" for kind in KINDS for end in ("", "_verdict"))):
        assert both[name].fillna("").equals(both[f"{name}_after"].fillna("")), name
    same = (both["case"] == both["case_after"]) & np.isclose(
        both["bound"], both["bound_after"]
    )  # else the worst is a tie
    both = both[same & np.isfinite(both["high"] - both["low"])]
    apart = (both["statistic"] - both["statistic_after"]).abs()
    assert (apart <= 1e-5 * both["statistic"].abs() + 1e-3 * (both["high"] - both["low"])).all()
    assert len(both) > 400
