"""A newcomer's questions, and the number of clicks from the front page to the answer.

A click follows a link, or goes into a field for typing.
"""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def page(opened: Any) -> Any:
    return opened("index.html")


def follow(page: Any, name: str) -> None:
    """Click a link by its name, and wait for its page: the first click."""
    before = page.url
    page.get_by_role("link", name=re.compile(name)).first.click()
    page.wait_for_function("before => location.href !== before", arg=before)
    page.wait_for_load_state()
    page.wait_for_function("document.querySelectorAll('.listing:not([data-ready])').length === 0")


def rows(page: Any) -> list[str]:
    """The rows of the list that are in the window; there are some."""
    visible = page.locator(".claim:visible").all()
    texts = [row.inner_text() for row in visible if row.bounding_box()["y"] < page.viewport_size["height"]]
    assert texts
    return texts


def test_does_theorem_6_2_hold(page: Any) -> None:
    """The verdicts are two clicks away, and their evidence one more."""
    follow(page, "Does claim X hold")
    page.get_by_label("Find").fill("Theorem 6.2")
    page.wait_for_function("location.hash.includes('find')")
    assert all("6.2" in row for row in rows(page))
    assert any("fails" in row or "holds" in row for row in rows(page))
    page.locator(".claim:visible a").first.click()
    page.wait_for_selector(".intervals, .holds, .fails")


def test_which_method_at_a_sixteenth_of_the_bytes(page: Any) -> None:
    """The page of the frontier, one click away, starts with this answer; other questions get others."""
    follow(page, "Which compressor at N bytes")
    answer = page.locator("#answer")
    assert "bytes are 1/16 of those up and down" in answer.inner_text()
    assert answer.locator("strong").first.inner_text()
    assert answer.bounding_box()["y"] < page.viewport_size["height"]
    bytes_a_round = page.get_by_label("Bytes a round")
    bytes_a_round.fill(str(4 * int(bytes_a_round.input_value())))
    assert "bytes are 1/4 of those up and down" in answer.inner_text()
    bytes_a_round.fill("1")
    assert "the smallest measured share is 1/" in answer.inner_text()


def test_what_does_countsketch_fail_at(page: Any) -> None:
    """One click away; another click shows all claims."""
    follow(page, "What does method Y fail at")
    assert all("CountSketch" in row and "fails" in row for row in rows(page))
    page.get_by_role("button", name="Show all").click()
    assert page.evaluate("location.hash") == ""
    assert " of " not in page.locator(".listing-count").inner_text()
