"""Formulas of claims as MathML, which needs the extra `site`, and in a browser."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from all_claims import CLAIMS

from sketchbench.report.claim.formula import lines
from sketchbench.report.site.formula import mathml

pytest.importorskip("latex2mathml", reason="run it by `make test-site`")
pytestmark = pytest.mark.browser

WITH = [claim.id for claim in CLAIMS.values() if claim.formula]
ANNOTATION = re.compile(r"<annotation .*?</annotation>")
LONG = "S11-lemmas"


@pytest.mark.parametrize("name", WITH)
def test_every_formula_can_be_set(name: str) -> None:
    """No command is left as text; the LaTeX stands beside it as it is in the claim."""
    formula = CLAIMS[name].formula
    box = ElementTree.fromstring(mathml(formula))
    assert [node.get("alttext") for node in box] == lines(formula)
    assert [node.findtext(".//annotation") for node in box] == lines(formula)
    shown = ElementTree.fromstring(ANNOTATION.sub("", mathml(formula)))
    for node in shown.iter():
        assert not re.search(r"[\\{}&]\w", node.text or ""), node.text


def test_letters_and_signs_are_those_of_the_formula() -> None:
    shown = ElementTree.fromstring(ANNOTATION.sub("", mathml(CLAIMS["S1"].formula)))
    assert "".join(shown.itertext()) == "𝔼[g⊤R⊤Rh]=g⊤h"


@pytest.mark.parametrize(
    ("formula", "said"),
    [(r"a \foo b", r"\\foo is unknown"), (r"\frac{a}", "a part of a mfrac is missing"), ("x^", "can't be set")],
)
def test_what_the_converter_does_not_know_is_refused(formula: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mathml(formula)


def test_the_browser_sets_it(opened: Any) -> None:
    page = opened("claims/S2.html")
    (latex,) = lines(CLAIMS["S2"].formula)
    math = page.locator(".formula math")
    assert math.count() == 1
    assert math.get_attribute("alttext") == latex
    assert "\\mathbb" not in page.locator(".formula").inner_text()  # the annotation is there, and is not shown
    fraction = page.locator(".formula mfrac").bounding_box()
    above, below = (page.locator(f".formula mfrac > :nth-child({place})").bounding_box() for place in (1, 2))
    assert fraction["height"] > above["height"] + below["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_long_formula_scrolls_in_its_box(opened: Any, scheme: str) -> None:
    page = opened(f"claims/{LONG}.html", 390, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".formula")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert box.evaluate("box => { box.focus(); return document.activeElement === box }")
    text = page.locator(".statement").evaluate("one => getComputedStyle(one).color")
    assert box.locator("math").first.evaluate("one => getComputedStyle(one).color") == text
