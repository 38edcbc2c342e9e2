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


def test_every_link_leads_somewhere_in_the_site(site: Path) -> None:
    """A link of a text may leave the site; everything that a page loads is a file of the site."""
    lost = []
    for page in set(site.rglob("*.html")) - {site / "404.html"}:  # shown at any path, so its links begin at the root
        found = links(page)
        outward = {link for link in found.refers if link.startswith((*ELSEWHERE, "mailto:", "data:", "javascript:"))}
        for link in sorted((found.refers - outward) | {one for one in found.takes if not one.startswith("data:")}):
            address, anchor = urldefrag(link)
            target = (page.parent / unquote(address)).resolve() if address else page
            known = target.is_file() and (not anchor or "=" in anchor or unquote(anchor) in links(target).anchors)
            if link.startswith(ELSEWHERE) or not known:
                lost.append(f"{page.relative_to(site)}: {link}")
    assert not lost, f"{len(lost)}: {lost[:40]}"


def test_the_site_is_below_fifteen_megabytes(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB")
    assert size < 15e6
