"""The page that ranks attacks: in how many settings each of them comes nearest to the images."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site.page import Asset, Page, table_address
from sketchbench.report.site.verdicts import escape, number, row_of, table_of
from sketchbench.report.table.reading import read_table

STUDIES = ("frontier_leakage", "leakage_limits")
LEAD = "own_lead"  # the quantity of each attack's mean lead
SETTING = (Column.METHOD, Column.COMPRESSION, Column.CASE, Column.ROUND, Column.BATCH, Column.LOCAL_STEPS)
TEXTS = ("attack", "knows")
HEAD = ("attack", "knows, beside network, compressor and labels", "best in", "of settings", "mean lead there, dB")
TEXT = """\
A setting is a compressor, a budget of bytes, and what the attacker sees: messages of one client or their sum, one round
or several, one image or a batch, networks before or after training. An attack is best in a setting if its images are
nearest to the victims' on average. The lead of an attack is its PSNR minus that of the mean image of the class.

The name of an attack leads to its rows in the first table, each with its setting. `sketchbench run
task=frontier_leakage compressor=srht` repeats those of SRHT.

[The list of attacks](docs/attacks.md) says how each works. [An attack of your own](docs/howto/attack.md) is scored
beside these by `sketchbench attack`. To find nothing proves nothing: a better attack may."""


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page, with a table for each scale that has attacks; none without any."""
    blocks = []
    for scale in scales:
        found = [(study, path) for study in STUDIES if (path := scale.reports / "tables" / f"{study}.csv").is_file()]
        tables = {study: read_table(path, "table", scale=scale.name) for study, path in found}
        ranked = rank(list(tables.values()))
        if len(ranked):
            links = ", ".join(f"[{study}]({table_address(study, scale.name)})" for study, _ in found)
            rows = [
                row_of(
                    [
                        f'<a href="{_evidence(row["attack"], tables, scale.name)}">{escape(row["attack"])}</a>',
                        *(escape(row["knows"]), row["best"], row["settings"], number(row["lead"], 3)),
                    ]
                )
                for row in ranked.to_dict("records")
            ]
            blocks += [f"## Scale {scale.name}", table_of(HEAD, rows), f"Tables: {links}."]
    if blocks:
        yield Page("ranking.md", "Attacks", "\n\n".join([TEXT, *blocks]))


def _evidence(attack: str, tables: Mapping[str, pd.DataFrame], scale: str) -> str:
    """The address of an attack's rows in the first table that has any."""
    study = next(name for name, table in tables.items() if (table[Column.ATTACK] == attack).any())
    return escape(f"{table_address(study, scale)}&{urlencode({'quantity': LEAD, 'attack': attack})}")


def rank(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The attacks with what they `know`, the number of `settings` that they were tried in and were `best` in, and their
    mean `lead` there, the most successful first; empty without attacks."""
    parts = [table[table[Column.QUANTITY] == LEAD].assign(table=place) for place, table in enumerate(tables)]
    rows = pd.concat(parts) if parts else pd.DataFrame()
    if rows.empty or Column.KNOWS not in rows:
        return pd.DataFrame(columns=["attack", "knows", "best", "settings", "lead"])
    keys = ["table", *(name for name in SETTING if name in rows)]
    best = rows.groupby(keys, dropna=False)[Column.MEAN].transform("max") == rows[Column.MEAN]
    groups = rows.assign(best=best).groupby([Column.ATTACK, Column.KNOWS], sort=False)
    ranked = groups.agg(best=("best", "sum"), settings=("best", "size"), lead=(Column.MEAN, "mean")).reset_index()
    return ranked.sort_values(["best", "lead"], ascending=False, ignore_index=True)
