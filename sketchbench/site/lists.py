"""Lists that a reader filters, sorts and saves: a table of Tabulator, with its data in the page.

A page from a file can fetch nothing, so rows stand in it: as JSON, each text once, in gzip, which browsers read and
which makes a table of 250 kB one of 40. The address after # holds what is filtered, as in
`claims.html#verdict=fails&paper=song2023`: a link may lead to a part of a list. `find` looks into all columns, and
`sort` is the column that rows are ordered by, with a - before it from the largest.
"""

import base64
import gzip
import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sketchbench.site.page import Asset

HERE = Path(__file__).parent
FOLDER = "lists"  # of the site: what all of its lists share
SCRIPT = f"{FOLDER}/lists.js"  # to be loaded by every page; it takes the rest where there is a list
STYLES = (f"{FOLDER}/tabulator_simple.min.css", f"{FOLDER}/lists.css")
FEW = 40  # different texts of a column that are chosen from; of more, a part is typed

Kind = Literal["text", "number", "verdict"]


@dataclass(frozen=True)
class Column:
    """A column of a list.

    Attributes:
        name: its key in the rows, and in the address.
        title: its heading.
        meaning: what it holds, with the unit; shown over the heading, and below the list.
        kind: numbers are aligned and compared; verdicts are coloured; anything else is text.
        link: the key of the rows that has the address to which a cell leads, relative to the page (.html); "" for none.
    """

    name: str
    title: str
    meaning: str
    kind: Kind = "text"
    link: str = ""


def listing(name: str, columns: Sequence[Column], rows: Sequence[Mapping[Any, Any]]) -> str:
    """A list as HTML, which may stand in Markdown.

    Arguments:
        name: of the list, in letters that a file name may have; the CSV that a reader saves has it.
        columns: what is shown, in this order.
        rows: values by the columns' names; None, NaN and a missing key are an empty cell. Numbers are shown with 6
            digits, and saved with all.
    """
    shown = [_data(column, rows) for column in columns]
    content = json.dumps({"rows": len(rows), "columns": shown}, ensure_ascii=False, separators=(",", ":"))
    label = html.escape(name.replace("_", " "))
    # One line, since a line of its own would end HTML in Markdown.
    return (
        f'<div class="listing" data-name="{html.escape(name)}">'
        f'<div class="listing-bar"><label>Find <input type="search" class="listing-find" autocomplete="off"></label>'
        f'<button type="button" class="listing-clear">Show all</button>'
        f'<button type="button" class="listing-save">Save as CSV</button>'
        f'<span class="listing-count" role="status">{len(rows)} rows</span></div>'
        f'<div class="listing-table" aria-label="{label}"></div>'
        f"<noscript>The list is made by a script, which this browser does not run.</noscript>"
        f'<script type="application/gzip">{_packed(content)}</script>'
        "<details><summary>What the columns mean</summary><dl></dl></details></div>"
    )


def assets() -> Iterator[Asset]:
    """What the lists of the site share: Tabulator, and what leads to it."""
    places = [HERE / "lists.js", HERE / "lists.css", *sorted((HERE / "vendor").glob("tabulator*"))]
    for place in places:
        yield Asset(f"{FOLDER}/{place.name}", place.read_bytes())


def _data(column: Column, rows: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """A column with its cells: numbers, or places in the list of its different texts; null for an empty one."""
    about = {"name": column.name, "title": column.title, "meaning": column.meaning, "kind": column.kind}
    cells = [_plain(row.get(column.name)) for row in rows]
    if column.kind == "number":
        return {**about, "cells": cells}
    texts, places = _coded(cells)
    found = {**about, "texts": texts, "cells": places, "few": len(texts) <= FEW}
    if column.link:
        found["links"], found["linked"] = _coded([_plain(row.get(column.link)) for row in rows])
    return found


def _coded(cells: Sequence[Any]) -> tuple[list[str], list[int | None]]:
    """The different texts of cells, and the place of each cell's in them."""
    texts: dict[str, int] = {}
    places = [None if cell is None else texts.setdefault(_text(cell), len(texts)) for cell in cells]
    return list(texts), places


def _text(cell: Any) -> str:
    return {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else str(cell)


def _plain(value: Any) -> Any:
    """A value as JSON has it; None for what is no number, and whole numbers without a point."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _packed(content: str) -> str:
    """A text as gzip in base64, the same on every machine."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
