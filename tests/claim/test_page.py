"""The page of claims, in Markdown."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from all_claims import entry
from published import reports as published

from sketchbench.report.claim import page
from sketchbench.report.claim.claims import Check, Claim
from sketchbench.report.claim.control import NegativeControl
from sketchbench.report.claim.erratum import Counterexample, Erratum, Touch
from sketchbench.report.claim.error_rate import ErrorRate
from sketchbench.report.claim.verdict import CriterionSettings

LEVELS = ErrorRate(1e-3, 0.9, frozenset({"few"})).levels([{"few": 9, "one": 4000}, {"few": 10}])
FACTS = {"scale": "quick", "seed": 0, "kernels": "numba", "skipped": [["one", "srht", "b > d"]]}
CLAIM = Claim(
    id="X1",
    paper="ours",
    place="here",
    statement="‖x‖ <= 1 & |y| < 2",
    dataset="none",
    checks=(Check("equality", {}, ("one",), CriterionSettings()),),
    predicted={"default": "holds"},
    reason="because <b>1</b> < 2",
    role="printed",
)
ERRATUM = Erratum(
    id="song2023-1",
    paper="song2023",
    place="Lemma 1",
    kind="misprint",
    sentence="§1",
    printed="a < b",
    unsaid="a > 0",
    why="because",
    corrected="a <= b",
    touches=Touch(result=False, how="nothing"),
    claims=(),
)


def row(claim: str, verdict: str, label: str = "A", **changes: Any) -> dict[str, Any]:
    texts = {
        "paper": "song2023",
        "role": "printed",
        "method": label.lower(),
        "predicted": "holds",
        "study": "one",
        "case": "c | d",
    }
    numbers = {"statistic": 1.0, "low": 0.5, "high": 1.5, "bound": 1.0, "slack": 1.0, "trials": 10.0, "tightness": 2.5}
    control = {"negative_control": "", "negative_control_verdict": "", "negative_control_statistic": float("nan")}
    control |= {"code": "", "near_miss": "", "near_miss_verdict": "", "loosest": 2.5, "flips": float("nan")}
    control |= {"missing": "", "negative_control_rejected": ""}
    return {"claim": claim, "label": label, "verdict": verdict, **texts, **numbers, **control, **changes}


def rendered(*rows: dict[str, Any], **facts: Any) -> str:
    claims = [CLAIM, replace(CLAIM, id="X2", reason="")]
    return page.render(claims, pd.DataFrame(rows), {**FACTS, **facts}, LEVELS)


def test_it_has_everything() -> None:
    text = rendered(row("X1", "holds"), row("X2", "not run", case=""))
    for part in ("Claims and verdicts", "seed 0", "make site", "its studies have no tables yet: X2"):
        assert part in text
    assert "## Left out" in text
    assert "one: srht: b > d" in text


def test_near_misses_are_counted_and_shown() -> None:
    near = {"near_miss": "twice", "near_miss_statistic": 2.0, "near_miss_bound": 1.0}
    rows = [row("X1", "holds", label, **near, near_miss_verdict="fails") for label in "AB"]
    rows += [row("X2", "holds, not sharp", **near | {"near_miss_statistic": 0.5}, near_miss_verdict="holds")]
    rows += [row("X3", "holds", near_miss="none can be"), row("X4", "holds"), row("X5", "fails", **near)]
    text = rendered(*rows)
    assert "Of 4 verdicts that hold, 2 reject their near miss, and 1 do not" in text
    assert "For 1 the claim's file says why" in text
    found = [["X1", "twice", "2", "✗ fails", "2", "1", "2.5"], ["X2", "twice", "1", "✓ holds", "0.5", "1", "2.5"]]
    assert cells(text, "Near misses") == found
    assert "## Near misses" not in rendered(row("X1", "holds"))


def test_without_anything_left_out() -> None:
    assert "Left out" not in rendered(row("X1", "holds"), row("X2", "holds"), skipped=[])


def test_markdown_tables_escape_what_separates_cells() -> None:
    erratum = replace(ERRATUM, place="Lemma 1 | 2")
    assert "song2023, Lemma 1 \\| 2" in page.render(
        [CLAIM], pd.DataFrame([row("X1", "holds")]), FACTS, LEVELS, [erratum]
    )


def cells(markdown: str, start: str) -> list[list[str]]:
    lines = markdown[markdown.index(f"## {start}") :].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| ---"))
    rest = lines[first + 1 :]
    return [line[2:-2].split(" | ") for line in rest[: rest.index("")]]


def test_the_page_starts_with_whether_the_paper_is_right() -> None:
    markdown = rendered(
        row("X1", "holds"),
        row("X1", "vacuous", "B"),
        row("X2", "fails", paper="tang2021"),
        row("X1", "does not transfer", paper="tang2021"),
        row("X2", "holds, not sharp", role="corrected"),
        row("X2", "fails", role="control"),
        row("X2", "fails", role="ours", paper="ours"),
    )
    assert markdown.startswith("# Claims and verdicts\n\n")
    assert re.findall("^## .*", markdown, re.MULTILINE)[:2] == ["## Is the paper right?", "## Was it predicted?"]
    assert (
        "| paper | words | claims | ✓ holds | ≤ holds, not sharp | ◇ not refuted | ✗ fails | ~ inconclusive "
        "| ○ vacuous | ↛ does not transfer | ⊘ void | – not run |" in markdown
    )
    assert cells(markdown, "Is the paper right?") == [
        ["song2023", "printed", "1", "1", "", "", "", "", "1", "", "", ""],
        ["song2023", "corrected", "1", "", "1", "", "", "", "", "", "", ""],
        ["tang2021", "printed", "2", "", "", "", "1", "", "", "1", "", ""],
    ]


def test_and_with_what_was_predicted() -> None:
    markdown = rendered(
        row("X1", "holds"),
        row("X1", "vacuous", "B"),
        row("X1", "not run", "C"),
        row("X2", "vacuous"),
        row("X2", "holds", role="ours", predicted="nothing"),
        row("X2", "fails", role="control", predicted="fails"),
        row("X3", "holds", role="ours", predicted="any"),
    )
    assert cells(markdown, "Was it predicted?")[:5] == [
        ["printed", "1", "2", "0", "1"],
        ["corrected", "0", "0", "0", "0"],
        ["ours", "0", "0", "2", "0"],
        ["control", "1", "0", "0", "0"],
        ["contract", "0", "0", "0", "0"],
    ]
    assert "| ✓ holds | ○ vacuous | 2 | X1, X2 |" in markdown


def test_claims_without_a_negative_control_are_listed() -> None:
    claims = [CLAIM, replace(CLAIM, id="X2", controls={"b": NegativeControl(method="zero")})]
    rows = [row("X1", "holds"), row("X2", "holds"), row("X2", "holds", "B"), row("X2", "fails", "C")]
    markdown = page.render(claims, pd.DataFrame(rows), FACTS, LEVELS)
    assert "2 claims. If such a claim holds, it may be vacuous: X1; X2 (A)." in markdown


def test_errata_stand_beside_the_verdicts_of_their_claims() -> None:
    case = Counterexample("x = 1 & y < 2.", "at least", float("inf"), 0.25)
    erratum = replace(ERRATUM, kind="wrong", claims=("X1", "X2"), counterexample=case)
    misprint = replace(ERRATUM, place="Lemma 2")
    rows = pd.DataFrame([row("X1", "fails"), row("X1", "holds", "B"), row("X2", "holds", role="corrected")])
    markdown = page.render([CLAIM], rows, FACTS, LEVELS, [erratum, misprint])
    assert "2 statements are not true as printed; a result of the paper depends on 0" in markdown
    assert cells(markdown, "Errata") == [
        ["song2023, Lemma 1", "wrong", "at least ∞, but 0.25", "X1: ✓ holds 1, ✗ fails 1; X2: ✓ holds 1"],
        ["song2023, Lemma 2", "misprint", "", "no claim measures it"],
    ]


def test_the_page_is_short_whatever_is_judged() -> None:
    claims = [replace(CLAIM, id=f"X{number}") for number in range(500)]
    rows = [row(claim.id, "holds") for claim in claims]
    assert len(page.render(claims, pd.DataFrame(rows), FACTS, LEVELS).splitlines()) < 100


def test_without_errata_there_is_no_section() -> None:
    assert "Errata" not in rendered(row("X1", "holds"), row("X2", "holds"))


def test_the_error_rate_is_that_of_all_that_is_said() -> None:
    page = rendered(row("X1", "holds"))
    assert "10 comparisons of trainings and attacks get 9e-05 each" in page
    assert "4,000 comparisons get 2.5e-08 each" in page
    assert "a claim, a control or a near miss is wrong is at most 0.003" in page


def test_verdicts_that_new_trials_may_change_are_listed() -> None:
    rows = [row("X1", "holds", flips=flips) for flips in (0.25, 0.009)] + [row("X2", "holds", flips=0.0)]
    page = rendered(*rows)
    assert "Counts decide 3 verdicts." in page
    assert "changes each of 1 verdicts" in page
    assert "- X1: 1 of 2, at most 25%" in page
    assert "- X2: " not in page.partition("## What another seed may change")[2].partition("##")[0]
    assert "another seed" not in rendered(row("X1", "holds", flips=0.01))
    assert "- X1: 1 of 1, at most 2%" in rendered(row("X1", "holds", flips=0.015))


def test_controls_that_few_comparisons_reject_are_listed() -> None:
    """Fewer than half; the smallest share by claim."""
    shares = [("X1", "1 of 3"), ("X1", "2 of 30"), ("X1", "2 of 4"), ("X2", "2 of 3")]
    page = rendered(*(row(claim, "holds", negative_control_rejected=share) for claim, share in shares))
    assert "For 2 of 4 verdicts that hold" in page
    assert "- X1: 2 of 30" in page
    assert "- X2: " not in page.partition("## Controls that few comparisons reject")[2].partition("##")[0]


# Numbers that claims and findings state beside their verdicts are those of the published tables


ROOT = Path(__file__).parents[2]
DENSE = 30_080  # bytes up and down of a client and round without compression: 3,760 float32, twice


def reason(claim: str) -> str:
    content = entry("claim", claim)
    return " ".join(content["reason"].split())


def table(path: str) -> pd.DataFrame:
    return pd.read_csv(published() / path)


def bytes_both_ways(method: str, compression: int) -> int:
    """The bytes up and down of a client and round, of a compressor at a budget."""
    rows = table("tables/frontier.csv").query("quantity == 'accuracy' and case == 'iid'")
    (row,) = rows[(rows["method"] == method) & (rows["compression"] == compression)].to_dict("records")
    return int(row["bytes_up"] + row["bytes_down"])


@pytest.mark.parametrize(
    ("claim", "method", "compression", "share"),
    [("F1", "fiht", 4, 17), ("F2", "power_sgd", 4, 25), ("F3", "sign", 16, 52), ("F3", "top_k", 16, 25)],
)
def test_bytes_up_and_down(claim: str, method: str, compression: int, share: int) -> None:
    total = bytes_both_ways(method, compression)
    assert f"{total:,}" in reason(claim)
    assert re.search(rf"\b{share} %", reason(claim))
    assert round(100 * total / DENSE) == share
    assert bytes_both_ways("none", 1) == DENSE


def test_top_k_at_a_64th() -> None:
    assert f"{bytes_both_ways('top_k', 64):,}, 7 %" in reason("F3")


def test_biases_alone_are_a_weak_attack() -> None:
    rows = table("paper/tables/inversion_double_blind_mnist.csv").query("case == 'client_biases'")
    found = rows.set_index("quantity")
    better, psnr = found.loc["better"], found.loc["psnr", "mean"]
    assert f"in {better['count']:.0f} of {better['trials']:.0f}, with {psnr:.1f} dB" in reason("Z11-client-mnist")


LAYERS = {  # (d_out, d_in) of the layers of the paper's networks that are sketched
    "perceptron": [(200, 784), (200, 200)],
    "MNIST": [(32, 25), (64, 800), (512, 1024)],
    "CIFAR-10": [(32, 75), (64, 800), (128, 1600), (200, 2048)],
    "LFW": [(64, 27), (64, 576), (128, 576), (32, 3072), (32, 32)],
}


def test_layers_with_odd_inputs() -> None:
    """The listing's buckets of two leave an input over."""
    odd = {(name, inputs) for name, own in LAYERS.items() for _, inputs in own if inputs % 2}
    assert odd == {("MNIST", 5 * 5), ("CIFAR-10", 75), ("LFW", 27)}
    assert "MNIST (5 · 5 inputs), CIFAR-10 (75) and LFW (27)" in reason("Z4-remainder")


def test_where_two_sketches_span_all_outputs() -> None:
    """With s = ⌊d_in/2⌋ there are more outputs than 2s in two layers only."""
    sizes = [(name, outputs, inputs // 2 * 2) for name, own in LAYERS.items() for outputs, inputs in own]
    assert [size for size in sizes if size[1] > size[2]] == [("MNIST", 32, 24), ("LFW", 64, 26)]
    assert "MNIST (32 outputs, 2s = 24) and LFW (64, 26)" in reason("Z13-wide")
