"""Check verdicts: against the published ones, the contract, and the verdicts of another run, to the last digit."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim import gate, page
from sketchbench.report.claim.claims import ANY
from sketchbench.report.claim.reproduction import Compared
from sketchbench.report.claim.state import CODE
from sketchbench.report.committed import CommitError, of_commit
from sketchbench.report.table.reading import read_table

NUMBERS = ("statistic", "low", "high", Column.BOUND)
DECIDED = ("slack", Column.TRIALS, Column.CASE, "criterion", "study")  # by which comparison
VERDICTS = ("claim", "role", Column.LABEL, "verdict", *NUMBERS, *DECIDED, Column.METHOD)  # columns of claims.csv
TEXTS = (Column.METHOD, Column.LABEL, Column.CASE, "criterion", "study", CODE)  # of which some are empty
FILES = ("claims.csv", "claims.md", "claims.seal")
ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
TITLE_ESCAPES = str.maketrans({":": "%3A", ",": "%2C"})


def read_verdicts(path: Path, scale: str | None = None) -> pd.DataFrame:
    """The verdicts of a run, verified, of a scale or of any; texts without a value are "".

    Raises SealError or TableError, in one line, where they are not whole.
    """
    return _read(path, scale, ("predicted",))


def read_published(path: Path) -> pd.DataFrame:
    """The same of an older run, of whose predictions nothing is read."""
    return _read(path, None)


def _read(path: Path, scale: str | None, more: Sequence[str] = ()) -> pd.DataFrame:
    verdicts = read_table(path, "claims", (*VERDICTS, CODE, *more), scale=scale, texts=TEXTS)
    return verdicts.fillna(dict.fromkeys(TEXTS, ""))


def published(reports: Path) -> pd.DataFrame | None:
    """The verdicts that git's HEAD has in a folder of reports; None where it has none, or where there is no git.

    Raises SealError or TableError, in one line, where they are not whole.
    """
    try:
        with of_commit(reports, FILES) as folder:
            return read_published(folder / FILES[0])
    except CommitError:
        return None


class Notice(NamedTuple):
    """A verdict, of a claim and method, that a person should look at: `what` it is, in words. It is `serious` where it
    fails a run."""

    claim: str
    method: str
    what: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.claim} {self.method or 'all methods'}: {self.what}"


def broken(verdicts: pd.DataFrame) -> list[Notice]:
    """The contracts that are broken, with the case and the numbers; and the methods whose verdicts are void."""
    rows = verdicts[(verdicts["role"] == gate.ROLE) & (verdicts["verdict"] == "fails")].to_dict("records")
    findings = [
        Notice(
            row["claim"],
            row[Column.LABEL],
            f"the contract is broken ({row[Column.CASE] or page.ONLY}: {page.numbers(row)})",
        )
        for row in rows
    ]
    void = verdicts[verdicts["verdict"] == gate.VOID]
    for (label, case), own in void.groupby([Column.LABEL, Column.CASE], sort=False):
        findings.append(Notice("void", str(label), f"{len(own)} verdicts; {case}"))
    return findings


def findings(compared: Sequence[Compared]) -> list[Notice]:
    """What is not reproduced; only what differs is serious."""
    return [
        Notice(one.claim, one.method, str(one).removeprefix(f"{one.name}: "), one.word == "differs")
        for one in compared
        if one.word in ("weaker", "stronger", "differs")
    ]


def changes(old: pd.DataFrame, new: pd.DataFrame) -> list[Notice]:
    """The verdicts that differ from an older run's, or that follow from other numbers, but for those on times. Numbers
    are the same where they agree to 6 significant digits."""
    key = ["claim", Column.METHOD]
    both = old.merge(new, on=key, how="outer", suffixes=("", "_new"), indicator=True)
    timed = set(new["claim"][new["predicted"] == ANY])
    found = []
    for row in both[~both["claim"].isin(timed)].to_dict("records"):
        name = (row["claim"], row[Column.METHOD])
        if row["_merge"] != "both":
            found.append(Notice(*name, f"only in the {'older' if row['_merge'] == 'left_only' else 'newer'}"))
        elif row["verdict"] != row["verdict_new"]:
            found.append(Notice(*name, f"{row['verdict_new']}, was {row['verdict']}"))
        else:
            for column in NUMBERS:
                was, now = row[column], row[f"{column}_new"]
                if not np.isclose(was, now, 1e-6, 1e-9, equal_nan=True):
                    found.append(Notice(*name, f"{column} {page.number(now, 8)}, was {page.number(was, 8)}"))
    return found


def summary(title: str, last: str, found: Sequence[Notice], old: Sequence[str]) -> str:
    """Findings in Markdown, under a title with the counts of all verdicts and the line that is the last of a run, and
    then the `old` lines, about verdicts or reports that are not of the last plan."""
    parts = [f"## {title}", last]
    for heading, serious in (("Failures", True), ("Also", False)):
        if rows := [
            f"| {one.claim} | {one.method} | {one.what.replace('|', '/')} |" for one in found if one.serious is serious
        ]:
            parts.append("\n".join([f"### {heading}", "", "| claim | method | |", "|---|---|---|", *rows]))
    if old:
        parts.append("\n".join(["### Not current", "", *(f"- {line}" for line in old)]))
    return "\n\n".join(parts) + "\n"


def annotations(found: Sequence[Notice], old: Sequence[str]) -> Iterator[str]:
    """Findings as commands of GitHub's runners, which show them at the top of a run: an error for a serious one, a
    warning for all else. Each is one line; of a title, commas and colons end it."""
    commands = [("error" if one.serious else "warning", f"{one.claim} {one.method}", one.what) for one in found]
    for kind, title, text in [*commands, *(("warning", "not current", line) for line in old)]:
        yield f"::{kind} title={title.translate(ESCAPES | TITLE_ESCAPES)}::{text.translate(ESCAPES)}"
