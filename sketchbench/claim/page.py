"""The page of claims: Markdown to read on a code host, HTML for the report."""

from typing import Any

import pandas as pd

from sketchbench.claim.evaluate import FAMILY_WISE_ERROR, Claim
from sketchbench.measure.row import Column

MARKS = {"holds": "✓", "fails": "✗", "inconclusive": "~", "not run": "–"}
COLOURS = {"holds": "#d9f0e3", "fails": "#fbe0d5", "inconclusive": "#fdf3cf", "not run": "#eee"}
EXPLANATION = """\
A verdict is **holds**, **fails** or **inconclusive** (the interval straddles the bound), from the
comparison that decides it: of all pairs, sizes and lemmas of a method, the one with the least slack.
Bound is the value that the statistic is held against: what the paper allows, or for an equality the exact
value. Slack is the distance from the interval to the bound, relative to the bound (for an equality: how far
inside its interval the exact value lies, 1 in the middle, 0 at the edge); negative is outside. What is
computed and not measured has no trials, and its interval is the number. An audit's statistic is what was
proven, a lower bound."""


def summary(claims: list[Claim], verdicts: pd.DataFrame) -> list[dict[str, str]]:
    """One line per claim: its verdicts counted, and whether all are the expected ones."""
    lines = []
    for claim in claims:
        rows = verdicts[verdicts["claim"] == claim.id]
        counts = rows["verdict"].value_counts()
        told = ", ".join(f"{MARKS[v]} {v} {counts[v]}" for v in MARKS if v in counts)
        surprises = rows[(rows["verdict"] != rows["expected"]) & (rows["verdict"] != "not run")]
        lines.append(
            {
                "claim": claim.id,
                "paper": f"{claim.paper}, {claim.place}",
                "statement": claim.statement,
                "verdicts": told,
                "as expected": "yes" if surprises.empty else ", ".join(surprises[Column.LABEL]),
            }
        )
    return lines


def details(claim: Claim, verdicts: pd.DataFrame) -> list[dict[str, str]]:
    """One line per method of a claim."""
    lines = []
    for row in verdicts[verdicts["claim"] == claim.id].to_dict("records"):
        if row["verdict"] == "not run":
            continue
        lines.append(
            {
                "method": row[Column.LABEL],
                "verdict": f"{MARKS[row['verdict']]} {row['verdict']}",
                "expected": row["expected"],
                "statistic": f"{row['statistic']:.4g}",
                "interval": f"[{row['low']:.4g}, {row['high']:.4g}]",
                "bound": f"{row[Column.BOUND]:.4g}",
                "slack": f"{row['slack']:.2f}" if abs(row["slack"]) < 1e4 else f"{row['slack']:.0e}",
                "case": row[Column.CASE],
                "trials": f"{row[Column.TRIALS]:,.0f}",
            }
        )
    return lines


def facts_line(facts: dict[str, Any], comparisons: int) -> str:
    each = FAMILY_WISE_ERROR / max(comparisons, 1)
    return (
        f"Scale `{facts['scale']}`, seed {facts[Column.SEED]}, {facts['kernels']} kernels. "
        f"{comparisons:,} comparisons share a family-wise error rate of {FAMILY_WISE_ERROR:g}: "
        f"{each:.2g} for each interval."
    )


def markdown(claims: list[Claim], verdicts: pd.DataFrame, facts: dict[str, Any], comparisons: int) -> str:
    """The page as Markdown."""
    parts = ["# Claims and verdicts", facts_line(facts, comparisons), EXPLANATION]
    parts.append(_table(summary(claims, verdicts)))
    for claim in claims:
        parts.append(f"## {claim.id}: {claim.statement}")
        parts.append(f"{claim.paper}, {claim.place}. Data: {claim.dataset}.")
        if claim.reason:
            parts.append(claim.reason)
        lines = details(claim, verdicts)
        parts.append(_table(lines) if lines else "Not run.")
    if facts["skipped"]:
        parts.append("## Left out")
        parts.append("\n".join(f"- {s}: {name}: {why}" for s, name, why in facts["skipped"]))
    return "\n\n".join(parts) + "\n"


def html(claims: list[Claim], verdicts: pd.DataFrame, facts: dict[str, Any], comparisons: int) -> str:
    """The page as a self-contained HTML document."""
    parts = [
        '<!doctype html><meta charset="utf-8"><title>Claims and verdicts</title>',
        "<style>body{font:14px/1.5 sans-serif;margin:1.5em;max-width:75em}",
        "table{border-collapse:collapse;margin:.5em 0 1.5em}",
        "td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:left}",
        "td:first-child{white-space:nowrap}",
        "th{background:#f3f3f3}h2{font-size:1.1em;margin-bottom:.2em}</style>",
        f"<h1>Claims and verdicts</h1><p>{facts_line(facts, comparisons).replace('`', '')}</p>",
        f"<p>{EXPLANATION.replace('**', '')}</p>",
        _html_table(summary(claims, verdicts)),
    ]
    for claim in claims:
        parts.append(f"<h2>{claim.id}: {_escape(claim.statement)}</h2>")
        parts.append(f"<p>{claim.paper}, {claim.place}. Data: {claim.dataset}. {claim.reason}</p>")
        parts.append(_html_table(details(claim, verdicts)))
    return "\n".join(parts) + "\n"


def _table(lines: list[dict[str, str]]) -> str:
    names = list(lines[0])
    rows = [names, ["---"] * len(names)] + [[line[n] for n in names] for line in lines]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows)


def _html_table(lines: list[dict[str, str]]) -> str:
    if not lines:
        return "<p>Not run.</p>"
    head = "".join(f"<th>{name}</th>" for name in lines[0])
    body = []
    for line in lines:
        cells = []
        for value in line.values():
            verdict = value.partition(" ")[2] if value[:1] in MARKS.values() else ""
            colour = COLOURS.get(verdict.split(",")[0])
            style = f' style="background:{colour}"' if colour else ""
            cells.append(f"<td{style}>{_escape(value)}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
