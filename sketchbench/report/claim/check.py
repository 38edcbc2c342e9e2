"""Compare verdicts with the expected ones, and with those of an older run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim import page
from sketchbench.report.claim.state import CODE
from sketchbench.report.table.reading import read_table

NUMBERS = ("statistic", "low", "high", Column.BOUND)
VERDICTS = ("claim", Column.METHOD, Column.LABEL, "case", "verdict", "expected", *NUMBERS)  # columns of claims.csv
TEXTS = (Column.METHOD, Column.LABEL, Column.CASE, CODE)  # of which some are empty
ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
TITLE_ESCAPES = str.maketrans({":": "%3A", ",": "%2C"})


def read_verdicts(path: Path, scale: str | None = None) -> pd.DataFrame:
    """The verdicts of a run, verified, of a scale or of any; texts without a value are "".

    Raises SealError or TableError, in one line, where they are not whole.
    """
    verdicts = read_table(path, "claims", (*VERDICTS, CODE), scale=scale, texts=TEXTS)
    return verdicts.fillna(dict.fromkeys(TEXTS, ""))


class Finding(NamedTuple):
    """A verdict, of a claim and method, or a number that a person should look at: `what` it is, and the expected or
    earlier one, in words. It is `serious` where another processor's rounding can't explain it."""

    claim: str
    method: str
    what: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.claim} {self.method or 'all methods'}: {self.what}"


def surprises(verdicts: pd.DataFrame) -> list[Finding]:
    """The verdicts that are not the expected ones, with their numbers."""
    return [
        Finding(
            row["claim"],
            row[Column.LABEL],
            f"{row['verdict']}, expected {row['expected']} ({row[Column.CASE] or page.ONLY}: {page.numbers(row)})",
        )
        for row in page.surprising(verdicts).to_dict("records")
    ]


def changes(old: pd.DataFrame, new: pd.DataFrame) -> list[Finding]:
    """The verdicts that differ from an older run's, or that follow from other numbers.

    Numbers are the same where they agree to 6 significant digits. Of two processors they need not: a training or an
    attack amplifies how a sum is rounded. A change of numbers is serious where the bound is another one, or the
    intervals have nothing in common. Where any verdict is expected, as of times, neither it nor its numbers are
    compared.
    """
    key = ["claim", Column.METHOD]
    both = old.merge(new, on=key, how="outer", suffixes=("", "_new"), indicator=True)
    findings = []
    for row in both.to_dict("records"):
        name = (row["claim"], row[Column.METHOD])
        if row["_merge"] != "both":
            findings.append(Finding(*name, f"only in the {'older' if row['_merge'] == 'left_only' else 'newer'}"))
        elif row["expected_new"] == "any":
            continue
        elif row["verdict"] != row["verdict_new"]:
            findings.append(Finding(*name, f"{row['verdict_new']}, was {row['verdict']}"))
        else:
            apart = row["low"] > row["high_new"] or row["low_new"] > row["high"]
            for column in NUMBERS:
                was, now = row[column], row[f"{column}_new"]
                if not np.isclose(was, now, 1e-6, 1e-9, equal_nan=True):
                    what = f"{column} {page.number(now, 8)}, was {page.number(was, 8)}"
                    findings.append(Finding(*name, what, apart or column == Column.BOUND))
    return findings


def summary(title: str, surprising: Sequence[Finding], changed: Sequence[Finding], old: Sequence[str]) -> str:
    """The findings of `surprises` and `changes` in Markdown, under a title with the counts of all verdicts, and then
    the `old` lines, about verdicts or reports that are not of the last plan."""
    parts = [f"## {title}"]
    for heading, findings in (("Surprises", surprising), ("Changed", changed)):
        if findings:
            rows = [f"| {one.claim} | {one.method} | {one.what.replace('|', '/')} |" for one in findings]
            parts.append("\n".join([f"### {heading}", "", "| claim | method | |", "|---|---|---|", *rows]))
    if old:
        parts.append("\n".join(["### Not current", "", *(f"- {line}" for line in old)]))
    if len(parts) == 1:
        parts.append("Everything is as expected.")
    return "\n\n".join(parts) + "\n"


def annotations(surprising: Sequence[Finding], changed: Sequence[Finding], old: Sequence[str]) -> Iterator[str]:
    """The findings as commands of GitHub's runners, which show them at the top of a run: an error for a serious
    finding, a warning for all else. Each is one line; of a title, commas and colons end it."""
    found = (*surprising, *changed)
    commands = [("error" if one.serious else "warning", f"{one.claim} {one.method}", one.what) for one in found]
    for kind, title, text in [*commands, *(("warning", "not current", line) for line in old)]:
        yield f"::{kind} title={title.translate(ESCAPES | TITLE_ESCAPES)}::{text.translate(ESCAPES)}"
