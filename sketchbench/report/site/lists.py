"""Lists that a reader filters, sorts and saves: Tabulator tables with their data in the page.

A page opened from a file can load nothing, so it holds the rows itself: JSON with each string once, compressed by gzip,
which browsers decompress (40 kB for a table of 250 kB). The address after # holds the filter, as in
`claims.html#verdict=fails&paper=song2023`, so that a link can lead to a part of a list. The key `find` searches all
columns; `sort` names the column that orders the rows, with a - before it for descending order.
"""

import base64
import gzip
import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sketchbench.report.site.page import Asset

HERE = Path(__file__).parent
FOLDER = "lists"  # the folder, in the site, of the files that all lists share
SCRIPT = f"{FOLDER}/lists.js"  # every page loads it; on a page with a list, it loads Tabulator
STYLES = (f"{FOLDER}/tabulator_simple.min.css", f"{FOLDER}/lists.css")
FEW = 40  # a column with at most this many different strings is filtered by a menu, any other by typing

Kind = Literal["text", "number", "verdict"]


class ListColumn(NamedTuple):
    """A column of a list."""

    name: str  # its key in the rows, and in the address
    title: str  # its heading
    meaning: str  # with the unit; shown with the heading, and below the list
    kind: Kind = "text"  # numbers are aligned and compared; verdicts are coloured
    link: str = ""  # the key, in the rows, of a cell's link, relative to the page (.html); "" for no link


def listing(name: str, columns: Sequence[ListColumn], rows: Sequence[Mapping[Any, Any]]) -> str:
    """The HTML of a list, for a page in Markdown; a reader saves the list as a CSV file of this name.

    `rows` have values by the columns' names; None, NaN and a missing key are an empty cell. A cell shows 6 digits of a
    number; the CSV file has all digits.
    """
    cells_by_column = [_data(column, rows) for column in columns]
    content = json.dumps({"rows": len(rows), "columns": cells_by_column}, ensure_ascii=False, separators=(",", ":"))
    label = html.escape(name.replace("_", " "))
    # One line, since a line of its own would end HTML in Markdown.
    return (
        f'<div class="listing" data-name="{html.escape(name)}">'
        f'<div class="listing-bar"><label>Find <input type="search" class="listing-find" autocomplete="off"></label>'
        f'<button type="button" class="listing-clear">Show all</button>'
        f'<button type="button" class="listing-save">Save as CSV</button>'
        f'<span class="listing-count" role="status">{len(rows)} rows</span></div>'
        f'<div class="listing-table" aria-label="{label}"></div>'
        f"<noscript>A script makes this list; this browser does not run scripts.</noscript>"
        f'<script type="application/gzip">{_compress(content)}</script>'
        "<details><summary>What the columns mean</summary><dl></dl></details></div>"
    )


def assets() -> Iterator[Asset]:
    """The files that all lists share: Tabulator, and our script and styles."""
    places = [HERE / "lists.js", HERE / "lists.css", *sorted((HERE / "vendor").glob("tabulator*"))]
    for place in places:
        yield Asset(f"{FOLDER}/{place.name}", place.read_bytes())


def _data(column: ListColumn, rows: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """The JSON of a column: cells are numbers, or indices into the list of its different strings; null is empty."""
    about = {"name": column.name, "title": column.title, "meaning": column.meaning, "kind": column.kind}
    cells = [_plain(row.get(column.name)) for row in rows]
    if column.kind == "number":
        return {**about, "cells": cells}
    texts, places = _encode(cells)
    content = {**about, "texts": texts, "cells": places, "few": len(texts) <= FEW}
    if column.link:
        content["links"], content["linked"] = _encode([_plain(row.get(column.link)) for row in rows])
    return content


def _encode(cells: Sequence[Any]) -> tuple[list[str], list[int | None]]:
    """The different strings of cells, and for each cell the index of its string."""
    texts: dict[str, int] = {}
    places = [None if cell is None else texts.setdefault(_text(cell), len(texts)) for cell in cells]
    return list(texts), places


def _text(cell: Any) -> str:
    return {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else str(cell)


def _plain(value: Any) -> Any:
    """The JSON value: None instead of NaN, and whole numbers as integers."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _compress(content: str) -> str:
    """The string compressed by gzip, in base64: the same bytes on every machine."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
