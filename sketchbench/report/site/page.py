"""The values that the modules of the site exchange: scales with their reports, pages and assets."""

from dataclasses import dataclass
from pathlib import Path

from sketchbench.report.evidence.outcomes import ReportedScale

PLACES = {"quick": ".", "paper": "paper"}  # the folder of each scale, in the folder of all reports


def scales_of(reports: Path) -> list[ReportedScale]:
    """The scales that have verdicts in a folder of reports, quick first."""
    scales = [ReportedScale(name, reports / place) for name, place in PLACES.items()]
    return [scale for scale in scales if (scale.reports / "claims.csv").is_file()]


def own_scales(folder: Path) -> list[ReportedScale]:
    """The scales that have verdicts in a user's folder, quick first."""
    scales = [ReportedScale(name, folder / "reports" / name) for name in PLACES]
    return [scale for scale in scales if (scale.reports / "claims.csv").is_file()]


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        path: the path of the page in the site, such as "claims/S2.md", which becomes claims/S2.html.
        title: the heading, which is also the name in the navigation and the search.
        text: Markdown with HTML in it, without the heading. Links to other pages are relative paths (.md).
    """

    path: str
    title: str
    text: str


@dataclass(frozen=True)
class Asset:
    """A file that pages refer to, such as a picture: its path in the site, and its bytes."""

    path: str
    content: bytes


def table_address(study: str, scale: str) -> str:
    """The address of a study's table at a scale, relative to the top of the site."""
    return f"tables/{study}.html#scale={scale}"
