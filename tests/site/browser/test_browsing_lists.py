"""A list: it filters and sorts, the address holds both, and what is left is saved as CSV."""

import csv
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

pytestmark = pytest.mark.browser


def cells(page: Any, name: str) -> list[str]:
    """The texts of a column, of the rows that are drawn."""
    return page.locator(f'.tabulator-row [tabulator-field="{name}"]').all_inner_texts()  # type: ignore[no-any-return]


def count(page: Any) -> str:
    return page.locator(".listing-count").inner_text()  # type: ignore[no-any-return]


def claims(page: Any) -> list[str]:
    """The texts of the claims that are left."""
    return page.locator(".claim:visible").all_inner_texts()  # type: ignore[no-any-return]


def chosen(page: Any, title: str) -> Any:
    return page.locator(".claims").get_by_label(title, exact=True)


def test_a_filter_narrows_the_claims_and_stands_in_the_address(opened: Any) -> None:
    page = opened("claims.html")
    every = count(page)
    chosen(page, "Verdict").select_option("fails")
    assert all("fails" in text for text in claims(page))
    assert count(page) != every
    assert page.evaluate("location.hash") == "#verdict=fails"
    chosen(page, "Paper").select_option("song2023")
    assert page.evaluate("location.hash") == "#verdict=fails&paper=song2023"
    page.go_back()
    assert chosen(page, "Paper").input_value() == ""
    page.go_back()
    assert count(page) == every


def test_typing_finds_a_claim_by_words_and_letters_make_one_address(opened: Any) -> None:
    page = opened("claims.html")
    steps = page.evaluate("history.length")
    page.get_by_label("Find").press_sequentially("Theorem 6.2")
    page.wait_for_function("location.hash.includes('find')")
    assert unquote_plus(page.evaluate("location.hash")) == "#find=Theorem 6.2"
    assert page.evaluate("history.length") == steps + 1
    assert any("6.2" in text for text in claims(page))
    page.get_by_label("Find").fill("exchanged batches")
    assert {text.split()[0] for text in claims(page)} == {"S19-batch", "S19-single"}


def test_the_keyboard_sorts_and_filters_numbers(opened: Any) -> None:
    page = opened("tables.html")
    page.locator(".listing-head button", has_text="rows").focus()
    page.keyboard.press("Enter")
    numbers = [int(text) for text in cells(page, "rows")]
    assert numbers == sorted(numbers)
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#sort=-rows"
    numbers = [int(text) for text in cells(page, "rows")]
    assert numbers == sorted(numbers, reverse=True)
    page.keyboard.press("Tab")  # from the heading to its filter
    page.keyboard.type(">500")
    page.wait_for_function("location.hash.includes('rows=')")
    assert min(int(text) for text in cells(page, "rows")) > 500


def saved(page: Any, path: Path) -> list[dict[str, str]]:
    """The rows that the button saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    download.value.save_as(path / download.value.suggested_filename)
    return read(path / download.value.suggested_filename)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_what_is_left_is_saved_as_csv(opened: Any, tmp_path: Path) -> None:
    rows = saved(opened("tables.html#scale=quick&study=communication_flat"), tmp_path)
    assert [row["study"] for row in rows] == ["communication_flat"]
    assert (tmp_path / "tables.csv").is_file()


def test_a_table_is_saved_with_all_its_digits(opened: Any, tmp_path: Path) -> None:
    found = saved(opened("tables/norms.html#scale=quick"), tmp_path)
    wanted = read(Path(__file__).parents[3] / "reports" / "tables" / "norms.csv")
    assert [float(row["mean"] or "nan") for row in found] == pytest.approx(
        [float(row["mean"] or "nan") for row in wanted], rel=1e-14, nan_ok=True
    )


def test_headings_explain_themselves(opened: Any) -> None:
    page = opened("tables/norms.html#scale=quick")
    heading = page.locator(".listing-head button", has_text="mean").first
    assert "mean over the trials" in heading.get_attribute("title")
    page.get_by_text("What the columns mean").click()
    assert page.get_by_text("mean over the trials (as the quantity)").is_visible()
