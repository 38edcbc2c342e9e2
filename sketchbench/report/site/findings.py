"""The findings of docs/findings.md: the sentence of each finding, and the claims that support it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.report.claim.claims import Claim, ClaimError
from sketchbench.report.claim.page import MARKS

SECTION = re.compile(r"^## (\d+\. .*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"\*\*(.*?)\*\*", re.DOTALL)
CLAIM = re.compile(r"([A-Z]\d[\w-]*) \(([^)]*)\)")
TRIALS = re.compile(r"(\d+) trials")
SHOWN = re.compile(r"\]\(\.\./reports/figures/([\w-]+)\.png\)")  # a figure in the text
CLOSE = 0.02  # relative difference allowed to a statistic, which the text rounds


@dataclass(frozen=True)
class Support:
    """A claim that supports a finding, its verdict, and the numbers that the text names."""

    claim: str
    verdict: str
    trials: int | None = None
    statistic: float | None = None


@dataclass(frozen=True)
class Finding:
    """A section of docs/findings.md: its heading, its bold sentence, its claims, and its text in Markdown."""

    heading: str
    sentence: str
    claims: tuple[Support, ...]
    text: str

    @property
    def anchor(self) -> str:
        """The anchor of the heading, as GitHub and MkDocs make it."""
        return re.sub(r"[^a-z0-9]+", "-", self.heading.lower())

    @property
    def picture(self) -> str:
        """The name of the first figure that the text shows; "" if it shows none."""
        shown = SHOWN.search(self.text)
        return shown[1] if shown else ""


def read_findings(page: Path, claims: Iterable[Claim]) -> list[Finding]:
    """Return the findings of a page, in its order; `claims` are all claims.

    Raises ClaimError if a finding lacks its bold sentence or its claims, and ValueError for an unknown claim or
    verdict.
    """
    known = [claim.id for claim in claims]
    findings = []
    for heading, text in SECTION.findall(page.read_text(encoding="utf-8")):
        sentence = SENTENCE.search(text)
        supports = tuple(_support(*found) for found in CLAIM.findall(text.partition("- *Claims.*")[2]))
        if not sentence or not supports:
            raise ClaimError(f"{page}: {heading!r} needs a bold sentence, and `- *Claims.* ID (verdict), ...`")
        for support in supports:
            choose("claim", support.claim, known)
            choose("verdict", support.verdict, list(MARKS))
        findings.append(Finding(heading, " ".join(sentence[1].split()), supports, text))
    return findings


def _support(claim: str, told: str) -> Support:
    """Read `fails; 24 trials; 1`: the verdict, then the trials and the statistic if the text names them."""
    verdict, *numbers = (" ".join(part.split()) for part in told.split(";"))
    trials = [int(match[1]) for part in numbers if (match := TRIALS.fullmatch(part))]
    statistics = [float(part) for part in numbers if not TRIALS.fullmatch(part)]
    return Support(claim, verdict, next(iter(trials), None), next(iter(statistics), None))


def contradictions(finding: Finding, verdicts: pd.DataFrame) -> list[str]:
    """List the verdicts and numbers that contradict a finding; a claim without verdicts contradicts nothing."""
    wrong = []
    for support in finding.claims:
        own = verdicts[(verdicts["claim"] == support.claim) & (verdicts["verdict"] != "not run")]
        others = sorted(set(own["verdict"]) - {support.verdict})
        wrong += [f"{support.claim}: {other}, not {support.verdict}" for other in others]
        if support.trials is not None and len(own) and set(own["trials"]) != {support.trials}:
            wrong.append(f"{support.claim}: not {support.trials} trials")
        if (
            support.statistic is not None
            and (abs(own["statistic"] - support.statistic) > CLOSE * support.statistic).any()
        ):
            wrong.append(f"{support.claim}: not {support.statistic:g}")
    return wrong
