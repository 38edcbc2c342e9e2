"""Texts, numbers, verdicts and tables in HTML."""

import html
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from sketchbench.report.claim import page
from sketchbench.report.claim.page import MARKS


def escape(text: object) -> str:
    """The text with HTML's special characters escaped."""
    return html.escape(str(text), quote=True)


def typeset(text: str) -> str:
    """The HTML of a statement, with indices, exponents and powers of ten set as in print."""
    out = escape(text)
    out = re.sub(
        r"\b(\d+(?:\.\d+)?)e\+?(-?)0*(\d+)\b", lambda m: f"{_times(m[1])}10<sup>{m[2] and '−'}{m[3]}</sup>", out
    )
    out = re.sub(r"\^\(([^()]*)\)|\^\{([^{}]*)\}|\^([\w*+]+)", lambda m: f"<sup>{m[1] or m[2] or m[3]}</sup>", out)
    out = re.sub(r"(?<=\w)_\{([^{}]+)\}", r"<sub>\1</sub>", out)
    return re.sub(r"(?<=\b[A-Za-zγηθσδεΔ])_(\w+)\b", r"<sub>\1</sub>", out)


def _times(mantissa: str) -> str:
    return "" if mantissa == "1" else f"{mantissa} · "


def prose(text: str) -> str:
    """The HTML of a reason: typeset, with Markdown's `code` and **bold**."""
    parts = re.split(r"`([^`]+)`", text)
    done = [typeset(part) if number % 2 == 0 else f"<code>{escape(part)}</code>" for number, part in enumerate(parts)]
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", "".join(done))


def badge(verdict: str) -> str:
    """The HTML of a verdict, with its sign and its colour."""
    if verdict not in MARKS:
        return f'<span class="any">{escape(verdict)}</span>'
    return f'<span class="{slug(verdict)}">{MARKS[verdict]} {verdict}</span>'


def slug(verdict: str) -> str:
    """The style sheet's class of a verdict."""
    return re.sub(r"[, ]+", "-", verdict)


def number(value: float, digits: int = 4) -> str:
    """The number with this many significant digits; "" for NaN."""
    return "" if pd.isna(value) else page.number(value, digits).replace("-", "−")


def anchor(row: Mapping[Any, Any]) -> str:
    """The anchor of a method's row on the page of its claim."""
    return re.sub(r"[^a-z0-9]+", "-", str(row["method"] or row["label"] or "all").lower()).strip("-")


def link(row: Mapping[Any, Any], root: str = "") -> str:
    """The address of a row's evidence; `root` leads from the page to the top of the site."""
    return f"{root}claims/{row['claim']}.html#{anchor(row)}"


def row_of(cells: Iterable[object], about: str = "") -> str:
    """A row of a table in HTML: the cells are HTML, and `about` has the row's attributes."""
    return f"<tr{about}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def table_of(head: Iterable[object], rows: Iterable[str]) -> str:
    """A table in HTML that scrolls in a box: the texts of its head, and rows such as `row_of` gives."""
    titles = "".join(f"<th>{text}</th>" for text in head)
    return f'<div class="box"><table><tr>{titles}</tr>{"".join(rows)}</table></div>'
