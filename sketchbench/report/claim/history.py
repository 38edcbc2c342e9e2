"""The verdicts from commit to commit: reports/history.csv, to which a run adds the verdicts that have changed.

A row has the commit, the verdict and its tightness, where one of the two has changed; so the file stays small, and a
run in which nothing changed leaves it as it is. Verdicts that are not run, and those on times, which differ from
machine to machine, are left out.
"""

import math
from pathlib import Path

import pandas as pd

from sketchbench.base.files import write_text
from sketchbench.base.project import DIRTY, PROJECT, code_commit
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.claim.claims import ANY
from sketchbench.report.table.reading import TableError, read_table

COLUMNS = ("commit", "date", "scale", "claim", Column.METHOD.value, "verdict", "tightness")
PLACES = {"quick": "reports/claims.csv", "paper": "reports/paper/claims.csv"}
FILE = "reports/history.csv"
MOVED = 1e-3  # a relative change of tightness that is worth a row; what machines differ by is far less
FORMAT = ".4g"


def read(path: Path) -> pd.DataFrame:
    """The rows of a history, in the order of the commits; none where there is no file.

    Raises SealError or TableError, in one line, where it does not fit its seal.
    """
    if not path.is_file():
        return pd.DataFrame(columns=list(COLUMNS))
    return read_table(path, "history", COLUMNS, texts=[name for name in COLUMNS if name != "tightness"])


def extend(history: pd.DataFrame, verdicts: pd.DataFrame, scale: str, commit: str, date: str) -> pd.DataFrame:
    """A history, as `read` gives it, with a row more for each verdict of this scale that has changed.

    Rows of the same commit, which has this date, and of code that was not committed, are replaced, so that running
    twice changes nothing. The verdicts need the columns `claim`, `method`, `verdict`, `predicted` and `tightness`.
    """
    stale = (history["scale"] == scale) & ((history["commit"] == commit) | history["commit"].str.endswith(DIRTY))
    kept = history[~stale]
    last = {
        (row["claim"], row[Column.METHOD]): (row["verdict"], row["tightness"])
        for row in kept[kept["scale"] == scale].to_dict("records")
    }
    rows = []
    for row in verdicts.to_dict("records"):
        if row["verdict"] == "not run" or row["predicted"] == ANY:
            continue
        now = (row["verdict"], float(f"{row['tightness']:{FORMAT}}"))  # as it will be read
        if _differs(last.get((row["claim"], row[Column.METHOD])), now):
            rows.append((commit, date, scale, row["claim"], row[Column.METHOD], *now))
    added = pd.DataFrame(rows, columns=list(COLUMNS))
    return pd.concat([part for part in (kept, added) if not part.empty] or [added], ignore_index=True)


def _differs(before: tuple[str, float] | None, now: tuple[str, float]) -> bool:
    if before is None or before[0] != now[0]:
        return True
    both_lack_it = math.isnan(before[1]) and math.isnan(now[1])
    return not both_lack_it and not math.isclose(before[1], now[1], rel_tol=MOVED)


def append(csv: Path, verdicts: pd.DataFrame, scale: str, root: Path = PROJECT) -> list[str]:
    """Add a run's verdicts to the project's history, where `csv` is one of the project's own reports in a checkout;
    reports elsewhere, as of a user's folder, have no history. Returns a line where it is damaged, and so left alone."""
    if scale not in PLACES or csv.resolve() != (root / PLACES[scale]).resolve():
        return []
    path, commit = root / FILE, code_commit(root)
    try:
        history = read(path)
    except (seal.SealError, TableError) as error:
        return [f"the history of verdicts is left alone: {error}"]
    if commit:
        history = extend(history, verdicts, scale, *commit)
        text = history.to_csv(index=False, float_format=f"%{FORMAT}", lineterminator="\n")
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            seal.write("history", "", {}, [path])
    return []
