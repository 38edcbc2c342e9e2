"""The page holds the decision list and every cell, and needs no other file but the figures."""

import json
import re

import made_up
import pandas as pd

from sketchbench.claim.claims import Check, Claim
from sketchbench.claim.criteria import Settings
from sketchbench.frontier.cells import cells
from sketchbench.frontier.page import decisive, page

CHECK = Check("upper_bound", {"quantity": "accuracy_loss"}, ("frontier",), Settings())
CLAIM = Claim("F1", "ours", "frontier", "Top-K loses <little>", "digits", (CHECK,), {"default": "holds"}, "", "ours")
NUMBERS = {"statistic": 0.01, "low": 0.0, "high": 0.02, "bound": 0.05}
VERDICTS = pd.DataFrame(
    [
        {
            "claim": "F1",
            "role": "ours",
            "label": label,
            "verdict": verdict,
            "statistic": 0.01,
            "low": 0.0,
            "high": 0.02,
            "bound": 0.05,
        }
        for label, verdict in (("Top-K", "holds"), ("SRHT", "fails"))
    ]
)


def test_the_page_says_what_follows_and_holds_all_cells() -> None:
    frontier = cells(made_up.tables())
    text = page(frontier, [CLAIM], VERDICTS, ["frontier"])
    assert "Top-K loses &lt;little&gt;" in text
    assert "holds 1, fails 1" in text
    data = re.search(r'<script type="application/json" id="cells">\n(.*)\n</script>', text)
    assert data is not None
    rows = json.loads(data[1])
    assert len(rows) == len(frontier) - 1
    assert "None at 1/4: needs 15040 bytes" in text
    assert any(row["epsilon"] is None for row in rows)
    assert 'src="figures/frontier.svg"' in text
    assert not re.search(r'(src|href)="(?!figures/)', text)


def test_a_claim_of_other_studies_is_no_decision() -> None:
    other = Check("upper_bound", {}, ("norms",), Settings())
    assert decisive([CLAIM, Claim("S1", "ours", "", "", "", (other,), {"default": "holds"}, "", "ours")]) == [CLAIM]
