"""The claims: one list of all verdicts, and a page for each claim with its evidence."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.config import commands
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.control import KINDS, NegativeControl
from sketchbench.report.claim.page import ROLES, measured
from sketchbench.report.evidence.outcomes import Scale, read_outcomes
from sketchbench.report.evidence.provenance import dated, last_commit, made_with
from sketchbench.report.evidence.statistic import WORDS, axis_names, quantities, quantity
from sketchbench.report.table import origin
from sketchbench.site.claim_picture import draw_panels
from sketchbench.site.lists import Column, listing
from sketchbench.site.page import Asset, Page, table_address
from sketchbench.site.verdicts import anchor, badge, claim_files, escape, link, number, prose, typeset

COLUMNS = (
    Column("claim", "Claim", "name of the claim, with a link to its evidence", link="link"),
    Column("place", "Place", "lemma, theorem, table or figure of the paper"),
    Column("method", "Method", "sketch, recovery or compressor that the verdict is about"),
    Column(
        "verdict",
        "Verdict",
        "what the measured interval says of the claim; see How verdicts are made",
        kind="verdict",
    ),
    Column(
        "tightness",
        "Tightness",
        "bound / measured value: at 1 the bound is sharp, at 100 it says little",
        kind="number",
    ),
    Column("paper", "Paper", "paper that states the claim; `ours` where no paper does"),
    Column("role", "Role", "; ".join(f"{role}: {meaning}" for role, meaning in ROLES.items())),
    Column("scale", "Scale", "size of the run; quick: minutes on a laptop; paper: the papers' own sizes"),
    Column("expected", "As expected", "yes, or else the verdict that was expected"),
    Column("statement", "Statement", "the claim in words and formulas"),
    Column("study", "Study", "studies whose tables the verdict is made from"),
)
# The search skips these sections; it finds a claim by its statement and reasons.
UNFOUND = "{ data-search-exclude }"
ANY = "METHOD"
NO_TABLES = "<p>The tables of its studies have not been made.</p>"
INTRODUCTION = """\
All verdicts, one row for each claim and method. Type into the head of a column to filter the list. The address of the
page keeps the filter, so that you can share what you see. The name of a claim leads to its evidence."""
READING = """\
Each horizontal line is a confidence interval, and the mark on it is the measured value: ● holds, × fails, ○ remains
open. The vertical line is the bound or the exact value; a shaded side is the side that the claim allows. ◇ is the
**negative control**: something that the claim is not about, which must therefore fail."""


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The list of all verdicts, then the claims in their order."""
    claims = read_claims(claim_files(conf))
    outcomes = pd.concat([read_outcomes(scale) for scale in scales], ignore_index=True)
    yield Page("claims.md", "Claims", f"{INTRODUCTION}\n\n{_verdict_list(claims, outcomes)}")
    for index, claim in enumerate(claims):
        beside = [claims[place].id for place in (index - 1, index + 1) if 0 <= place < len(claims)]
        yield Page(f"claims/{claim.id}.md", f"{claim.id}: {claim.place}", _claim(claim, outcomes, scales, conf, beside))


def _verdict_list(claims: Sequence[Claim], outcomes: pd.DataFrame) -> str:
    statements = {claim.id: claim.statement for claim in claims}
    rows: list[dict[str, Any]] = [
        {
            **{str(name): value for name, value in row.items()},
            "statement": statements.get(row["claim"], ""),
            "method": row["label"] or row["method"],
            "expected": row["expected"] if row["surprise"] else "yes",
            "link": link(row),
        }
        for row in outcomes.to_dict("records")
    ]
    roles = list(ROLES)
    rows.sort(key=lambda row: (row["verdict"] == "not run", row["scale"] != "quick", roles.index(row["role"])))
    return listing("claims", COLUMNS, rows)


def _claim(claim: Claim, outcomes: pd.DataFrame, scales: Sequence[Scale], conf: Path, beside: Sequence[str]) -> str:
    every = outcomes[outcomes["claim"] == claim.id]
    own = every[every["verdict"] != "not run"]
    run = [scale for scale in scales if (own["scale"] == scale.name).any()]
    about = f"{claim.paper} · {claim.place} · {claim.role}: {ROLES[claim.role]}"
    blocks = [
        f'<p class="meta">{escape(about)}</p>',
        f'<blockquote class="statement">{typeset(claim.statement) or "No statement."}</blockquote>',
        *(_counts(own, scale) for scale in run),
        *_surprises(own),
    ]
    if not run:
        why = "; ".join(sorted(set(filter(None, every["case"])))) or "its studies have not been run"
        blocks.append(f"<p><strong>Not run yet</strong>: {prose(why)}.</p>")
    blocks += _evidence(claim, own, run)
    blocks += _table(own)
    blocks += ["## Why this verdict is expected", f"<p>{prose(claim.reason) or 'No reason is given.'}</p>"]
    blocks += [f"<p>At the scale {name}: {prose(other.reason)}</p>" for name, other in claim.scales.items()]
    blocks += [f"## How the claim is measured {UNFOUND}", _checks(claim, scales)]
    blocks += [f"## Repeat the measurement {UNFOUND}", *_again(claim, own, run or scales[:1], conf)]
    sources = "".join(_sources(scale, claim.studies) for scale in run)
    blocks += [
        f"## Which code and machine measured it {UNFOUND}",
        sources or "<p>The tables of its studies have not been made.</p>",
    ]
    around = " · ".join(f'<a href="{name}.html">{name}</a>' for name in beside)
    blocks.append(f'<p class="meta"><a href="../claims.html">All claims</a> · {around}</p>')
    return "\n\n".join(blocks)


def _counts(own: pd.DataFrame, scale: Scale) -> str:
    """One line with the number of each verdict at a scale."""
    counts = own.loc[own["scale"] == scale.name, "verdict"].value_counts()
    text = "".join(f"<span>{badge(str(verdict))} {count}</span>" for verdict, count in counts.items())
    return f'<p class="counts"><span class="meta">{scale.name}</span>{text}</p>'


def _surprises(own: pd.DataFrame) -> list[str]:
    """The verdicts that are not as expected, in red; a sentence where every verdict is as expected."""
    lines = [
        f"<li>{escape(row['label'])}, {row['scale']}: {badge(row['verdict'])}, expected {row['expected']}</li>"
        for row in own[own["surprise"].astype(bool)].to_dict("records")
    ]
    if lines:
        return [f'<div class="alarm"><strong>Surprises</strong><ul>{"".join(lines)}</ul></div>']
    return [] if own.empty else ['<p class="meta">All verdicts are as expected.</p>']


def _evidence(claim: Claim, own: pd.DataFrame, run: Sequence[Scale]) -> list[str]:
    """A picture of the intervals for each scale."""
    names = axis_names(claim.checks)
    parts = []
    for scale in run:
        rows: Sequence[Mapping[Any, Any]] = own[own["scale"] == scale.name].to_dict("records")
        if picture := draw_panels(rows, names, f"{claim.id}, {scale.name}"):
            parts += [f"<p><strong>{scale.name}</strong></p>", picture]
    return [f"## Evidence {UNFOUND}", READING, *parts] if parts else []


def _table(own: pd.DataFrame) -> list[str]:
    """A table with a row for each method and scale; the scales of a method stand below one another."""
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
    controls = []
    for kind in KINDS:
        verdict = f": {badge(row[f'{kind}_verdict'])} {measured(row, kind)}" if row[f"{kind}_verdict"] else ""
        controls += [f"{'near miss, ' if kind == 'near_miss' else ''}{escape(row[kind])}{verdict}"] if row[kind] else []
    both = "<br>".join(controls)
    tightness = " to ".join(dict.fromkeys(number(row[name], 3) for name in ("tightness", "loosest")))
    interval = f"[{number(row['low'])}, {number(row['high'])}]"
    cells = (
        *(escape(row["label"] or row["method"]), row["scale"], badge(row["verdict"]), row["expected"]),
        *(number(row["statistic"]), interval, number(row["bound"]), number(row["slack"], 2)),
        *(tightness.removesuffix(" to "), f"{row['trials']:,.0f}" if row["trials"] == row["trials"] else ""),
    )
    plain = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{place}>{plain}<td class="wide">{typeset(row["case"])}</td><td class="wide">{both}</td></tr>'


def _checks(claim: Claim, scales: Sequence[Scale]) -> str:
    """The checks in words, each with its statistic, unit, rows and studies; the negative controls; the data."""
    items = []
    for check in claim.checks:
        what, holds = WORDS[check.criterion]
        selected = [(name, quantity(name)) for name in quantities(check)]
        defined = "; ".join(
            f"<code>{name}</code>, {typeset(each.meaning)}{f' [{escape(each.unit)}]' if each.unit else ''}"
            for name, each in selected
        )
        others = {name: value for name, value in check.where.items() if name != "quantity"}
        rows = f", where {escape(', '.join(f'{name} = {_alternatives(v)}' for name, v in others.items()))}"
        studies = ", ".join(_study(name, scales) for name in check.studies)
        over = f" over {check.settings.over}" if check.criterion == "growth" else ""
        items.append(
            f"<li><strong>{what}{over}</strong> of {defined or 'the loss'}{rows if others else ''}. "
            f"The check (<code>{check.criterion}</code>) holds where {holds}. Studies: {studies}.</li>"
        )
    text = _controls("Negative control", claim.controls) or "<p>No negative control yet.</p>"
    text += _controls("Near miss, which violates the hypothesis by a small factor", claim.near_misses)
    return f"<ul>{''.join(items)}</ul>{text}<p>Data: {escape(claim.dataset)}.</p>"


def _controls(name: str, controls: Mapping[str, NegativeControl]) -> str:
    """A list of controls, by method; "" for none."""
    items = [
        f"<li>{'' if method == 'default' else f'of {escape(method)}: '}{prose(control.reason or control.name)}</li>"
        for method, control in controls.items()
    ]
    return f"<p>{name}:</p><ul>{''.join(items)}</ul>" if items else ""


def _alternatives(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def _study(name: str, scales: Sequence[Scale]) -> str:
    """The name of a study, with links to its tables."""
    available = [scale.name for scale in scales if (scale.reports / "tables" / f"{name}.csv").is_file()]
    links = ", ".join(f'<a href="../{table_address(name, scale)}">{scale}</a>' for scale in available)
    return f"{name} ({links})" if links else name


def _again(claim: Claim, own: pd.DataFrame, run: Sequence[Scale], conf: Path) -> list[str]:
    """The commands that make the verdicts again, print the evidence in a terminal, and repeat single runs."""
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
        text = f"The single run behind each verdict; write the name of a method in the place of {ANY}:"
        blocks.append(f"{text}\n\n```text\n{chr(10).join(lines)}\n```")
    return blocks


def _sources(scale: Scale, studies: Sequence[str]) -> str:
    """A table in HTML: commits and settings of the tables of these studies; "" where no table is there.

    Raises SealError where the seal of one is damaged.
    """
    rows = "".join(_source(scale, study) for study in studies)
    head = "<tr><th>scale</th><th>table</th><th>commit of the code</th><th>made with</th></tr>"
    return f'<div class="box"><table>{head}{rows}</table></div>' if rows else ""


def _source(scale: Scale, study: str) -> str:
    table = scale.reports / "tables" / f"{study}.csv"
    if not table.is_file():
        return ""
    link = f'<a href="../{table_address(study, scale.name)}">{study}</a>'
    texts = [dated(origin.commits_of(table) or last_commit(table)), made_with(table)]
    return f"<tr><td>{scale.name}</td><td>{link}</td>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
