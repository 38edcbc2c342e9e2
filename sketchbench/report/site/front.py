"""The front page: the verdicts on the papers, the findings, and how many verdicts are as predicted and as published.

The page keeps three questions apart. A claim that fails is an error of a paper, predicted or not. A verdict that
differs from the published verdict is an error of this project, or of the machine that made the reports.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from sketchbench.report.claim.check import published, read_verdicts
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.page import PAPERS_ROLES, counted_predictions
from sketchbench.report.claim.reproduction import WORDS, Compared, compare
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.site import figures
from sketchbench.report.site.findings import Finding, contradictions, read_findings
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, escape, number, prose
from sketchbench.run.config.chapters import files

ALWAYS = ("holds", "fails", "inconclusive")
COUNTED = (*ALWAYS, "holds, not sharp", "not refuted", "vacuous", "does not transfer", "void")
INTRODUCTION = """\
Three papers on sketching in federated learning claim how well a sketch preserves its input, how fast training
converges, and how little an attacker sees. This project measures each claim, with confidence intervals and negative
controls, and reports whether the claim **holds**, **fails** or remains **inconclusive**."""
WHERE = {"paper": "at the papers' own sizes", "quick": "at the quick scale"}
COMMANDS = """\
```bash
sketchbench show S19-printed                 # the evidence behind a verdict
sketchbench run task=moments sketch=srht     # one experiment
```"""
PAPERS = {
    "song2023": "sketching for convergence and privacy",
    "zhang2021": "double-blind learning with sketched weights",
    "tang2021": "compressed sensing with FIHT",
}


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The front page."""
    claims = read_claims(files(conf, "claim"))
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    both = [(scale, _compared(scale)) for scale in scales]
    quick = [scale for scale in scales if scale.name == "quick"]  # whose verdicts the findings have
    findings = _read_findings(conf.parent / "docs" / "findings.md", claims)
    pictures = {}
    for name in [one.picture for one in findings if quick]:
        assets, pictures[name] = figures.drawn(quick[0], name)
        yield from assets
    reports = {path.stem for scale in scales for path in scale.reports.glob("*.csv")}
    blocks = [
        INTRODUCTION,
        *_alarm([one for _, found in both for one in found or [] if one.word == "differs"]),
        *_verdicts(outcomes, scales[:1]),
        "If a claim fails, the [errata](errata.md) give a true statement in its place.",
        *_findings(findings, outcomes, pictures),
        "## See for yourself",
        COMMANDS,
        _ways("frontier" in reports),
        *(["## At the quick scale", *_verdicts(outcomes, scales[1:])] if scales[1:] else []),
        "## As predicted, as published",
        *(_predicted(outcomes[outcomes["scale"] == scale.name], scale) for scale in scales),
        *sorted((_as_published(found, scale) for scale, found in both), key=_calm),
    ]
    yield Page("index.md", "Is the paper right?", "\n\n".join(blocks))


def _verdicts(outcomes: pd.DataFrame, scales: Sequence[ReportedScale]) -> Iterator[str]:
    """The table of the papers at each of these scales."""
    for scale in scales:
        yield f"One verdict for each claim and method, {WHERE[scale.name]}. A number leads to its verdicts."
        yield _papers(outcomes[outcomes["scale"] == scale.name], scale.name)


def claims_address(**filters: str) -> str:
    """The address of the list of claims, filtered by these values of its columns."""
    return f"claims.html#{urlencode(filters)}"


def _compared(scale: ReportedScale) -> list[Compared] | None:
    """The verdicts of a scale beside the published ones; None where there are none."""
    older = published(scale.reports)
    return None if older is None else compare(older, read_verdicts(scale.reports / "claims.csv", scale.name))


def _alarm(differing: Sequence[Compared]) -> list[str]:
    """A red line with the number of verdicts that differ from the published ones; no line without such."""
    text = f'<a href="#as-predicted-as-published">{len(differing)} verdicts differ from the published ones</a>'
    return [f'<p class="alarm"><strong class="fails">{text}</strong></p>'] if differing else []


def _calm(text: str) -> bool:
    """Whether the block of a scale reports nothing that differs; blocks with such come first."""
    return 'class="calm"' in text


def _ways(frontier: bool) -> str:
    """Links for the three questions that newcomers have."""
    ways = [("Does claim X hold?", "claims.html", "Search all claims by paper, theorem or words.")]
    if frontier:
        ways.append(
            ("Which compressor at N bytes?", "frontier.html", "Accuracy, bytes and leakage, with a decision list.")
        )
    failing = claims_address(method="CountSketch", verdict="fails")
    ways.append(("What does method Y fail at?", failing, "CountSketch, for one; choose another in the list."))
    items = "".join(f'<li><a href="{to}"><strong>{name}</strong></a><br>{text}</li>' for name, to, text in ways)
    return f'<ul class="ways">{items}</ul>'


def _read_findings(page: Path, claims: Sequence[Claim]) -> list[Finding]:
    """The findings of a page; none for a package that was installed from a wheel, which has no docs/."""
    return read_findings(page, claims) if page.is_file() else []


def _findings(findings: Sequence[Finding], outcomes: pd.DataFrame, pictures: Mapping[str, str]) -> Iterator[str]:
    """List the findings with claims that were run at the quick scale, each finding with its picture and its verdicts at
    this scale."""
    if not findings:
        return
    yield "## Findings"
    quick = outcomes[(outcomes["scale"] == "quick") & (outcomes["verdict"] != "not run")]
    run = [one for one in findings if quick["claim"].isin([support.claim for support in one.claims]).any()]
    items = "".join(_finding(finding, quick, pictures.get(finding.picture, "")) for finding in run)
    yield f"<ol>{items}</ol>" if run else "No claim of the findings has been run at the scale quick."


def _finding(finding: Finding, verdicts: pd.DataFrame, picture: str) -> str:
    """A finding's sentence, its picture, its claims, and an alarm if the verdicts contradict the finding."""
    wrong = contradictions(finding, verdicts)
    alarm = f'<p class="alarm">These verdicts do not support it: {escape("; ".join(wrong))}.</p>' if wrong else ""
    claims = "".join(_support(support.claim, verdicts) for support in finding.claims)
    sentence = f'<a href="docs/findings.html#{finding.anchor}">{prose(finding.sentence)}</a>'
    return f"<li><strong>{sentence}</strong>{alarm}{picture}<ul>{claims}</ul></li>"


def _support(claim: str, verdicts: pd.DataFrame) -> str:
    """A claim of a finding, with its verdicts, and the bound and the statistic of its first verdict."""
    own = verdicts[verdicts["claim"] == claim].to_dict("records")
    badges = " ".join(badge(verdict) for verdict in dict.fromkeys(row["verdict"] for row in own)) or "not run"
    numbers = ""
    if own:
        word = "exactly" if own[0]["criterion"] == "equality" else "at most"
        numbers = f": {word} <strong>{number(own[0]['bound'])}</strong> is claimed, <strong>"
        numbers += f"{number(own[0]['statistic'])}</strong> measured{_method(own[0])}"
    return f'<li><a href="claims/{claim}.html">{claim}</a> {badges}{numbers}</li>'


def _method(row: Mapping[Any, Any]) -> str:
    return "" if row["method"] == "any" else f" with {escape(row['label'])}"


def _papers(outcomes: pd.DataFrame, scale: str) -> str:
    """A table of the numbers of verdicts on the papers' statements, by paper and verdict."""
    papers = outcomes[outcomes["role"].isin(PAPERS_ROLES)]
    columns = [name for name in COUNTED if name in ALWAYS or (papers["verdict"] == name).any()]
    head = "".join(f"<th>{badge(verdict)}</th>" for verdict in columns)
    rows = []
    for paper, about in PAPERS.items():
        for role in PAPERS_ROLES:
            group = outcomes[(outcomes["paper"] == paper) & (outcomes["role"] == role)]
            if len(group):
                name = f"<strong>{paper}</strong>, {about}" if role == "printed" else "corrected"
                cells = "".join(f"<td>{_count(group, scale, role, verdict)}</td>" for verdict in columns)
                rows.append(f"<tr><td>{name}</td><td>{group['claim'].nunique()}</td>{cells}</tr>")
    return f'<div class="box"><table><tr><th>paper</th><th>claims</th>{head}</tr>{"".join(rows)}</table></div>'


def _count(group: pd.DataFrame, scale: str, role: str, verdict: str) -> str:
    """The number of a group's rows with a verdict, as a link to these rows in the list of claims."""
    paper, count = group["paper"].iloc[0], int((group["verdict"] == verdict).sum())
    address = escape(claims_address(paper=paper, role=role, verdict=verdict, scale=scale))
    return f'<a href="{address}" aria-label="{paper}, {role}: {count} {verdict}">{count}</a>' if count else "0"


def _predicted(outcomes: pd.DataFrame, scale: ReportedScale) -> str:
    """How many verdicts of a scale are as predicted before the first run, otherwise, ..."""
    claims = outcomes["claim"].nunique()
    return (
        f"<p>Of {len(outcomes)} verdicts on {claims} claims at the scale {scale.name}: "
        f"{', '.join(counted_predictions(outcomes))}. A prediction is the verdict that the file of a claim named "
        "before its first run; nobody edits it after a run.</p>"
    )


def _as_published(compared: Sequence[Compared] | None, scale: ReportedScale) -> str:
    """How many verdicts of a scale are reproduced, and which are not; in red where one differs."""
    if compared is None:
        return f'<p class="calm">At the scale {scale.name} nothing is published to compare with.</p>'
    items = "".join(f"<li>{escape(one)}</li>" for one in compared if one.word in ("weaker", "stronger", "differs"))
    counts = Counter(one.word for one in compared)
    told = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    head = f"<p>Beside the published ones, at the scale {scale.name}: {told}.</p>{items and f'<ul>{items}</ul>'}"
    return f'<div class="{"alarm" if counts["differs"] else "calm"}">{head}</div>'
