"""The leaderboard: each compressor once in a setting, by the bytes of both ways until the target."""

from pathlib import Path

import numpy as np
import pandas as pd
from listed import data
from published import reports as published

from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import leaderboard
from sketchbench.report.site.page import Page

ROOT = Path(__file__).parents[2]
NAN = float("nan")
TEXTS = ("label", "source")


def row(method: str, target: float, **other: object) -> dict[str, object]:
    setting = {"scale": "quick", "data": "digits", "case": "iid", "epsilon": NAN, "d": 10, "accuracy": 0.9}
    return {"method": method, "target_both": target, **setting, **other}


def test_a_compressor_stands_at_its_fewest_bytes_and_the_unreached_target_is_last() -> None:
    rows = [
        *(row("a", 30.0, compression=4), row("a", 20.0, compression=16)),
        *(row("b", 10.0, compression=4), row("b", NAN, compression=16, accuracy=0.1)),
        *(row("c", NAN, compression=4, accuracy=0.2), row("c", NAN, compression=16, accuracy=0.3)),
        row("refused", NAN, compression=4, accuracy=NAN),
        row("c", 5.0, compression=4, epsilon=1.0),
    ]
    ranked = leaderboard.rank(pd.DataFrame(rows))
    alike = ranked[ranked["epsilon"].isna()]
    assert list(alike["method"]) == ["b", "a", "c"]
    assert list(alike["compression"]) == [4, 16, 16]
    np.testing.assert_array_equal(alike["rank"], [1, 2, NAN])
    assert list(ranked.loc[ranked["epsilon"] == 1, "rank"]) == [1]


def test_a_row_leads_to_its_measurement_and_its_code() -> None:
    (page,) = leaderboard.pages([ReportedScale("quick", published())], ROOT / "conf")
    assert isinstance(page, Page)
    columns = {column["name"]: column for column in data(page.text)["columns"]}
    texts = {
        name: [column["texts"][at] if at is not None else "" for at in column["cells"]]
        for name, column in columns.items()
        if name in TEXTS
    }
    place = texts["label"].index("EDEN")
    label, evidence = columns["label"], columns["evidence"]
    assert label["links"][label["linked"][place]].endswith("compressor.html#sketchbench.compressor.eden.EDEN")
    assert evidence["links"][evidence["linked"][place]].startswith("frontier.html#label=EDEN&data=digits&case=")
    assert "Vargaftik" in texts["source"][place]
    settings = list(zip(*(columns[name]["cells"] for name in ("label", "data", "case", "epsilon")), strict=True))
    assert len(set(settings)) == len(settings)


def test_without_a_frontier_there_is_no_leaderboard(tmp_path: Path) -> None:
    assert not list(leaderboard.pages([ReportedScale("quick", tmp_path)], ROOT / "conf"))
