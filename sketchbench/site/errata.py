"""The errata: what the papers say, what is true instead, a counterexample in two numbers, and what rests on it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.erratum import Counterexample, Erratum, read_errata
from sketchbench.report.evidence.outcomes import Scale, read_outcomes
from sketchbench.site.page import Asset, Page
from sketchbench.site.verdicts import badge, claim_files, escape, number, prose, typeset

KINDS = {
    "wrong": "false as printed",
    "contradictory": "contradicts another place of the paper",
    "misprint": "plainly not what the authors meant",
    "open question answered": "the paper leaves it open",
    "omitted constant": "true with another constant, which the paper leaves out",
}


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """One page: a table of all errata, then a section for each."""
    errata = read_errata(sorted((conf / "erratum").glob("*.yaml")), read_claims(claim_files(conf)))
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    yield Page("errata.md", "Errata", _page(errata, outcomes))


def _page(errata: Sequence[Erratum], outcomes: pd.DataFrame) -> str:
    if not errata:
        return "There are no errata."
    strongest = [erratum for erratum in errata if erratum.rank]
    kinds = "; ".join(f"<strong>{kind}</strong>: {meaning}" for kind, meaning in KINDS.items())
    touching = sum(erratum.touches.result for erratum in errata)
    blocks = [
        f"{len(errata)} statements that are not so as printed, each with the smallest counterexample that we know. "
        f"{kinds}. A result that its paper uses rests on {touching} of them; the others are slips that change nothing "
        "else.",
    ]
    if strongest:
        blocks += ["## The strongest", _table(strongest), "## All"]
    blocks.append(_table(sorted(errata, key=lambda erratum: (erratum.paper, erratum.id))))
    for erratum in errata:
        blocks += _section(erratum, outcomes)
    return "\n\n".join(blocks)


def _table(errata: Sequence[Erratum]) -> str:
    """A row for each erratum, which leads to its section."""
    rows = "".join(
        f'<tr><td>{escape(erratum.paper)}</td><td><a href="#{erratum.id.lower()}">{escape(erratum.place)}</a></td>'
        f"<td>{erratum.kind}</td><td>{'a result' if erratum.touches.result else 'nothing'}</td>"
        f"<td>{_numbers(erratum.counterexample)}</td></tr>"
        for erratum in errata
    )
    head = "<tr><th>paper</th><th>place</th><th>kind</th><th>touches</th><th>printed, and true value</th></tr>"
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
    text = "".join(f"<dt>{name}</dt><dd>{part}</dd>" for name, part in parts.items() if part)
    heading = f"## {erratum.paper}, {erratum.place}: {erratum.kind} {{#{erratum.id.lower()}}}"
    return [heading, f'<dl class="erratum">{text}</dl>']


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
