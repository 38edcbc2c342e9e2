"""What all pages share: the search, the colour scheme that a reader chooses, and anchors."""

from typing import Any

import pytest

pytestmark = pytest.mark.browser


def scheme(page: Any) -> str:
    return page.evaluate("document.body.dataset.mdColorScheme")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("words", "found"),
    [("Theorem 6.2", "claims/"), ("training through sampling with dropout", "claims/Z14-dropout.html")],
)
def test_the_search_finds_a_claim_without_a_server(opened: Any, words: str, found: str) -> None:
    """By its place, and by words of its statement."""
    page = opened("index.html")
    page.locator(".md-search__input").fill(words)
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert found in first.get_attribute("href")


def test_the_reader_chooses_light_or_dark_and_it_stays(opened: Any) -> None:
    page = opened("index.html")
    assert scheme(page) == "default"
    page.locator("form[data-md-component=palette] label:visible").click()
    page.wait_for_function("document.body.dataset.mdColorScheme === 'slate'")
    page.get_by_role("link", name="Claims", exact=True).first.click()
    page.wait_for_selector(".claim")
    assert scheme(page) == "slate"


def test_an_anchor_shows_what_it_names(opened: Any) -> None:
    page = opened("figures.html#tails")
    page.wait_for_function("scrollY > 0")
    heading = page.locator("#tails").bounding_box()
    assert 0 <= heading["y"] < 900


def test_every_figure_can_be_shown(opened: Any) -> None:
    page = opened("figures.html")
    broken = page.evaluate(
        """async () => (await Promise.all([...document.querySelectorAll("img")].map(picture => {
          picture.loading = "eager";  // the others are loaded once they come into sight
          return picture.decode().then(() => "", () => picture.src);
        }))).filter(Boolean)"""
    )
    assert broken == []
    assert page.locator("figure.drawn img").count() > 20
