"""The built site in a browser: what opens its pages, and what must hold of every page that is opened.

`make test-site` builds the site and runs these.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launch import launch

SITE = Path(os.environ.get("SITE", Path(__file__).parents[3] / "reports" / "site"))
OWN = ("file:", "data:", "blob:")  # where all of a page must come from
READY = "document.querySelectorAll('.listing:not([data-ready])').length === 0"


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Path:
    """The folder of the site."""
    if "browser" not in request.config.getoption("markexpr"):
        pytest.skip("run it by `make test-site`")
    assert (SITE / "index.html").is_file(), "make site"
    return SITE


@pytest.fixture(scope="session")
def chromium(site: Path) -> Iterator[Any]:
    """A browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as made:
        browser = launch(made)
        yield browser
        browser.close()


Opened = Callable[..., Any]


@pytest.fixture
def opened(chromium: Any, site: Path) -> Iterator[Opened]:
    """What opens a page by its path in the site, once its lists are there; nothing may go wrong on it, nor come from
    elsewhere."""
    wrong: list[str] = []
    contexts = []

    def open_page(path: str, width: int = 1400, scheme: str = "light") -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.route(lambda url: not url.startswith(OWN), lambda route: route.abort())
        context.on("request", lambda request: request.url.startswith(OWN) or wrong.append(f"request {request.url}"))
        page = context.new_page()
        page.on("console", lambda told: told.type == "error" and wrong.append(f"console: {told.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.goto(f"{site.resolve().as_uri()}/{path}")
        page.wait_for_function(READY)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong, wrong
