"""The page of figures: each figure at every scale, with its caption, tables, and the meaning of its bands."""

import functools
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from PIL import Image

from sketchbench.report import seal
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.figure import foot
from sketchbench.report.figure.catalogue import Entry, read_catalogue
from sketchbench.report.site.page import Asset, Page, table_address
from sketchbench.report.site.tables import claims_of
from sketchbench.report.site.verdicts import escape
from sketchbench.report.table.reading import read_table

COLOURS = 48  # of a figure shown as pixels: enough for its lines and letters, and half the bytes of all colours
DIGITS = re.compile(r"(?<![\d.])([1-9]\d*\.\d\d)\d+")  # of an SVG: a hundredth of a point is enough
SPACES = re.compile(r"([>\n])\s+(?=[<\w])")
LARGEST = 40_000  # bytes of an SVG; a larger figure, such as one with many curves, is shown as pixels
BENCHMARKS = {"benchmarks": "Benchmarks", "benchmarks-gpu": "Benchmarks on a GPU"}  # of `make bench`, which is no study
TIMES = "Seconds of our kernels and recoveries and of other libraries, by <code>make bench</code> on one machine."
INTRODUCTION = """\
Every figure at each scale that was run, with its tables and the claims that these tables decide. Click a figure to
enlarge it."""


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page of figures, and the files of the figures."""
    catalogue = read_catalogue(conf / "figure")
    claimed = {scale.name: claims_of(scale) for scale in scales}
    blocks = [INTRODUCTION]
    for name, entry in catalogue.items():
        available = [scale for scale in scales if place(scale, name).is_file()]
        if not available:
            continue
        title, short = entry.at(available[0].name).title, name.replace("_", " ").capitalize()
        blocks += [f"## {escape(title)} {{ #{name} data-toc-label='{short}' }}", f"<p>{_caption(entry)}</p>"]
        for scale in available:
            picture = asset(scale, name)
            yield picture
            small = f"{_print(entry, scale)} {_links(entry, scale, claimed)}"
            blocks.append(figure_html(picture, name, scale, small, entry.at(scale.name).title))
    for scale in scales:
        for name, title in BENCHMARKS.items():
            if place(scale, name).is_file():
                picture = asset(scale, name)
                yield picture
                blocks += [f"## {title} {{ #{name} }}", figure_html(picture, name, scale, TIMES)]
    yield Page("figures.md", "Figures", "\n\n".join(blocks))


def place(scale: ReportedScale, name: str) -> Path:
    """The SVG of a figure."""
    return scale.reports / "figures" / f"{name}.svg"


@functools.cache
def asset(scale: ReportedScale, name: str) -> Asset:
    """The site's version of a figure: the SVG if it is small, or else the pixels of the PNG beside it, in WebP."""
    svg = _content(scale, name, ".svg")
    if len(svg) <= LARGEST:
        short = DIGITS.sub(r"\1", svg.decode())
        return Asset(f"figures/{scale.name}/{name}.svg", SPACES.sub(r"\1", short).encode())
    pixels = io.BytesIO()
    with Image.open(io.BytesIO(_content(scale, name, ".png"))) as picture:
        few = picture.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)  # keeps thin lines' colours
        few.convert("RGB").save(pixels, "WEBP", lossless=True, method=6)
    return Asset(f"figures/{scale.name}/{name}.webp", pixels.getvalue())


def drawn(scale: ReportedScale, name: str) -> tuple[list[Asset], str]:
    """The file of a figure for another page, and its HTML; no file and "" if it was not drawn."""
    if not place(scale, name).is_file():
        return [], ""
    picture = asset(scale, name)
    return [picture], figure_html(picture, name, scale)


def _content(scale: ReportedScale, name: str, suffix: str) -> bytes:
    """The verified bytes of a figure in a format."""
    path = place(scale, name).with_suffix(suffix)
    return seal.content(path, "benchmarks") if name in BENCHMARKS else seal.content(path, "figure", scale.name)


def figure_html(picture: Asset, name: str, scale: ReportedScale, small: str = "", shows: str = "") -> str:
    """A figure in HTML, on white in both colour schemes, with small print below it; `shows` is its text for screen
    readers, by default its name."""
    with Image.open(io.BytesIO(_content(scale, name, ".png"))) as pixels:
        width, height = pixels.size  # so that the page does not move when it loads
    label = escape(shows or f"{name.replace('_', ' ')}, scale {scale.name}")
    image = f'<img src="{picture.path}" alt="{label}" width="{width}" height="{height}" loading="lazy">'
    return (
        f'<figure class="drawn" id="{name}-{scale.name}"><a href="{picture.path}">{image}</a>'
        f"<figcaption>{small}</figcaption></figure>"
    )


def _caption(entry: Entry) -> str:
    """The HTML of a caption, whose only markup is *emphasis*."""
    return re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", escape(entry.caption))


def _print(entry: Entry, scale: ReportedScale) -> str:
    """The small print: scale, sizes, trials, data, and the meaning of bars and bands."""
    places = [scale.reports / "tables" / f"{study}.csv" for study in entry.studies]
    tables = [read_table(path, "table", scale=scale.name) for path in places if path.is_file()]
    return escape(foot.text(scale.name, tables, entry.at(scale.name).data, entry.bars))


def _links(entry: Entry, scale: ReportedScale, claimed: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Links to the tables of a figure, and to the claims that these tables decide."""
    studies = [study for study in entry.studies if (scale.reports / "tables" / f"{study}.csv").is_file()]
    tables = ", ".join(f'<a href="{table_address(study, scale.name)}">{study}</a>' for study in studies)
    names = dict.fromkeys(claim for study in studies for claim in claimed[scale.name].get(study, ()))
    claims = ", ".join(f'<a href="claims/{claim}.html">{claim}</a>' for claim in names)
    return " ".join([f"Tables: {tables}." if tables else "", f"Claims: {claims}." if claims else ""])
