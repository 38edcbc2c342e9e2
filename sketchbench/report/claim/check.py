"""Check verdicts against the published verdicts, the contract, and, to the last digit, another run."""

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
from sketchbench.report.seal import MANIFEST
from sketchbench.report.table.reading import read_table

NUMBERS = ("statistic", "low", "high", Column.BOUND)
COUNTED = ("comparisons", "missing", "negative_control_rejected")  # what the verdict was made of
DECIDED = ("slack", Column.TRIALS, Column.CASE, "criterion", "study")  # the comparison that decides
VERDICTS = ("claim", "role", Column.LABEL, "verdict", *NUMBERS, *DECIDED, Column.METHOD)  # columns of claims.csv
TEXTS = (Column.METHOD, Column.LABEL, Column.CASE, "criterion", "study", CODE, *COUNTED[1:])  # some of them empty
FILES = ("claims.csv", "claims.md", MANIFEST)
ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
TITLE_ESCAPES = str.maketrans({":": "%3A", ",": "%2C"})


def read_verdicts(path: Path, scale: str | None = None) -> pd.DataFrame:
    """The verified verdicts of a run, of one scale or of any scale; a missing string is "".

    Raises SealError or TableError, in one line, if the report is damaged.
    """
    return _read(path, scale, ("predicted",))


def read_published(path: Path) -> pd.DataFrame:
    """The verified verdicts of an older run, without its predictions; errors as `read_verdicts`."""
    return _read(path, None)


def _read(path: Path, scale: str | None, more: Sequence[str] = ()) -> pd.DataFrame:
    verdicts = read_table(path, "claims", (*VERDICTS, CODE, *more), scale=scale, texts=TEXTS)
    return verdicts.fillna(dict.fromkeys(TEXTS, ""))


def published(reports: Path) -> pd.DataFrame | None:
    """The verdicts of git's HEAD in a directory of reports; None if there are none, or no git.

    Raises SealError or TableError, in one line, if the report is damaged.
    """
    try:
        with of_commit(reports, FILES) as folder:
            return read_published(folder / FILES[0])
    except CommitError:
        return None


class Notice(NamedTuple):
    """A verdict that a person should look at, and the reason in words; a `serious` notice fails a run."""

    claim: str
    method: str
    reason: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.claim} {self.method or 'all methods'}: {self.reason}"


def broken(verdicts: pd.DataFrame) -> list[Notice]:
    """The broken contracts, with the case and the numbers, and the methods whose verdicts are void."""
    notices = []
    for row in gate.broken_contracts(verdicts):
        reason = f"the contract is broken ({row[Column.CASE] or page.ONLY}: {page.numbers(row)})"
        notices.append(Notice(row["claim"], row[Column.LABEL], reason))
    void = verdicts[verdicts["verdict"] == gate.VOID]
    for (label, case), own in void.groupby([Column.LABEL, Column.CASE], sort=False):
        notices.append(Notice("void", str(label), f"{len(own)} verdicts; {case}"))
    return notices


def not_reproduced(compared: Sequence[Compared]) -> list[Notice]:
    """The verdicts that are not reproduced; only verdicts that differ are serious."""
    return [
        Notice(one.claim, one.method, str(one).removeprefix(f"{one.name}: "), one.word == "differs")
        for one in compared
        if one.word in ("weaker", "stronger", "differs")
    ]


def changes(old: pd.DataFrame, new: pd.DataFrame) -> list[Notice]:
    """The verdicts, except on times, that differ from an older run's verdicts or rest on other numbers. Equal numbers
    agree to 6 significant digits."""
    key = ["claim", Column.METHOD]
    both = old.merge(new, on=key, how="outer", suffixes=("", "_new"), indicator=True)
    timed = set(new["claim"][new["predicted"] == ANY])
    counted = [column for column in COUNTED if column in old and column in new]
    found = []
    for row in both[~both["claim"].isin(timed)].to_dict("records"):
        name = (row["claim"], row[Column.METHOD])
        if row["_merge"] != "both":
            found.append(Notice(*name, f"only in the {'older' if row['_merge'] == 'left_only' else 'newer'}"))
        elif row["verdict"] != row["verdict_new"]:
            found.append(Notice(*name, f"{row['verdict_new']}, was {row['verdict']}"))
        else:
            for column in counted:
                if str(row[column]) != str(row[f"{column}_new"]):  # NaN is itself
                    found.append(Notice(*name, f"{column} {row[f'{column}_new']}, was {row[column]}"))
            for column in NUMBERS:
                was, now = row[column], row[f"{column}_new"]
                if not np.isclose(was, now, 1e-6, 1e-9, equal_nan=True):
                    found.append(Notice(*name, f"{column} {page.number(now, 8)}, was {page.number(was, 8)}"))
    return found


def summary(title: str, last: str, found: Sequence[Notice], old: Sequence[str]) -> str:
    """The notices in Markdown, below a title and the last line of a run, and then the `old` lines about verdicts or
    reports of an earlier plan."""
    parts = [f"## {title}", last]
    for heading, serious in (("Failures", True), ("Also", False)):
        if rows := [
            f"| {one.claim} | {one.method} | {one.reason.replace('|', '/')} |"
            for one in found
            if one.serious is serious
        ]:
            parts.append("\n".join([f"### {heading}", "", "| claim | method | |", "|---|---|---|", *rows]))
    if old:
        parts.append("\n".join(["### Not current", "", *(f"- {line}" for line in old)]))
    return "\n\n".join(parts) + "\n"


def annotations(found: Sequence[Notice], old: Sequence[str]) -> Iterator[str]:
    """The notices as one-line commands of GitHub's runners, which show them at the top of a run: errors for serious
    notices, warnings for all else. Commas and colons, which would end a title, are escaped."""
    commands = [("error" if one.serious else "warning", f"{one.claim} {one.method}", one.reason) for one in found]
    for kind, title, text in [*commands, *(("warning", "not current", line) for line in old)]:
        yield f"::{kind} title={title.translate(ESCAPES | TITLE_ESCAPES)}::{text.translate(ESCAPES)}"
