"""A page as a list of blocks, and its rendering in Markdown.

Prose may have two marks of Markdown, **bold** and `code`; everything else in it is plain text.
"""

from collections.abc import Sequence
from dataclasses import dataclass


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
    rows: Sequence[Sequence[str]]


Block = Heading | Paragraph | Bullets | Table


def to_markdown(blocks: Sequence[Block]) -> str:
    """The page in Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(columns, rows):
            texts = [columns, ["---"] * len(columns), *rows]
            return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in texts)
