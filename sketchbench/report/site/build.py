"""Build the site with MkDocs from docs/ and the Markdown pages that the modules of this package write.

MkDocs runs as a subprocess, since only the extra `site` installs it.
"""

import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from sketchbench.base.files import check_writable, write_bytes, write_text
from sketchbench.base.project import PROJECT
from sketchbench.report.codes import unchanged
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site import figures, lists
from sketchbench.report.site.findings import SHOWN
from sketchbench.report.site.page import Asset, Page, own_scales, scales_of
from sketchbench.report.site.transfer import pages as transfer_pages

HERE = Path(__file__).parent
MODULES = (
    "front",
    "claims",
    "errata",
    "printed",
    "frontier",
    "leaderboard",
    "ranking",
    "figures",
    "tables",
    "history",
    "glossary",
)
NAMES = {"index.md": "Start", "printed.md": "Printed", "frontier.md": "Frontier"}  # short, in the navigation
HOWTO, REFERENCE = "docs/howto", "docs/reference"
DOCS = (
    *("docs/findings.md", "docs/tutorial.md", HOWTO, "docs/verdicts.md", "docs/attacks.md", "docs/notation.md"),
    *("docs/architecture.md", REFERENCE, "docs/style.md"),
)
# Files that no page refers to: source maps, stemmers of other languages, the index that only a server would send.
UNUSED = ("assets/**/*.map", "assets/javascripts/lunr/**/*", "search/search_index.json", "sitemap.xml*")

# The search needs this script to work from a file. The theme loads it from the network; the site has its own copy.
WORKER, SHIM = "https://unpkg.com/iframe-worker/shim", HERE / "vendor" / "iframe-worker.js"
# Parts that every page repeats without use: a script that all pages share, a hidden list of headings, and an attribute
# that only SVG files need.
PALETTE = re.compile(r"<script>(var palette=.*?)</script>", re.DOTALL)
SIDEBAR = r'<div class="md-sidebar md-sidebar--secondary"[^>]*hidden>'
HIDDEN = re.compile(rf'{SIDEBAR}.*?(?=<div class="md-content")', re.DOTALL)
SCHEME, XMLNS = "assets/javascripts/scheme.js", ' xmlns="http://www.w3.org/2000/svg"'
# Parts that are equal in all pages of a folder, and do nothing without scripts: the theme's words, the switch between
# light and dark, the search, and, in folders of many pages, the list of a phone's menu.
SHARED = (
    re.compile(r'<script id="__config".*?</script>', re.DOTALL),
    re.compile(r'<form class="md-header__option" data-md-component="palette">.*?</form>', re.DOTALL),
    re.compile(r'<div class="md-search" .*?(?=</nav>\s*</header>)', re.DOTALL),
)
MENU = re.compile(r'<ul class="md-nav__list" data-md-scrollfix>.*?</ul>', re.DOTALL)
LIBRARIES = {"mkdocs": "MkDocs", "latex2mathml": "latex2mathml"}  # of the extra `site`, by module
FOLDED = ("claims", "tables")  # folders of many pages
KEPT = re.compile(r"(<(?:pre|script|textarea)\b.*?</(?:pre|script|textarea)>)", re.DOTALL)  # their spaces count


class SiteError(RuntimeError):
    """A site that can't be built; the message is one line for the user."""


def all_pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The pages and assets of all modules, and the files that all lists share."""
    yield from lists.assets()
    yield Asset(f"{lists.FOLDER}/{SHIM.name}", SHIM.read_bytes())
    for name in MODULES:
        if importlib.util.find_spec(f"sketchbench.report.site.{name}"):
            yield from importlib.import_module(f"sketchbench.report.site.{name}").pages(scales, conf)


def build(target: Path, root: Path = PROJECT, folder: Path | None = None) -> str:
    """Build the site from the reports; return one line with the folder, pages, megabytes and seconds.

    Arguments:
        target: the site's directory, empty or with an older site, which is removed.
        root: the project's directory, with reports/, conf/ and docs/.
        folder: a user's directory; its frontiers get pages, and its verdicts replace the project's.

    Raises:
        SiteError: if there are no reports, the directory has other files, or MkDocs is missing or fails.
        FileError: if the directory can't be written.
        ConfigError: if the code changes while the pages are made.
    """
    start = time.perf_counter()
    ours, own = scales_of(root / "reports"), own_scales(folder) if folder else []
    frontiers = transfer.places(folder) if folder else []
    if folder and not own and not frontiers:
        raise SiteError(f"{folder / 'reports'} has nothing to show; run sketchbench results or frontier with --folder")
    scales = own or ours
    if not scales:
        raise SiteError(f"{root / 'reports'} has no claims.csv to show; run sketchbench results")
    check_writable(target / "index.html", lambda _: (target / lists.SCRIPT).read_bytes())
    if target.is_dir() and any(target.iterdir()) and not (target / lists.SCRIPT).is_file():
        raise SiteError(f"{target} has files of another origin, which would be removed; name an empty directory")
    for library, name in LIBRARIES.items():
        if not importlib.util.find_spec(library):
            raise SiteError(f"{name} builds the site and is not installed; `make site` installs it")
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        more = transfer_pages(frontiers, ReportedScale("quick", root / "reports"), root / "conf")
        with unchanged(__name__, *(f"sketchbench.report.site.{name}" for name in MODULES)):
            pages = write(itertools.chain(all_pages(scales, root / "conf"), more), source)
        _copy(root / "docs", source / "docs")
        _link_figures(root, source / "docs")
        write_text(source / "site.css", (HERE / "theme" / "site.css").read_text(encoding="utf-8"))
        config = Path(place) / "mkdocs.yml"
        write_text(config, yaml.safe_dump(mkdocs_config(pages, source, target), allow_unicode=True))
        print(f"{len(pages)} pages written; MkDocs makes them HTML, in about 20 s", file=sys.stderr)
        _run(config)
    _finish(target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    number = sum(1 for _ in target.rglob("*.html"))
    return f"{target}: {number} pages, {size / 1e6:.1f} MB, in {time.perf_counter() - start:.0f} s"


def write(items: Iterator[Page | Asset], source: Path) -> list[Page]:
    """Write pages and assets into a directory; return the pages."""
    pages = []
    for item in items:
        if isinstance(item, Asset):
            write_bytes(source / item.path, item.content)
        else:
            pages.append(item)
            write_text(source / item.path, f"{_front_matter(item)}# {item.title}\n\n{item.text.strip()}\n")
    return pages


def _front_matter(page: Page) -> str:
    """The YAML head of a page, which hides the list of pages, and a short list of headings. The search skips the
    numbers of tables, and the list of claims, since each claim has a page."""
    long = page.text.count("\n## ") > 1 and not page.path.startswith("claims/")
    hidden = ["navigation"] if long else ["navigation", "toc"]
    about = {"title": page.title, "hide": hidden, "search": {"exclude": page.path.startswith(("tables/", "claims.md"))}}
    return f"---\n{yaml.safe_dump(about)}---\n\n"


def mkdocs_config(pages: Sequence[Page], source: Path, target: Path) -> dict[str, Any]:
    """The configuration of MkDocs: mkdocs.yml beside this file, with directories, styles, scripts and navigation."""
    named = [{NAMES.get(page.path, page.title): page.path} for page in pages if "/" not in page.path]
    frontier = [entry for entry in named if next(iter(entry.values())).startswith("frontier")]
    top: list[dict[str, Any]] = [entry for entry in named if entry not in frontier[1:]]
    if len(frontier) > 1:
        top[top.index(frontier[0])] = {NAMES["frontier.md"]: frontier}
    docs = [entry for place in DOCS for entry in _entries(source / place, source)]
    return {
        "INHERIT": str(HERE / "mkdocs.yml"),
        "docs_dir": str(source),
        "site_dir": str(target.resolve()),
        "extra_css": ["site.css", *lists.STYLES],
        "extra_javascript": [lists.SCRIPT],
        "nav": [*top, *([{"Docs": docs}] if docs else [])],
        "not_in_nav": "/claims/\n/tables/\n/docs/",
    }


def _entries(place: Path, source: Path) -> list[Any]:
    """The entries of the navigation for a page or a directory of pages; none if it is missing."""
    if place.is_file():
        return [str(place.relative_to(source))]
    files = [str(path.relative_to(source)) for path in sorted(place.rglob("*.md"))] if place.is_dir() else []
    return [{"How to" if place.name == "howto" else place.name.capitalize(): files}] if files else []


def _finish(target: Path) -> None:
    """Make the site self-contained and small: remove unused files, network addresses, and indentation, which is half of
    a page."""
    for pattern in UNUSED:
        for path in target.glob(pattern):
            if path.is_file():
                path.unlink()
    for path in target.rglob("*.html"):
        root = "../" * (len(path.relative_to(target).parts) - 1)
        page = path.read_text(encoding="utf-8").replace(WORKER, f"{root}{lists.FOLDER}/{SHIM.name}")
        for script in PALETTE.findall(page):
            write_text(target / SCHEME, script)
        page = HIDDEN.sub("", page).replace('role="dialog">', 'role="dialog" aria-label="Search">')
        for part in (*SHARED, MENU) if path.parent.name in FOLDED else SHARED:
            for shared in part.findall(page):
                page = page.replace(shared, _share(shared, target, root))
        page = PALETTE.sub(f'<script src="{root}{SCHEME}"></script>', page).replace(XMLNS, "")
        parts = KEPT.split(page)
        parts[::2] = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[::2]]
        path.write_text("".join(parts), encoding="utf-8")


def _share(part: str, target: Path, root: str) -> str:
    """Move a part that many pages repeat into a script of the site; return the HTML that loads the script instead.
    `root` leads from the page to the top of the site."""
    place = f"assets/javascripts/part-{hashlib.sha256(part.encode()).hexdigest()[:12]}.js"
    if not (target / place).exists():
        text = json.dumps(part, ensure_ascii=False).replace("</", "<\\/")
        write_text(target / place, f"document.write({text})")
    return f'<script src="{root}{place}"></script>'


def _copy(folder: Path, target: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            write_bytes(target / path.relative_to(folder), path.read_bytes())


def _link_figures(root: Path, docs: Path) -> None:
    """Let findings.md show the figures as the site has them, verified; a site of own figures gets copies beside it."""
    for page in docs.glob("findings.md"):
        text = page.read_text(encoding="utf-8")
        for name in SHOWN.findall(text):
            picture = figures.asset(ReportedScale("quick", root / "reports"), name)
            place = docs.parent / picture.path
            if not place.is_file() or place.read_bytes() != picture.content:
                place = docs / place.name
                write_bytes(place, picture.content)
            text = text.replace(f"](../reports/figures/{name}.png)", f"]({os.path.relpath(place, docs)})")
        write_text(page, text)


def _run(config: Path) -> None:
    """Run MkDocs. Raises SiteError with the last line of its output if it fails."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(config)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # the theme's own news, at every start
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=environment, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise SiteError(f"mkdocs build ended with {done.returncode}: {lines[-1]}")
    for line in done.stderr.splitlines():
        print(line, file=sys.stderr)
