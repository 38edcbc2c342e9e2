"""The findings, for README and front page: a sentence each, its conditions, and the claims that it rests on."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.report.claim.claims import Claim, read_files

WIDTH = 120  # of a line in README
PARTS = {"believed": "Believed", "measured": "Measured", "conditions": "Conditions", "instead": "Instead"}
THRESHOLD = "theorem_6_2"  # the picture that is computed, and no figure of a study
CLOSE = 0.02  # a statistic in the text is rounded


@dataclass(frozen=True)
class Rest:
    """A claim that a finding rests on, its verdict, and the numbers of it that the text names."""

    claim: str
    verdict: str
    trials: int | None = None
    statistic: float | None = None


@dataclass(frozen=True)
class Finding:
    """One file of conf/finding.

    Attributes:
        id: the name of the file.
        rank: 1 comes first.
        paper: that it is about, or `ours`.
        sentence: what was found.
        believed: what is believed, or the paper says.
        measured: what was measured, in numbers.
        conditions: under which it was found, and how far it goes.
        instead: what to do.
        picture: a figure of conf/figure, or THRESHOLD.
        shows: what is seen in the picture.
        claims: that it rests on.
    """

    id: str
    rank: int
    paper: str
    sentence: str
    believed: str
    measured: str
    conditions: str
    instead: str
    picture: str
    shows: str
    claims: tuple[Rest, ...]


def read_findings(paths: Iterable[Path], claims: Iterable[Claim]) -> list[Finding]:
    """The findings of these files, by rank; `claims` are all claims.

    Raises SchemaError or ClaimError, in one line, for a file that does not fit the schema, has not the name of its
    finding, or names a claim that is not there.
    """
    known = [claim.id for claim in claims]

    def finding(content: dict[str, object]) -> Finding:
        rests = tuple(Rest(**rest) for rest in content["claims"])  # type: ignore[attr-defined]
        for rest in rests:
            choose("claim", rest.claim, known)
        return Finding(**{**content, "claims": rests})  # type: ignore[arg-type]

    return sorted(read_files(sorted(paths), "finding", finding), key=lambda one: one.rank)


def contradictions(finding: Finding, verdicts: pd.DataFrame) -> list[str]:
    """What verdicts say against a finding, in a few words each; nothing of claims without verdicts."""
    wrong = []
    for rest in finding.claims:
        own = verdicts[(verdicts["claim"] == rest.claim) & (verdicts["verdict"] != "not run")]
        others = sorted(set(own["verdict"]) - {rest.verdict})
        wrong += [f"{rest.claim}: {other}, not {rest.verdict}" for other in others]
        if rest.trials is not None and len(own) and set(own["trials"]) != {rest.trials}:
            wrong.append(f"{rest.claim}: not {rest.trials} trials")
        if rest.statistic is not None and (abs(own["statistic"] - rest.statistic) > CLOSE * rest.statistic).any():
            wrong.append(f"{rest.claim}: not {rest.statistic:g}")
    return wrong


def readme(findings: Sequence[Finding]) -> str:
    """The findings as README has them, in Markdown: a numbered sentence each, its parts as a list, and its picture."""
    return "\n\n".join(
        "\n\n".join(
            [
                _fill(f"**{finding.rank}. {finding.sentence}**", ""),
                "\n".join(_fill(f"- *{name}.* {getattr(finding, part)}", "  ") for part, name in PARTS.items())
                + "\n"
                + _fill(f"- *Claims.* {', '.join(rest.claim for rest in finding.claims)}.", "  "),
                _fill(f"![{finding.shows}]({_file(finding.picture)})", ""),
            ]
        )
        for finding in findings
    )


def _file(picture: str) -> str:
    return f"docs/{picture}.svg" if picture == THRESHOLD else f"reports/figures/{picture}.png"


def _fill(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
