"""A page as a list of blocks, and its renderings in Markdown and HTML.

Prose may have two marks of Markdown, **bold** and `code`; everything else in it is plain text.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

STYLE = """\
body{font:14px/1.5 sans-serif;margin:1.5em;max-width:75em}
table{border-collapse:collapse;margin:.5em 0 1.5em}
td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:left}
td:first-child{white-space:nowrap}
th{background:#f3f3f3}h2{font-size:1.1em;margin-bottom:.2em}h3{font-size:1em;margin-bottom:.2em}"""


class Cell(NamedTuple):
    """A cell of a table: its text, and its background in HTML, as CSS has it ("": none)."""

    text: str
    colour: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading: the page's title, of level 1, that of a section, of level 2, or of a part of one, of level 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Prose."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of prose."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of plain text: the names of its columns, and rows with a cell for each."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


Block = Heading | Paragraph | Bullets | Table


def to_markdown(blocks: Sequence[Block]) -> str:
    """The page in Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """The page as an HTML document that needs no other file."""
    head = f'<!doctype html><meta charset="utf-8"><title>{_escaped(title)}</title>'
    return "\n".join([head, f"<style>{STYLE}</style>", *(_html(block) for block in blocks)]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(columns, rows):
            texts = [columns, ["---"] * len(columns), *([cell.text for cell in row] for row in rows)]
            return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in texts)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_prose(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_prose(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_prose(item)}</li>' for item in items)}</ul>"
        case Table(columns, rows):
            head = "".join(f"<th>{_escaped(name)}</th>" for name in columns)
            body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
            return f"<table><tr>{head}</tr>{body}</table>"


def _cell(cell: Cell) -> str:
    style = f' style="background:{cell.colour}"' if cell.colour else ""
    return f"<td{style}>{_escaped(cell.text)}</td>"


def _prose(text: str) -> str:
    """Escaped, with the marks as HTML has them."""
    marked = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", _escaped(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", marked)


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
