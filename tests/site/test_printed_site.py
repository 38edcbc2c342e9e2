"""The page of printed against measured: every cell, and how many agree."""

from pathlib import Path

import pandas as pd
from listed import data

from sketchbench.report.evidence.outcomes import Scale
from sketchbench.site import printed
from sketchbench.site.page import Page

ROOT = Path(__file__).parents[2]


def test_every_cell_is_on_the_page_and_counted() -> None:
    cells = pd.read_csv(ROOT / "reports" / "printed.csv")
    made = printed.pages([Scale("quick", ROOT / "reports")], ROOT / "conf")
    (page,) = (item for item in made if isinstance(item, Page))
    assert data(page.text)["rows"] == len(cells)
    for said, count in cells["agrees"].value_counts().items():
        assert f"{said} {count}" in page.text
    assert "Tolerances stated in advance" in page.text


def test_without_cells_there_is_no_page(tmp_path: Path) -> None:
    assert list(printed.pages([Scale("quick", tmp_path)], ROOT / "conf")) == []
