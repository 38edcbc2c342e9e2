"""The values that the site's modules exchange: scales with their reports, pages and assets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sketchbench.report.evidence.outcomes import ReportedScale

PLACES = {"paper": "paper", "quick": "."}  # the folder of each scale, in the folder of all reports


def scales_of(reports: Path) -> list[ReportedScale]:
    """The scales that have verdicts in a folder of reports, the papers' first."""
    return _with_verdicts({name: reports / place for name, place in PLACES.items()})


def own_scales(folder: Path) -> list[ReportedScale]:
    """The scales that have verdicts in a user's folder, the papers' first."""
    return _with_verdicts({name: folder / "reports" / name for name in PLACES})


def _with_verdicts(places: Mapping[str, Path]) -> list[ReportedScale]:
    return [ReportedScale(name, place) for name, place in places.items() if (place / "claims.csv").is_file()]


def history_of(scales: Sequence[ReportedScale]) -> Path:
    """The file with the history of all scales, which is beside the reports of one of them."""
    files = [scale.reports / "history.csv" for scale in scales]
    return next((file for file in files if file.is_file()), files[0])


@dataclass(frozen=True)
class Page:
    """A page of the site."""

    path: str  # in the site, such as "claims/S2.md", which becomes claims/S2.html
    title: str  # the heading, also shown in the navigation and the search
    text: str  # Markdown with HTML, without the heading; links to other pages are relative paths (.md)


@dataclass(frozen=True)
class Asset:
    """A file that pages refer to, such as a picture."""

    path: str  # in the site
    content: bytes


def table_address(study: str, scale: str) -> str:
    """The address of a study's table at a scale, relative to the top of the site."""
    return f"tables/{study}.html#scale={scale}"
