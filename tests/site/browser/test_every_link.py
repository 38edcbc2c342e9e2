"""Every link of the site leads to a file of it and, where it names one, to an anchor; nothing is from elsewhere."""

import functools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.browser

ELSEWHERE = ("http:", "https:", "//")
TAKEN = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src", "object": "data"}


class Links(HTMLParser):
    """What a page refers to, what it takes, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.refers: set[str] = set()
        self.takes: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.refers.add(given["href"])
        if TAKEN.get(tag) in given:
            self.takes.add(given[TAKEN[tag]])


@functools.cache
def links(path: Path) -> Links:
    return Links(path.read_text(encoding="utf-8"))


def test_every_link_leads_somewhere(site: Path) -> None:
    lost = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # shown at any path, so its links begin at the root of a server
            continue
        for link in links(page).refers | links(page).takes:
            if link.startswith((*ELSEWHERE, "mailto:", "data:", "javascript:")):
                continue
            address, anchor = urldefrag(link)
            target = (page.parent / unquote(address)).resolve() if address else page
            if not target.is_file():
                lost.append(f"{page.relative_to(site)}: {link}")
            elif anchor and "=" not in anchor and unquote(anchor) not in links(target).anchors:
                lost.append(f"{page.relative_to(site)}: {link} (no such anchor)")
    assert not lost, f"{len(lost)}: {lost[:40]}"


def test_nothing_is_taken_from_elsewhere(site: Path) -> None:
    taken = {link for page in site.rglob("*.html") for link in links(page).takes if link.startswith(ELSEWHERE)}
    assert not taken


def test_the_site_is_below_fifteen_megabytes(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB")
    assert size < 15e6
