"""What a newcomer asks, and after how many clicks from the front page the answer is in sight.

A click is one on a link, into a field that is then typed into, or a choice from a list.
"""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser


class Newcomer:
    """Somebody on the front page, whose clicks are counted."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0

    def follow(self, name: str) -> None:
        """Click a link by its name, and wait for the page that it leads to."""
        self.clicks += 1
        before = self.page.url
        self.page.get_by_role("link", name=re.compile(name)).first.click()
        self.page.wait_for_function("before => location.href !== before", arg=before)
        self.page.wait_for_load_state()
        self.page.wait_for_function("document.querySelectorAll('.listing:not([data-ready])').length === 0")

    def find(self, text: str) -> None:
        """Type into the field over a list."""
        self.clicks += 1
        self.page.get_by_label("Find").fill(text)
        self.page.wait_for_function("location.hash.includes('find')")

    def rows(self) -> list[str]:
        """The rows of the list that are in the window."""
        height = self.page.viewport_size["height"]
        rows = self.page.locator(".claim:visible").all()
        return [row.inner_text() for row in rows if row.bounding_box()["y"] < height]

    def done(self, question: str, most: int) -> None:
        print(f"{question}: {self.clicks} clicks")
        assert self.clicks <= most


@pytest.fixture
def newcomer(opened: Any) -> Newcomer:
    return Newcomer(opened("index.html"))


def test_does_theorem_6_2_hold(newcomer: Newcomer) -> None:
    """The verdicts are two clicks away, and their evidence one more."""
    newcomer.follow("Does claim X hold")
    newcomer.find("Theorem 6.2")
    rows = newcomer.rows()
    assert rows
    assert all("6.2" in row for row in rows)
    assert any("fails" in row or "holds" in row for row in rows)
    newcomer.done("does Theorem 6.2 hold?", 2)
    newcomer.page.locator(".claim:visible a").first.click()
    newcomer.page.wait_for_selector(".intervals, .holds, .fails")


def test_which_method_at_a_sixteenth_of_the_bytes(newcomer: Newcomer) -> None:
    """The page of the frontier starts with this answer; other questions get others."""
    newcomer.follow("Which compressor at N bytes")
    page = newcomer.page
    answer = page.locator("#answer")
    assert "bytes are 1/16 of those up and down" in answer.inner_text()
    assert answer.locator("strong").first.inner_text()
    assert answer.bounding_box()["y"] < page.viewport_size["height"]
    newcomer.done("which method at 1/16 of the bytes?", 1)
    bytes_a_round = page.get_by_label("Bytes a round")
    bytes_a_round.fill(str(4 * int(bytes_a_round.input_value())))
    assert "bytes are 1/4 of those up and down" in answer.inner_text()
    bytes_a_round.fill("1")
    assert "the least that was measured is 1/" in answer.inner_text()


def test_what_does_countsketch_fail_at(newcomer: Newcomer) -> None:
    newcomer.follow("What does method Y fail at")
    rows = newcomer.rows()
    assert rows
    assert all("CountSketch" in row and "fails" in row for row in rows)
    newcomer.done("what does CountSketch fail at?", 1)
