"""The reports of a scale, and its verdicts with a value in every cell."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sketchbench.report.claim.check import read_verdicts
from sketchbench.report.claim.page import predicted

TEXTS = (
    *("claim", "paper", "place", "role", "label", "method", "verdict", "predicted", "study", "dataset", "case", "code"),
    *("criterion", "negative_control", "negative_control_verdict", "negative_control_criterion"),
    *("near_miss", "near_miss_verdict", "missing", "negative_control_rejected"),
)
NUMBERS = (
    *("statistic", "low", "high", "bound", "slack", "tightness", "loosest", "trials"),
    *("negative_control_statistic", "negative_control_bound", "near_miss_statistic"),
    "near_miss_bound",
)


class ReportedScale(NamedTuple):
    """A scale, and the folder of its reports: claims.csv, printed.csv, frontier.csv, tables/ and figures/, or some."""

    name: str
    reports: Path


def read_outcomes(scale: ReportedScale) -> pd.DataFrame:
    """The verdicts of a scale, without rows if there is no file; a missing string is "", a missing number NaN.

    Raises SealError or TableError, in one line, if the report is damaged.
    """
    path = scale.reports / "claims.csv"
    frame = read_verdicts(path, scale.name) if path.is_file() else pd.DataFrame({"claim": []})
    for name in TEXTS:
        frame[name] = frame[name].astype(object).fillna("").astype(str) if name in frame else ""
    for name in NUMBERS:
        frame[name] = pd.to_numeric(frame[name], errors="coerce") if name in frame else float("nan")
    frame["scale"] = scale.name
    frame["as_predicted"] = predicted(frame)
    return frame
