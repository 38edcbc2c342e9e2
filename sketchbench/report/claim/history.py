"""What became of each verdict from commit to commit: reports/history.csv, which a run adds to what has changed.

A row says what a verdict and its tightness were at a commit, where these were not so before; so the file stays small,
and a run in which nothing changed leaves it as it is. Verdicts that are not run, and those on times (expected: any),
which differ from machine to machine, are left out.
"""

import io
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from sketchbench.files import write_text
from sketchbench.measure.column import Column
from sketchbench.project import DIRTY, PROJECT, code_commit, git

COLUMNS = ("commit", "date", "scale", "claim", Column.METHOD.value, "verdict", "tightness")
PLACES = {"quick": "reports/claims.csv", "paper": "reports/paper/claims.csv"}
FILE = "reports/history.csv"
MOVED = 1e-3  # a relative change of tightness that is worth a row; what machines differ by is far less
FORMAT = ".4g"


def read(path: Path) -> pd.DataFrame:
    """The rows of a history, in the order of the commits; none where there is no file."""
    if not path.is_file():
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.read_csv(path, dtype={name: str for name in COLUMNS if name != "tightness"}, keep_default_na=True)


def extended(history: pd.DataFrame, verdicts: pd.DataFrame, scale: str, commit: str, date: str) -> pd.DataFrame:
    """A history with what verdicts change in it.

    Arguments:
        history: as `read` gives it.
        verdicts: with the columns `claim`, `method`, `verdict`, `expected` and `tightness`.
        scale: of the verdicts.
        commit: of the code that they are from; what the history has of it already, and of code that was not committed,
            is replaced, so that running twice changes nothing.
        date: of the commit.
    """
    stale = (history["scale"] == scale) & ((history["commit"] == commit) | history["commit"].str.endswith(DIRTY))
    kept = history[~stale]
    last = {
        (row["claim"], row[Column.METHOD]): (row["verdict"], row["tightness"])
        for row in kept[kept["scale"] == scale].to_dict("records")
    }
    rows = []
    for row in verdicts.to_dict("records"):
        if row["verdict"] == "not run" or row["expected"] == "any":
            continue
        now = (row["verdict"], float(f"{row['tightness']:{FORMAT}}"))  # as it will be read
        if _differs(last.get((row["claim"], row[Column.METHOD])), now):
            rows.append((commit, date, scale, row["claim"], row[Column.METHOD], *now))
    added = pd.DataFrame(rows, columns=list(COLUMNS))
    return pd.concat([part for part in (kept, added) if not part.empty] or [added], ignore_index=True)


def _differs(before: tuple[str, float] | None, now: tuple[str, float]) -> bool:
    if before is None or before[0] != now[0]:
        return True
    if math.isnan(before[1]) or math.isnan(now[1]):
        return math.isnan(before[1]) != math.isnan(now[1])
    return not math.isclose(before[1], now[1], rel_tol=MOVED)


def append(csv: Path, verdicts: pd.DataFrame, scale: str, root: Path = PROJECT) -> None:
    """Add a run's verdicts to the project's history, where `csv` is one of the project's own reports in a checkout;
    reports elsewhere, as of a user's folder, have no history."""
    if scale not in PLACES or csv.resolve() != (root / PLACES[scale]).resolve():
        return
    if commit := code_commit(root):
        _write(root / FILE, extended(read(root / FILE), verdicts, scale, *commit))


def backfill(root: Path = PROJECT) -> None:
    """Write the history anew from the reports of all commits of a checkout. It is needed once:
    `python -c "from sketchbench.report.claim.history import backfill; backfill()"`."""
    history = read(root / "none")
    for commit, date, scale, verdicts in _past(root):
        history = extended(history, verdicts, scale, commit, date)
    _write(root / FILE, history)


def _past(root: Path) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """The commits that changed reports, the first first: name, date, scale and verdicts."""
    for line in (git(root, "log", "--reverse", "--format=%H %cs", "--", *PLACES.values()) or "").splitlines():
        commit, date = line.split()
        changed = (git(root, "show", "--format=", "--name-only", commit) or "").splitlines()
        for scale, place in PLACES.items():
            if place in changed and (text := git(root, "show", f"{commit}:{place}")):
                yield commit[:12], date, scale, _of_old(pd.read_csv(io.StringIO(text)))


def _of_old(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A table of verdicts of any age with today's columns. The method was once `sketch`, then `subject`."""
    name = next(name for name in (Column.METHOD, "sketch", "subject") if name in verdicts)
    verdicts = verdicts.rename(columns={name: Column.METHOD}).dropna(subset=[Column.METHOD, "claim"])
    return verdicts if "tightness" in verdicts else verdicts.assign(tightness=float("nan"))


def _write(path: Path, history: pd.DataFrame) -> None:
    text = history.to_csv(index=False, float_format=f"%{FORMAT}", lineterminator="\n")
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
