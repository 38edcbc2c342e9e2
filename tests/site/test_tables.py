"""The pages of tables: nothing is dropped, and what is told once is not repeated."""

from pathlib import Path

from listed import data

from sketchbench.measure.column import Column as Measured
from sketchbench.report import seal
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import tables
from sketchbench.report.site.page import Page

CONF = Path(__file__).parents[2] / "conf"
TABLE = """\
method,label,d,quantity,mean,trials,status
ams,AMS,64,bias,0.25,10,finite
srht,SRHT,64,bias,0.123456789012,10,finite
srht,SRHT,64,bias,,10,refused
"""


def pages(folder: Path) -> dict[str, Page]:
    (folder / "tables").mkdir()
    path = folder / "tables" / "tails.csv"
    path.write_text(TABLE)
    seal.write("table", "quick", {}, [path])
    (folder / "figures").mkdir()
    (folder / "figures" / "tails.svg").touch()
    made = tables.pages([ReportedScale("quick", folder)], CONF)
    return {item.path: item for item in made if isinstance(item, Page)}


def test_a_table_has_a_page_with_its_rows_and_its_claims(tmp_path: Path) -> None:
    made = pages(tmp_path)
    text = made["tables/tails.md"].text
    columns = {column["name"]: column for column in data(text)["columns"]}
    assert list(columns) == ["scale", "method", "label", "mean", "status"]
    assert columns["mean"]["cells"] == [0.25, 0.123456789012, None]
    assert columns["mean"]["meaning"].startswith(Measured.MEAN.meaning)
    assert "<code>d</code> = 64" in text
    assert "figures.html#tails" in text


def test_the_list_says_what_is_measured(tmp_path: Path) -> None:
    columns = {column["name"]: column for column in data(pages(tmp_path)["tables.md"].text)["columns"]}
    assert columns["study"]["links"] == ["tables/tails.html#scale=quick"]
    assert columns["about"]["texts"] == ["How often gᵀRᵀRh is further from gᵀh than the lemmas allow."]
