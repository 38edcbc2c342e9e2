"""The page of claims and verdicts: what stands on it, to be rendered by `markup`."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sketchbench.claim.evaluate import FAMILY_WISE_ERROR, Claim
from sketchbench.claim.markup import Block, Bullets, Cell, Heading, Paragraph, Table
from sketchbench.measure.row import Column

TITLE = "Claims and verdicts"
MARKS = {"holds": "✓", "fails": "✗", "inconclusive": "~", "not run": "–"}
COLOURS = {"fails": "#fbe0d5", "inconclusive": "#fdf3cf", "holds": "#d9f0e3", "not run": "#eee"}  # the worst first
EXPLANATION = """\
A verdict is **holds**, **fails** or **inconclusive** (the interval straddles the bound), from the
comparison that decides it: of all pairs, sizes and lemmas of a method, the one with the least slack.
Bound is the value that the statistic is held against: what the paper allows, or for an equality the exact
value. Slack is the distance from the interval to the bound, relative to the bound (for an equality: how far
inside its interval the exact value lies, 1 in the middle, 0 at the edge); negative is outside. What is
computed and not measured has no trials, and its interval is the number. An audit's statistic is what was
proven, a lower bound."""


def content(claims: list[Claim], verdicts: pd.DataFrame, facts: Mapping[str, Any], comparisons: int) -> list[Block]:
    """The blocks of the page: a summary of all claims, a section for each, and what was left out.

    Arguments:
        claims: the claims, in the order of the page.
        verdicts: the table that `evaluate` returns.
        facts: of the run: scale, seed, kernels, and (study, name, reason) of everything `skipped`.
        comparisons: how many comparisons share the family-wise error rate.
    """
    blocks: list[Block] = [
        Heading(TITLE, level=1),
        Paragraph(_facts(facts, comparisons)),
        Paragraph(EXPLANATION),
        _summary(claims, verdicts),
    ]
    for claim in claims:
        blocks += _section(claim, verdicts[verdicts["claim"] == claim.id])
    if facts["skipped"]:
        skipped = [f"{study}: {name}: {reason}" for study, name, reason in facts["skipped"]]
        blocks += [Heading("Left out"), Bullets(skipped)]
    return blocks


def _facts(facts: Mapping[str, Any], comparisons: int) -> str:
    """What the run was, and the error rate of each interval."""
    each = FAMILY_WISE_ERROR / max(comparisons, 1)
    return (
        f"Scale `{facts['scale']}`, seed {facts['seed']}, {facts['kernels']} kernels. "
        f"{comparisons:,} comparisons share a family-wise error rate of {FAMILY_WISE_ERROR:g}: "
        f"{each:.2g} for each interval."
    )


def _summary(claims: list[Claim], verdicts: pd.DataFrame) -> Table:
    """A row for each claim: its verdicts counted, in the colour of the worst, and whether all are as expected."""
    rows = []
    for claim in claims:
        judged = verdicts[verdicts["claim"] == claim.id]
        counts = judged["verdict"].value_counts()
        counted = ", ".join(f"{MARKS[verdict]} {verdict} {counts[verdict]}" for verdict in MARKS if verdict in counts)
        colour = next((COLOURS[verdict] for verdict in COLOURS if verdict in counts), "")
        surprises = judged[(judged["verdict"] != judged["expected"]) & (judged["verdict"] != "not run")]
        rows.append(
            [
                Cell(claim.id),
                Cell(f"{claim.paper}, {claim.place}"),
                Cell(claim.statement),
                Cell(counted, colour),
                Cell("yes" if surprises.empty else ", ".join(surprises[Column.LABEL])),
            ]
        )
    return Table(["claim", "paper", "statement", "verdicts", "as expected"], rows)


def _section(claim: Claim, verdicts: pd.DataFrame) -> list[Block]:
    """A claim, with its verdicts by method."""
    blocks: list[Block] = [
        Heading(f"{claim.id}: {claim.statement}"),
        Paragraph(f"{claim.paper}, {claim.place}. Data: {claim.dataset}."),
    ]
    if claim.reason:
        blocks.append(Paragraph(claim.reason))
    rows = [_details(row) for row in verdicts[verdicts["verdict"] != "not run"].to_dict("records")]
    if not rows:
        return [*blocks, Paragraph("Not run.")]
    columns = ["method", "verdict", "expected", "statistic", "interval", "bound", "slack", "case", "trials"]
    return [*blocks, Table(columns, rows)]


def _details(row: Mapping[Any, Any]) -> list[Cell]:
    """The verdict on one method, with the numbers that it is from."""
    slack = row["slack"]
    return [
        Cell(row[Column.LABEL]),
        Cell(f"{MARKS[row['verdict']]} {row['verdict']}", COLOURS[row["verdict"]]),
        Cell(row["expected"]),
        Cell(f"{row['statistic']:.4g}"),
        Cell(f"[{row['low']:.4g}, {row['high']:.4g}]"),
        Cell(f"{row[Column.BOUND]:.4g}"),
        Cell(f"{slack:.2f}" if abs(slack) < 1e4 else f"{slack:.0e}"),
        Cell(row[Column.CASE]),
        Cell(f"{row[Column.TRIALS]:,.0f}"),
    ]
