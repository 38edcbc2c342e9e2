"""A page for each frontier on a user's data and network: do the findings on digits transfer?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.frontier import TRAINING
from sketchbench.report.frontier.cells import read
from sketchbench.report.site import figures, frontier
from sketchbench.report.site.lists import listing
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.verdicts import badge, escape, number, prose, row_of, table_of
from sketchbench.report.table.reading import read_table

CAPTION = """\
Test error after training over the bytes that a client sends, receives, and both, in a round. A large marker: no other
compressor takes as few of these bytes and is more accurate, beyond both intervals."""


def pages(own: Sequence[ReportedScale], ours: ReportedScale, conf: Path) -> Iterator[Page | Asset]:
    """The pages of a user's own frontiers, with their pictures; `ours` are the project's verdicts."""
    for scale in own:
        measured = read(scale.reports / "frontier.csv", scale.name).assign(scale=scale.name)
        measured = measured[measured["accuracy"].notna()]
        rows, picture = transfer.beside(scale, ours, conf), figures.asset(scale, TRAINING)
        yield picture
        blocks = [
            _size(scale),
            "## Do the findings transfer?",
            transfer.transfers(rows),
            _verdicts(rows),
            "## Figure",
            figures.figure_html(picture, TRAINING, scale, CAPTION),
            "## Compare budgets",
            *frontier.budgets(measured),
            "## All measurements",
            listing(f"frontier_{scale.name}", frontier.columns(measured), measured.to_dict("records")),
            f"Repeat it: `{transfer.command(scale)}`",
        ]
        yield Page(f"frontier-{scale.name}.md", f"Compressors on {scale.name}", "\n\n".join(blocks))


def _size(scale: ReportedScale) -> str:
    """The trainings in a sentence."""
    table = read_table(scale.reports / "tables" / f"{TRAINING}.csv", "table", scale=scale.name)
    rows = table[(table[Column.QUANTITY] == "accuracy") & table[Column.MEAN].notna()]
    budgets = ", ".join(f"1/{one:g}" for one in sorted(rows[Column.COMPRESSION].unique()) if one > 1)
    rounds, trials, d = (int(rows[name].iloc[0]) for name in (Column.ROUNDS, Column.TRIALS, Column.D))
    return (
        f"{rows[Column.METHOD].nunique()} methods on a network of {d:,} parameters, each in {trials} trainings of "
        f"{rounds} rounds, at {budgets} of the bytes; clients: {' and '.join(rows[Column.CASE].unique())}. No privacy."
    )


def _verdicts(rows: pd.DataFrame) -> str:
    """The findings with both verdicts, as a table."""
    lines = []
    for row in rows.to_dict("records"):
        interval = f"{number(row['statistic'])} in [{number(row['low'])}, {number(row['high'])}]"
        more = "" if pd.isna(row["statistic"]) else f"<br>{interval}, bound {number(row['bound'])}"
        name = f'<a href="claims/{row["claim"]}.html">{row["claim"]}</a>'
        here, there = f"{badge(row['here'])}{more}", badge(row["there"])
        cells = (f"{name} {prose(row['statement'])}", escape(row["label"]), there, here)
        lines.append(row_of(cells))
    return table_of(("finding", "method", "on digits", "here"), lines)
