"""The errata: what the papers print and is not so, what is true instead, and a counterexample in two numbers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.claim.claims import read_claims
from sketchbench.report.claim.erratum import Counterexample, Erratum, read_errata
from sketchbench.site import verdicts
from sketchbench.site.page import Asset, Page, Scale
from sketchbench.site.verdicts import badge, claim_files, escaped, number, prose, typeset

KINDS = {
    "wrong": "not true as printed",
    "vacuous": "true of nothing",
    "contradictory": "contradicts another place of the paper",
    "misprint": "plainly not meant",
}


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """One page with a section for each erratum, and a list of them on top."""
    errata = read_errata(sorted((conf / "erratum").glob("*.yaml")), read_claims(claim_files(conf)))
    found = pd.concat([verdicts.read(scale) for scale in scales], ignore_index=True)
    yield Page("errata.md", "Errata", _page(errata, found))


def _page(errata: Sequence[Erratum], found: pd.DataFrame) -> str:
    if not errata:
        return "There are none."
    rows = "".join(
        f'<tr><td>{escaped(erratum.paper)}</td><td><a href="#{erratum.id.lower()}">{escaped(erratum.place)}</a></td>'
        f"<td>{erratum.kind}</td><td>{_numbers(erratum.counterexample)}</td></tr>"
        for erratum in errata
    )
    head = "<tr><th>paper</th><th>place</th><th>kind</th><th>printed, and what is so</th></tr>"
    kinds = "; ".join(f"<strong>{kind}</strong>: {meaning}" for kind, meaning in KINDS.items())
    blocks = [
        f"{len(errata)} statements that are not so as printed, each with the smallest counterexample that we know. "
        f"{kinds}.",
        f'<div class="box"><table>{head}{rows}</table></div>',
    ]
    for erratum in errata:
        blocks += _section(erratum, found)
    return "\n\n".join(blocks)


def _section(erratum: Erratum, found: pd.DataFrame) -> list[str]:
    parts = {
        "Printed": typeset(erratum.printed),
        "Why it is not so": prose(erratum.why),
        "Counterexample": _refutation(erratum.counterexample),
        "True instead": prose(erratum.corrected),
        "Measured": _measured(erratum, found),
    }
    told = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in parts.items() if text)
    heading = f"## {erratum.paper}, {erratum.place}: {erratum.kind} {{#{erratum.id.lower()}}}"
    return [heading, f'<dl class="erratum">{told}</dl>']


def _numbers(case: Counterexample | None) -> str:
    """What the print allows, and what is so."""
    if case is None:
        return ""
    return f'{case.relation} {number(case.printed)}, but <span class="fails">{number(case.measured)}</span>'


def _refutation(case: Counterexample | None) -> str:
    if case is None:
        return ""
    return f"{prose(case.statement)} Printed: {case.relation} {number(case.printed)}. " + (
        f'It is <span class="fails">{number(case.measured)}</span>.'
    )


def _measured(erratum: Erratum, found: pd.DataFrame) -> str:
    """The claims that measure it, with their verdicts counted."""
    parts = []
    for name in erratum.claims:
        own = found[(found["claim"] == name) & (found["verdict"] != "not run")]
        counts = own["verdict"].value_counts()
        told = ", ".join(f"{badge(str(verdict))} {count}" for verdict, count in counts.items()) or "not run yet"
        role = f" ({own['role'].iloc[0]})" if len(own) else ""
        parts.append(f'<a href="claims/{name}.html">{name}</a>{role}: {told}')
    return "; ".join(parts) or "no claim measures it"
