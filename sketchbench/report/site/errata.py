"""The errata: printed and true statements, a counterexample in two numbers and five lines, and affected results."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.erratum import Counterexample, Erratum, read_errata
from sketchbench.report.evidence.outcomes import ReportedScale, read_outcomes
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, escape, number, prose, row_of, table_of, typeset
from sketchbench.run.config.chapters import files

KINDS = {
    "wrong": "false as printed",
    "contradictory": "contradicts another place of the paper",
    "misprint": "clearly not the authors' intention",
    "open question answered": "left open by the paper",
    "omitted constant": "true with another constant, which the paper omits",
}


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """One page: a table of all errata, first the errata that affect a result, then a section for each erratum."""
    errata = read_errata(files(conf, "erratum"), read_claims(files(conf, "claim")))
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
        f"{len(errata)} statements are not true as printed. The strongest come first, each with our smallest "
        "counterexample and, if five lines of Python suffice, the lines that print both numbers. "
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
    """A row for each erratum, with a link to its section."""
    rows = []
    for one in errata:
        place = f'<a href="#{one.id.lower()}">{escape(one.place)}</a>'
        rows.append(row_of((escape(one.paper), place, one.kind, _numbers(one.counterexample))))
    return table_of(("paper", "place", "kind", "printed, and true value"), rows)


def _section(erratum: Erratum, outcomes: pd.DataFrame) -> list[str]:
    parts = {
        "Place": typeset(erratum.sentence),
        "Printed": typeset(erratum.printed),
        "Not stated": prose(erratum.unsaid),
        "Why it is not true": prose(erratum.why),
        "Counterexample": _refutation(erratum.counterexample),
        "True instead": prose(erratum.corrected),
        "Consequences": prose(erratum.touches.how),
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
    """The printed and the true value of a counterexample."""
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
    """The claims that measure an erratum, with the count of each verdict."""
    parts = []
    for name in erratum.claims:
        own = outcomes[(outcomes["claim"] == name) & (outcomes["verdict"] != "not run")]
        counts = own["verdict"].value_counts()
        text = ", ".join(f"{badge(str(verdict))} {count}" for verdict, count in counts.items()) or "not run yet"
        role = f" ({own['role'].iloc[0]})" if len(own) else ""
        parts.append(f'<a href="claims/{name}.html">{name}</a>{role}: {text}')
    return "; ".join(parts) or "no claim measures this"
