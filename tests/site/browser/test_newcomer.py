"""What a newcomer asks, and after how many clicks from the front page the answer is in sight."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def in_sight(page: Any, pattern: str) -> bool:
    """Whether a text is visible in the window without scrolling."""
    for found in page.get_by_text(re.compile(pattern)).all():
        box = found.bounding_box()
        if (
            found.is_visible()
            and box
            and box["y"] >= 0
            and box["y"] + min(box["height"], 60) <= page.viewport_size["height"]
        ):
            return True
    return False


def test_does_theorem_6_2_hold(opened: Any) -> None:
    """Claims, then type: the verdicts are there after a click; the evidence is one more away."""
    page = opened("index.html")
    page.get_by_role("link", name="Claims", exact=True).first.click()
    page.wait_for_selector(".listing[data-ready]")
    page.get_by_label("Find").fill("Theorem 6.2")
    page.wait_for_timeout(100)
    rows = page.locator(".tabulator-row").all_inner_texts()
    assert rows
    assert all("6.2" in row for row in rows)
    assert any("fails" in row or "holds" in row for row in rows)
    page.locator(".tabulator-row a").first.click()
    assert page.locator(".holds, .fails").first.is_visible()


def test_which_method_at_a_sixteenth_of_the_bytes(opened: Any) -> None:
    """One click: the page of the frontier starts with this answer."""
    page = opened("index.html")
    page.get_by_role("link", name=re.compile("Which compressor")).first.click()
    page.wait_for_selector("#answer")
    assert in_sight(page, "At 1/16 of the bytes")
    assert page.locator("#answer strong").inner_text()
    page.get_by_label("Bytes a round").fill("3760")
    assert "At 1/4 of the bytes" in page.locator("#answer").inner_text()
    page.get_by_label("Bytes a round").fill("1")
    assert "The least that was measured is 1/64" in page.locator("#answer").inner_text()


def test_what_does_countsketch_fail_at(opened: Any) -> None:
    """A click and two filters."""
    page = opened("index.html")
    page.get_by_role("link", name="Claims", exact=True).first.click()
    page.wait_for_selector(".listing[data-ready]")
    page.get_by_label("Filter by Verdict").select_option("fails")
    method = page.get_by_label("Filter by Method")
    if method.evaluate("field => field.tagName") == "SELECT":
        method.select_option("CountSketch")
    else:
        method.fill("CountSketch")
    page.wait_for_timeout(100)
    rows = page.locator(".tabulator-row").all_inner_texts()
    assert rows
    assert all("CountSketch" in row and "fails" in row for row in rows)
