"""Lists: what stands in the page."""

import numpy as np
from listed import data

from sketchbench.report.site import lists
from sketchbench.report.site.lists import ListColumn, listing

COLUMNS = (
    ListColumn("method", "method", 'a sketch, "quoted" & <b>', link="page"),
    ListColumn("mean", "mean", "over trials", kind="number"),
)
ROWS = (
    {"method": "srht", "mean": 1 / 3, "page": "claims/S2.html"},
    {"method": "</script><b>", "mean": float("nan")},
    {"method": "srht", "mean": np.float64(2)},
)


def test_every_text_stands_in_it_once_and_numbers_have_all_digits() -> None:
    found = data(listing("made_up", COLUMNS, ROWS))
    methods, means = found["columns"]
    assert found["rows"] == 3
    assert methods["texts"] == ["srht", "</script><b>"]
    assert methods["cells"] == [0, 1, 0]
    assert methods["links"] == ["claims/S2.html"]
    assert methods["linked"] == [0, None, None]
    assert means["cells"] == [1 / 3, None, 2]


def test_nothing_of_the_data_is_markup_of_the_page() -> None:
    text = listing("made_up", COLUMNS, ROWS)
    assert "<b>" not in text
    assert "\n" not in text


def test_all_that_a_list_needs_comes_with_the_site() -> None:
    paths = {asset.path for asset in lists.assets()}
    assert {lists.SCRIPT, *lists.STYLES, "lists/tabulator.min.js"} <= paths
