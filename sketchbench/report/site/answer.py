"""A verdict in one sentence: what was measured, what the claim allows, and what became of a control."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sketchbench.report.claim import page
from sketchbench.report.claim.claims import Claim
from sketchbench.report.claim.control import NegativeControl
from sketchbench.run.config.composition import METHODS
from sketchbench.run.config.schema import load

# By criterion: the statistic, and what the claim says of it.
SENTENCES = {
    "equality": ("the mean measured is {}", "the claim says {}"),
    "upper_bound": ("the mean measured is {}", "the claim allows {}"),
    "probability": ("the share measured is {}", "the claim allows {}"),
    "always": ("the share of trials beyond the bound is {}", "the claim allows none"),
    "growth": ("the slope measured is {}", "the claim says {}"),
    "computed": ("the number computed is {}", "the claim allows {}"),
    "audit": ("an attack proves an ε of {}", "the account says {}"),
}
OUTCOMES = {"fails": "is rejected", "holds": "holds, too"}
VERBS = ("holds", "holds, not sharp", "fails", "does not transfer")  # verdicts that are a verb
CONTROL = "Control, "  # begins the labels of controls


def numbers(row: Mapping[Any, Any]) -> str:
    """The statistic of a verdict and what the claim allows, in words.

    >>> numbers({"criterion": "upper_bound", "statistic": 1.99687, "bound": 3.0})
    'the mean measured is 1.997, the claim allows 3'
    """
    return ", ".join(
        words.format(page.number(row[name]))
        for words, name in zip(SENTENCES[row["criterion"]], ("statistic", "bound"), strict=True)
    )


def sentence(claim: Claim, row: Mapping[Any, Any], conf: Path) -> str:
    """The verdict, its numbers, and its nearest control: a near miss if there is one, or else the negative control."""
    whom = f" for {row['label']}" if row["label"] else ""
    if row["verdict"] == "not run":
        return f"{claim.id} was not run{whom}: {row['case'] or 'it is not measured at this scale'}"
    verb = "" if row["verdict"] in VERBS else "is "
    answer = f"{claim.id} {verb}{row['verdict']}{whom}: {numbers(row)}"
    controls = claim.controls_of(row["method"])
    for kind in ("near_miss", "negative_control"):
        control, found = controls.get(kind), row.get(f"{kind}_verdict")
        if control and not control.reason and isinstance(found, str) and found:
            value = row[f"{kind}_statistic"]
            has = "" if math.isnan(value) else f"has {page.number(value)} and "
            named = f"the {kind.replace('_', ' ')} ({_words(control, row['method'], conf)})"
            return f"{answer}; {named} {has}{OUTCOMES.get(found, 'is not rejected')}"
    return answer


def _words(control: NegativeControl, method: str, conf: Path) -> str:
    """A control by the label of its method, which is of the judged method's kind, or else by what sets it apart."""
    files = [conf / kind / f"{control.method}.yaml" for kind in METHODS if (conf / kind / f"{method}.yaml").is_file()]
    labels = [load(file)["label"] for file in files if file.is_file()]
    return labels[0].removeprefix(CONTROL) if labels else control.name
