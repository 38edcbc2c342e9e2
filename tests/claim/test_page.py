"""The page of claims says the same in Markdown and in HTML."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from sketchbench.claim import page
from sketchbench.claim.criteria import Settings
from sketchbench.claim.evaluate import Check, Claim
from sketchbench.claim.markup import Bullets, Cell, Heading, Paragraph, Table, to_html, to_markdown

FACTS = {"scale": "quick", "seed": 0, "kernels": "numba", "skipped": [["one", "srht", "b > d"]]}
CLAIM = Claim(
    id="X1",
    paper="ours",
    place="here",
    statement="‖x‖ <= 1 & |y| < 2",
    dataset="none",
    checks=(Check("equality", {}, ("one",), Settings()),),
    expected={"default": "holds"},
    reason="because <b>1</b> < 2",
)


def row(claim: str, verdict: str, label: str = "A") -> dict[str, Any]:
    numbers = {"statistic": 1.0, "low": 0.5, "high": 1.5, "bound": 1.0, "slack": 1.0, "trials": 10.0}
    return {"claim": claim, "label": label, "verdict": verdict, "expected": "holds", "case": "c | d", **numbers}


def rendered(*rows: dict[str, Any], **facts: Any) -> tuple[str, str]:
    """The page in both formats; X1 and X2 are claims."""
    claims = [CLAIM, replace(CLAIM, id="X2", reason="")]
    blocks = page.content(claims, pd.DataFrame(rows), {**FACTS, **facts}, 1)
    return to_markdown(blocks), to_html(page.TITLE, blocks)


def test_both_have_everything() -> None:
    for text in rendered(row("X1", "holds"), row("X2", "not run")):
        for part in ("Claims and verdicts", "seed 0", "An audit's statistic", "X1: ", "Data: none.", "Not run."):
            assert part in text
        assert re.search(r"(## |<h2>)Left out", text)
        assert re.search(r"one: srht: b (>|&gt;) d", text)


def test_without_anything_left_out() -> None:
    for text in rendered(row("X1", "holds"), row("X2", "holds"), skipped=[]):
        assert "Left out" not in text


def test_html_is_escaped() -> None:
    _, html = rendered(row("X1", "holds"), row("X2", "holds", label="<script>"))
    assert "because &lt;b&gt;1&lt;/b&gt; &lt; 2" in html
    assert "X1: ‖x‖ &lt;= 1 &amp; |y| &lt; 2" in html
    assert "<script>" not in html


def test_markdown_tables_escape_what_separates_cells() -> None:
    markdown, _ = rendered(row("X1", "holds"), row("X2", "holds"))
    assert "c \\| d" in markdown


@pytest.mark.parametrize(
    ("verdicts", "colour"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "inconclusive"], "inconclusive"),
        (["inconclusive", "fails", "holds"], "fails"),
        (["not run"], "not run"),
    ],
)
def test_the_summary_has_the_colour_of_the_worst_verdict(verdicts: list[str], colour: str) -> None:
    rows = [row("X1", verdict, label=str(number)) for number, verdict in enumerate(verdicts)]
    _, html = rendered(*rows, row("X2", "holds"))
    (summary,) = re.findall(r"<td>X1</td>.*?</tr>", html)
    assert f'style="background:{page.COLOURS[colour]}"' in summary


def test_every_verdict_has_its_colour() -> None:
    _, html = rendered(row("X1", "fails"), row("X2", "holds"))
    details = html[html.index("<h2>X1") : html.index("<h2>X2")]
    assert f'<td style="background:{page.COLOURS["fails"]}">✗ fails</td>' in details


def test_each_kind_of_block() -> None:
    blocks = [
        Heading("T", level=1),
        Paragraph("**a** `b` *c*"),
        Bullets(["x"]),
        Table(["n"], [[Cell("<", "red")]]),
    ]
    assert to_markdown(blocks) == "# T\n\n**a** `b` *c*\n\n- x\n\n| n |\n| --- |\n| < |\n"
    lines = to_html("T", blocks).splitlines()
    assert lines[-4:] == [
        "<h1>T</h1>",
        "<p><b>a</b> <code>b</code> *c*</p>",
        "<ul><li>x</li></ul>",
        '<table><tr><th>n</th></tr><tr><td style="background:red">&lt;</td></tr></table>',
    ]
