"""What the modules of the site exchange: where the reports are, and the pages that are made of them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scale:
    """The reports of one scale.

    Attributes:
        name: quick or paper.
        reports: the folder with claims.csv, printed.csv, frontier.csv, tables/ and figures/; any may be missing.
    """

    name: str
    reports: Path


PLACES = {"quick": ".", "paper": "paper"}  # of each scale, in the folder of the reports


def scales_of(reports: Path) -> list[Scale]:
    """The scales that have verdicts in a folder of reports, quick first."""
    scales = [Scale(name, reports / place) for name, place in PLACES.items()]
    return [scale for scale in scales if (scale.reports / "claims.csv").is_file()]


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        path: where it is, relative to the site, such as "claims/S2.md"; the generator makes claims/S2.html of it.
        title: its heading, and its name in the navigation and the search.
        text: Markdown, in which HTML may stand; without the heading. Links to other pages are relative paths (.md).
    """

    path: str
    title: str
    text: str


@dataclass(frozen=True)
class Asset:
    """A file that pages refer to, such as a picture: its place relative to the site, and its bytes."""

    path: str
    content: bytes


def table_address(study: str, scale: str) -> str:
    """Where the table of a study is, from the top of the site: on the study's page, the rows of a scale."""
    return f"tables/{study}.html#scale={scale}"
