"""The page of printed against measured: every cell, and how many agree."""

from pathlib import Path

import pandas as pd
from listed import data
from published import reports as published

from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import printed
from sketchbench.report.site.page import Page

ROOT = Path(__file__).parents[2]


def test_every_cell_is_on_the_page_and_counted() -> None:
    cells = pd.read_csv(published() / "printed.csv")
    made = printed.pages([ReportedScale("quick", published())], ROOT / "conf")
    (page,) = (item for item in made if isinstance(item, Page))
    assert data(page.text)["rows"] == len(cells)
    for said, count in cells["agrees"].value_counts().items():
        assert f"{said} {count}" in page.text
    assert "Tolerances stated in advance" in page.text


def test_without_cells_there_is_no_page(tmp_path: Path) -> None:
    assert list(printed.pages([ReportedScale("quick", tmp_path)], ROOT / "conf")) == []


def test_a_table_is_laid_out_as_in_the_paper() -> None:
    """Rows and columns are the paper's, printed stands over measured, and an open cell says why."""
    base = {"unit": "", "trials": 9, "study": "s", "claim": None, "command": "", "scale": "quick", "paper": "p"}
    rows = [
        {**base, "cell": "MLP, c = 1 %", "printed": "222", "measured": 210.0, "low": 200.0, "high": 230.0},
        {**base, "cell": "MLP, c = 10 %", "printed": "96", "measured": None, "low": None, "high": None},
        {**base, "cell": "CNN, c = 1 %", "printed": "462", "measured": 300.0, "low": 290.0, "high": 310.0},
        {**base, "cell": "CNN, c = 10 %", "printed": "309", "measured": None, "low": None, "high": None},
        {**base, "cell": "what the text says", "printed": "better", "measured": None, "low": None, "high": None},
    ]
    verdicts = [("agrees", ""), ("open", "not run"), ("differs", ""), ("open", "not run"), ("agrees", "")]
    frame = pd.DataFrame(
        [{**row, "agrees": word, "reason": why} for row, (word, why) in zip(rows, verdicts, strict=True)]
    )
    text = printed.grid_of(frame)
    assert "<th scope=col>c = 1 %</th><th scope=col>c = 10 %</th>" in text
    assert text.index("<th scope=row>MLP</th>") < text.index("<strong>222</strong>") < text.index("210 [200, 230]")
    assert text.count("open</span><sup>1</sup>") == 2
    assert text.endswith("<ol><li>not run</li></ol>")
    assert text.count("<th scope=row>what the text says</th>") == 1
