"""Claims and tables that tests of verdicts write."""

from pathlib import Path
from typing import Any

import pandas as pd
import yaml

CLAIM: dict[str, Any] = {
    "paper": "ours",
    "role": "ours",
    "place": "here",
    "statement": "the mean is 1",
    "dataset": "none",
    "checks": [{"criterion": "equality", "where": {"quantity": "q"}, "margin": 0.1}],
    "predicted": "holds",
}


def claim(folder: Path, name: str, study: str, role: str = "ours", **changes: Any) -> None:
    content = {**CLAIM, "id": name, "role": role, "studies": [study], **changes}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))


def table(**means: float) -> pd.DataFrame:
    shared = {"quantity": "q", "sd": 1.0, "skewness": 0.0, "trials": 10_000, "exact": 1.0}
    return pd.DataFrame([{"method": n, "label": n.upper(), "mean": mean, **shared} for n, mean in means.items()])
