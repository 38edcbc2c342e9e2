"""The errata: what the papers say, what is true instead, a counterexample in two numbers and five lines, and what rests
on it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.erratum import Counterexample, Erratum, read_errata
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, claim_files, escape, number, prose, typeset

KINDS = {
    "wrong": "false as printed",
    "contradictory": "contradicts another place of the paper",
    "misprint": "plainly not what the authors meant",
    "open question answered": "the paper leaves it open",
    "omitted constant": "true with another constant, which the paper leaves out",
}


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """One page: a table of all errata, those first on which a result depends, then a section for each."""
    errata = read_errata(sorted((conf / "erratum").glob("*.yaml")), read_claims(claim_files(conf)))
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    yield Page("errata.md", "Errata", _page(errata, outcomes))


def _page(errata: Sequence[Erratum], outcomes: pd.DataFrame) -> str:
    if not errata:
        return "There are no errata."
    kinds = "; ".join(f"<strong>{kind}</strong>: {meaning}" for kind, meaning in KINDS.items())
    order = sorted(errata, key=lambda erratum: (erratum.rank or math.inf, list(KINDS).index(erratum.kind)))
    touching = [erratum for erratum in order if erratum.touches.result]
    others = [erratum for erratum in order if not erratum.touches.result]
    blocks = [
        f"{len(errata)} statements that are not so as printed, the strongest first, each with the smallest "
        "counterexample that we know and, where five lines of Python are enough, the lines that print both numbers. "
        f"{kinds}.",
        f"## A result of the paper depends on it\n\n{len(touching)} errata.",
        _table(touching),
        f"## No result depends on it\n\n{len(others)} errata, slips that change nothing else.",
        _table(others),
        "## One by one",
    ]
    for erratum in (*touching, *others):
        blocks += _section(erratum, outcomes)
    return "\n\n".join(blocks)


def _table(errata: Sequence[Erratum]) -> str:
    """A row for each erratum, which leads to its section."""
    rows = "".join(
        f'<tr><td>{escape(erratum.paper)}</td><td><a href="#{erratum.id.lower()}">{escape(erratum.place)}</a></td>'
        f"<td>{erratum.kind}</td><td>{_numbers(erratum.counterexample)}</td></tr>"
        for erratum in errata
    )
    head = "<tr><th>paper</th><th>place</th><th>kind</th><th>printed, and true value</th></tr>"
    return f'<div class="box"><table>{head}{rows}</table></div>'


def _section(erratum: Erratum, outcomes: pd.DataFrame) -> list[str]:
    parts = {
        "Place": typeset(erratum.sentence),
        "What it says": typeset(erratum.printed),
        "What it does not say": prose(erratum.unsaid),
        "Why this is not so": prose(erratum.why),
        "Counterexample": _refutation(erratum.counterexample),
        "True instead": prose(erratum.corrected),
        "What rests on it": prose(erratum.touches.how),
        "Measured": _verdicts(erratum, outcomes),
    }
    first, second = ({name: parts[name] for name in half} for half in (list(parts)[:5], list(parts)[5:]))
    heading = f"### {erratum.paper}, {erratum.place}: {erratum.kind} {{#{erratum.id.lower()}}}"
    case = erratum.counterexample
    code = [f"```python\n{case.code.strip()}\n```"] if case and case.code else []
    return [heading, _terms(first), *code, _terms(second)]


def _terms(parts: Mapping[str, str]) -> str:
    text = "".join(f"<dt>{name}</dt><dd>{part}</dd>" for name, part in parts.items() if part)
    return f'<dl class="erratum">{text}</dl>'


def _numbers(case: Counterexample | None) -> str:
    """The printed value of a counterexample, and the true one."""
    if case is None:
        return ""
    return f'{case.relation} {number(case.printed)}, but <span class="fails">{number(case.measured)}</span>'


def _refutation(case: Counterexample | None) -> str:
    if case is None:
        return ""
    return f"{prose(case.statement)} Printed: {case.relation} {number(case.printed)}. " + (
        f'True value: <span class="fails">{number(case.measured)}</span>.'
    )


def _verdicts(erratum: Erratum, outcomes: pd.DataFrame) -> str:
    """The claims that measure an erratum, with the number of each verdict."""
    parts = []
    for name in erratum.claims:
        own = outcomes[(outcomes["claim"] == name) & (outcomes["verdict"] != "not run")]
        counts = own["verdict"].value_counts()
        text = ", ".join(f"{badge(str(verdict))} {count}" for verdict, count in counts.items()) or "not run yet"
        role = f" ({own['role'].iloc[0]})" if len(own) else ""
        parts.append(f'<a href="claims/{name}.html">{name}</a>{role}: {text}')
    return "; ".join(parts) or "no claim measures this"
