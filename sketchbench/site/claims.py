"""The claims: one list of all verdicts, and a page for each claim with its evidence."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.config import commands
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.page import ROLES
from sketchbench.report.evidence.statistic import WORDS, axis_names, quantities, quantity
from sketchbench.site import provenance, verdicts
from sketchbench.site.claim_picture import drawn
from sketchbench.site.lists import Column, listing
from sketchbench.site.page import Asset, Page, Scale, table_address
from sketchbench.site.verdicts import anchor, badge, claim_files, escaped, link, number, prose, typeset

COLUMNS = (
    Column("claim", "Claim", "the name of the claim; it leads to the evidence", link="link"),
    Column("place", "Place", "lemma, theorem, table or figure of the paper"),
    Column("method", "Method", "the sketch, recovery or compressor that the verdict is on"),
    Column("verdict", "Verdict", "what follows from the measured interval; see How verdicts are made", kind="verdict"),
    Column("tightness", "Tightness", "the bound over what was measured: 1 is sharp, 100 says little", kind="number"),
    Column("paper", "Paper", "where the statement is from; `ours` for what no paper says"),
    Column("role", "Role", "; ".join(f"{role}: {meaning}" for role, meaning in ROLES.items())),
    Column("scale", "Scale", "quick: minutes on a laptop; paper: the papers' own sizes"),
    Column("expected", "As expected", "yes, or the verdict that was expected in its place"),
    Column("statement", "Statement", "what is claimed"),
    Column("study", "Study", "what was run for it"),
)
# What the search leaves out of a page: it finds a claim by its statement and reasons.
UNFOUND = "{ data-search-exclude }"
ANY = "METHOD"
INTRODUCTION = """\
Every verdict, one row for each claim and method. Type into a column to filter it; the address keeps the filter, so that
a link leads to what you see. A claim's name leads to its evidence."""
READING = """\
A line is a confidence interval, its mark what was measured: ● holds, × fails, ○ remains open. The vertical line is the
value that it is held against; where a side is shaded, that side is allowed. ◇ is the **negative control**, which the
claim does not speak of and which must therefore fail."""


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The list of all verdicts, then the claims in their order."""
    claims = read_claims(claim_files(conf))
    found = pd.concat([verdicts.read(scale) for scale in scales], ignore_index=True)
    yield Page("claims.md", "Claims", f"{INTRODUCTION}\n\n{_listed(claims, found)}")
    for index, claim in enumerate(claims):
        beside = [claims[place].id for place in (index - 1, index + 1) if 0 <= place < len(claims)]
        yield Page(f"claims/{claim.id}.md", f"{claim.id}: {claim.place}", _claim(claim, found, scales, conf, beside))


def _listed(claims: Sequence[Claim], found: pd.DataFrame) -> str:
    statements = {claim.id: claim.statement for claim in claims}
    rows: list[dict[str, Any]] = [
        {
            **{str(name): value for name, value in row.items()},
            "statement": statements.get(row["claim"], ""),
            "method": row["label"] or row["method"],
            "expected": row["expected"] if row["surprise"] else "yes",
            "link": link(row),
        }
        for row in found.to_dict("records")
    ]
    roles = list(ROLES)
    rows.sort(key=lambda row: (row["verdict"] == "not run", row["scale"] != "quick", roles.index(row["role"])))
    return listing("claims", COLUMNS, rows)


def _claim(claim: Claim, found: pd.DataFrame, scales: Sequence[Scale], conf: Path, beside: Sequence[str]) -> str:
    every = found[found["claim"] == claim.id]
    own = every[every["verdict"] != "not run"]
    run = [scale for scale in scales if (own["scale"] == scale.name).any()]
    about = f"{claim.paper} · {claim.place} · {claim.role}: {ROLES[claim.role]}"
    blocks = [
        f'<p class="meta">{escaped(about)}</p>',
        f'<blockquote class="statement">{typeset(claim.statement) or "No statement."}</blockquote>',
        *(_counted(own, scale) for scale in run),
        *_surprises(own),
    ]
    if not run:
        why = "; ".join(sorted(set(filter(None, every["case"])))) or "its studies have not been run"
        blocks.append(f"<p><strong>Not run yet</strong>: {prose(why)}.</p>")
    blocks += _evidence(claim, own, run)
    blocks += _table(own)
    blocks += ["## Why it is expected so", f"<p>{prose(claim.reason) or 'No reason is given.'}</p>"]
    blocks += [f"<p>At the scale {name}: {prose(other.reason)}</p>" for name, other in claim.scales.items()]
    blocks += [f"## How it is measured {UNFOUND}", _measured(claim, scales)]
    blocks += [f"## Make it again {UNFOUND}", *_again(claim, own, run or scales[:1], conf)]
    sources = "".join(provenance.section(scale, claim.studies) for scale in run)
    blocks += [f"## Where it comes from {UNFOUND}", sources or "<p>No table of its studies is there.</p>"]
    around = " · ".join(f'<a href="{name}.html">{name}</a>' for name in beside)
    blocks.append(f'<p class="meta"><a href="../claims.html">All claims</a> · {around}</p>')
    return "\n\n".join(blocks)


def _counted(own: pd.DataFrame, scale: Scale) -> str:
    """The verdicts of a scale in a line."""
    counts = own.loc[own["scale"] == scale.name, "verdict"].value_counts()
    told = "".join(f"<span>{badge(str(verdict))} {count}</span>" for verdict, count in counts.items())
    return f'<p class="counts"><span class="meta">{scale.name}</span>{told}</p>'


def _surprises(own: pd.DataFrame) -> list[str]:
    """What is not as expected, in red; or that all is, in plain words."""
    lines = [
        f"<li>{escaped(row['label'])}, {row['scale']}: {badge(row['verdict'])}, expected {row['expected']}</li>"
        for row in own[own["surprise"].astype(bool)].to_dict("records")
    ]
    if lines:
        return [f'<div class="alarm"><strong>Surprises</strong><ul>{"".join(lines)}</ul></div>']
    return [] if own.empty else ['<p class="meta">As this project expects: no surprises.</p>']


def _evidence(claim: Claim, own: pd.DataFrame, run: Sequence[Scale]) -> list[str]:
    """A picture for each scale."""
    names = axis_names(claim.checks)
    parts = []
    for scale in run:
        rows: Sequence[Mapping[Any, Any]] = own[own["scale"] == scale.name].to_dict("records")
        if picture := drawn(rows, names, f"{claim.id}, {scale.name}"):
            parts += [f"<p><strong>{scale.name}</strong></p>", picture]
    return [f"## Evidence {UNFOUND}", READING, *parts] if parts else []


def _table(own: pd.DataFrame) -> list[str]:
    """A row for each method and scale: the scales of a method below one another."""
    if own.empty:
        return []
    names = (
        *("method", "scale", "verdict", "expected", "statistic", "interval", "held against", "slack", "tightness"),
        *("trials", "deciding case", "negative control"),
    )
    head = "".join(f"<th>{name}</th>" for name in names)
    rows, seen = [], set()
    order = own.assign(place=own["scale"].map({"quick": 0, "paper": 1})).sort_values(["method", "place"], kind="stable")
    for row in order.to_dict("records"):
        place = anchor(row)
        rows.append(_table_row(row, "" if place in seen else f' id="{place}"'))
        seen.add(place)
    return [f"## Verdicts by method {UNFOUND}", f'<div class="box"><table><tr>{head}</tr>{"".join(rows)}</table></div>']


def _table_row(row: Mapping[Any, Any], place: str) -> str:
    control = escaped(row["negative_control"])
    if row["negative_control_verdict"]:
        control += f": {badge(row['negative_control_verdict'])} {number(row['negative_control_statistic'])}"
    interval = f"[{number(row['low'])}, {number(row['high'])}]"
    cells = (
        *(escaped(row["label"] or row["method"]), row["scale"], badge(row["verdict"]), row["expected"]),
        *(number(row["statistic"]), interval, number(row["bound"]), number(row["slack"], 2)),
        *(number(row["tightness"], 3), f"{row['trials']:,.0f}" if row["trials"] == row["trials"] else ""),
    )
    plain = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{place}>{plain}<td class="wide">{typeset(row["case"])}</td><td class="wide">{control}</td></tr>'


def _measured(claim: Claim, scales: Sequence[Scale]) -> str:
    """The checks in words, each with its statistic and unit, its rows and its studies; data; negative controls."""
    items = []
    for check in claim.checks:
        what, holds = WORDS[check.criterion]
        found = [(name, quantity(name)) for name in quantities(check)]
        defined = "; ".join(
            f"<code>{name}</code>, {typeset(known.meaning)}{f' [{escaped(known.unit)}]' if known.unit else ''}"
            for name, known in found
        )
        others = {name: value for name, value in check.where.items() if name != "quantity"}
        rows = f", where {escaped(', '.join(f'{name} = {_listed_values(v)}' for name, v in others.items()))}"
        studies = ", ".join(_study(name, scales) for name in check.studies)
        over = f" over {check.settings.over}" if check.criterion == "growth" else ""
        items.append(
            f"<li><strong>{what}{over}</strong> of {defined or 'the loss'}{rows if others else ''}. "
            f"The check (<code>{check.criterion}</code>) holds where {holds}. Studies: {studies}.</li>"
        )
    controls = [
        f"<li>{'' if name == 'default' else f'of {escaped(name)}: '}{prose(control.reason or control.name)}</li>"
        for name, control in claim.controls.items()
    ]
    told = f"<p>Negative control:</p><ul>{''.join(controls)}</ul>" if controls else "<p>No negative control yet.</p>"
    return f"<ul>{''.join(items)}</ul>{told}<p>Data: {escaped(claim.dataset)}.</p>"


def _listed_values(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def _study(name: str, scales: Sequence[Scale]) -> str:
    """A study with links to its tables."""
    there = [scale.name for scale in scales if (scale.reports / "tables" / f"{name}.csv").is_file()]
    links = ", ".join(f'<a href="../{table_address(name, scale)}">{scale}</a>' for scale in there)
    return f"{name} ({links})" if links else name


def _again(claim: Claim, own: pd.DataFrame, run: Sequence[Scale], conf: Path) -> list[str]:
    """The commands that make the rows again: all of them, one in the terminal, and single runs."""
    lines = [commands.workflow(scale.name, claim.studies) for scale in run]
    blocks = [f"```bash\n{chr(10).join([*lines, f'sketchbench show {claim.id}'])}\n```"]
    grouped: dict[str, list[str]] = {}
    for row in own[own["scale"] == "quick"].to_dict("records"):
        if command := commands.single_run(conf, row["scale"], row, ANY):
            grouped.setdefault(command, []).append(row["method"])
    if grouped:
        lines = []
        for command, methods in grouped.items():
            lines += [f"# {', '.join(methods)}"] if len(methods) > 1 else []
            lines.append(command if len(methods) > 1 else command.replace(ANY, methods[0]))
        text = f"The run behind each verdict alone, with a method in the place of {ANY}:"
        blocks.append(f"{text}\n\n```text\n{chr(10).join(lines)}\n```")
    return blocks
