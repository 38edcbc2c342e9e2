"""Every kind of page: wide and narrow, light and dark, by keyboard, for all readers, and soon there."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

KINDS = (
    *("index", "claims", "claims/S2", "errata", "printed", "frontier", "figures", "tables", "tables/tails", "history"),
    *("glossary", "docs/findings", "docs/tutorial", "docs/notation", "docs/reference/sketch"),
)
SECONDS = 3.0  # a second is meant, and what is printed shows it; machines that run tests do other things, too
GRAVE = ("serious", "critical")


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, site: Path) -> str:
    wanted = f"{request.param}.html"
    assert (site / wanted).is_file()
    return wanted


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(opened: Any, path: str, width: int) -> None:
    page = opened(path, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_grave_finding_of_axe(opened: Any, path: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(path, scheme=scheme)
    assert page.evaluate("document.body.dataset.mdColorScheme") == ("slate" if scheme == "dark" else "default")
    # Preloading asks for styles by their addresses, which a page from a file may not.
    options = {"resultTypes": ["violations"], "preload": False}
    found = axe.Axe().run(page, options=options).response["violations"]
    grave = [
        f"{finding['id']} ({finding['impact']}): {node['html'][:160]}: {node['failureSummary'][:300]}"
        for finding in found
        if finding["impact"] in GRAVE
        for node in finding["nodes"][:3]
    ]
    assert not grave, "\n".join(grave)


def test_it_is_soon_there(opened: Any, path: str) -> None:
    taken = opened(path).evaluate("performance.now()") / 1000  # since its navigation began
    print(f"{path}: {taken:.2f} s")
    assert taken < SECONDS


def test_the_tab_key_reaches_what_can_be_used(opened: Any, path: str) -> None:
    """The first stop skips to the content; no stop is lost on something invisible for long."""
    page = opened(path)
    page.keyboard.press("Tab")
    assert "Skip to content" in page.evaluate("document.activeElement.innerText")
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
    assert len(seen) > 5
