"""The page of the history: verdict and tightness of every claim over the commits, with the drifts."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.report.claim.history import read
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.site.lists import ListColumn, listing
from sketchbench.report.site.page import Asset, Page, history_of
from sketchbench.report.site.verdicts import anchor, badge, escape, number, row_of, slug, table_of
from sketchbench.run.config.chapters import claims

DRIFT = 0.1  # a relative change of tightness that is marked
WIDTH, HEIGHT, EDGE = 150, 30, 5  # of a sparkline
SHOWN = 60  # drifts with a picture; the list has all
COLUMNS = (
    ListColumn("claim", "Claim", "name of the claim, with a link to its present evidence", link="link"),
    ListColumn("method", "Method", "method that the verdict is about"),
    ListColumn("scale", "Scale", "size of the run: quick or paper"),
    ListColumn("verdict", "Verdict", "the latest verdict", kind="verdict"),
    ListColumn("drift", "Drift", "verdict: the verdict changed; tightness: it moved by more than 10 % in one step"),
    ListColumn("course", "Course", "all verdicts, the oldest first"),
    ListColumn("tightness", "Tightness", "the latest bound divided by the measured value", kind="number"),
    ListColumn("first", "At first", "the first recorded tightness", kind="number"),
    ListColumn("moved", "Moved", "the latest tightness divided by the first", kind="number"),
    ListColumn("changes", "Changes", "number of commits that changed verdict or tightness", kind="number"),
    ListColumn("since", "Since", "the day of the latest change"),
    ListColumn("commit", "Commit", "the commit of the latest change"),
)
INTRODUCTION = """\
The file `reports/history.csv` records, commit by commit, each changed verdict and each tightness that moved by more
than 0.1 %. A **drift** is a changed verdict, or a tightness that moved by more than 10 % in one step, often because a
study has a new size or a claim has new checks. Comparisons of times have no history."""


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page of the history."""
    history = read(history_of(scales)) if scales else pd.DataFrame()
    yield Page("history.md", "History", _page(history, conf) if len(history) else "No history has been kept yet.")


def _page(history: pd.DataFrame, conf: Path) -> str:
    commits = {commit: place for place, commit in enumerate(dict.fromkeys(history["commit"]))}
    known = claims(conf)
    courses = [_course(rows, known) for _, rows in history.groupby(["claim", "method", "scale"], sort=False)]
    order = {name: place for place, name in enumerate(("verdict, tightness", "verdict", "tightness", ""))}
    courses.sort(key=lambda course: order[course["drift"]])
    drifting = [course for course in courses if course["drift"]]
    latest = history.iloc[-1]
    summary = (
        f"{len(commits)} commits with reports, the latest {latest['commit']} ({latest['date']}). Of {len(courses)} "
        f"courses {len(drifting)} have a drift."
    )
    rows = [_drift(course, commits) for course in drifting[:SHOWN]]
    head = ("claim", "method", "tightness over the commits", "verdicts", "moved")
    table = table_of(head, rows) if rows else "No claim has drifted."
    more = len(drifting) > SHOWN
    note = f" This table has the first {SHOWN} of {len(drifting)} drifts; the list above has all." if more else ""
    blocks = [INTRODUCTION, summary, "## All courses", listing("history", COLUMNS, courses)]
    return "\n\n".join([*blocks, f"## Drifts\n\n{LEGEND}{note}", table])


LEGEND = "Each line is the logarithm of the tightness, and each mark a change: ● holds, × fails, ○ any other verdict."


def _course(rows: pd.DataFrame, claims: Collection[str]) -> dict[str, Any]:
    """A verdict's course over the commits: the cells of its row in the list, and its records."""
    records = rows.to_dict("records")
    verdicts = list(dict.fromkeys(row["verdict"] for row in records))
    numbers = [row["tightness"] for row in records if _positive(row["tightness"])]
    steps = [after / before for before, after in itertools.pairwise(numbers)]
    kinds = ["verdict"] * (len(verdicts) > 1) + ["tightness"] * any(abs(step - 1) > DRIFT for step in steps)
    last = records[-1]
    exists = last["claim"] in claims
    return {
        **{name: last[name] for name in ("claim", "method", "scale", "verdict", "commit")},
        "since": last["date"],
        "drift": ", ".join(kinds),
        "course": " → ".join(row["verdict"] for row in _changes(records)),
        "tightness": numbers[-1] if numbers else math.nan,
        "first": numbers[0] if numbers else math.nan,
        "moved": numbers[-1] / numbers[0] if numbers else math.nan,
        "changes": len(records) - 1,
        "link": f"claims/{last['claim']}.html#{anchor({**last, 'label': ''})}" if exists else None,
        "records": records,
    }


def _changes(records: Sequence[Mapping[Any, Any]]) -> list[Mapping[Any, Any]]:
    """The first row, and each row whose verdict differs from the verdict before."""
    return [row for place, row in enumerate(records) if place == 0 or row["verdict"] != records[place - 1]["verdict"]]


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _drift(course: Mapping[str, Any], commits: Mapping[str, int]) -> str:
    name = escape(f"{course['claim']} ({course['scale']})")
    link = f'<a href="{course["link"]}">{name}</a>' if course["link"] else name
    verdicts = " → ".join(badge(row["verdict"]) for row in _changes(course["records"]))
    moved = f"× {number(course['moved'], 3)}" if _positive(course["moved"]) else ""
    cells = (link, escape(course["method"]), sparkline(course["records"], commits), verdicts, moved)
    return row_of(cells)


def sparkline(records: Sequence[Mapping[Any, Any]], commits: Mapping[str, int]) -> str:
    """The tightness over the commits as a small line, on a logarithmic axis, with a mark at each change.

    `records` are the rows of one claim, method and scale; `commits` has the position of each commit in time, from 0.
    """
    numbers = [math.log(row["tightness"]) for row in records if _positive(row["tightness"])]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    points, y = [], HEIGHT / 2
    for row in records:
        if _positive(row["tightness"]) and high > low:
            y = EDGE + (HEIGHT - 2 * EDGE) * (high - math.log(row["tightness"])) / (high - low)
        points.append((EDGE + (WIDTH - 2 * EDGE) * commits[row["commit"]] / max(len(commits) - 1, 1), y, row))
    line = ""
    for x, y, _ in points:
        line += f"H{x:.1f}V{y:.1f}" if line else f"M{x:.1f} {y:.1f}"
    line += f"H{WIDTH - EDGE}"
    marks = "".join(_mark(x, y, row) for x, y, row in points)
    first, last = (number(records[place]["tightness"], 3) or "none" for place in (0, -1))
    return (
        f'<svg class="sparkline" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="tightness from {first} to {last}"><path class="course" d="{line}"/>{marks}</svg>'
    )


def _mark(x: float, y: float, row: Mapping[Any, Any]) -> str:
    tip = f"{row['date']} {row['commit']}: {row['verdict']}, tightness {number(row['tightness'], 3) or 'none'}"
    shape = (
        f'<circle class="{"disc" if row["verdict"].startswith("holds") else "ring"}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    )
    if row["verdict"] == "fails":
        shape = f'<path class="cross" d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"/>'
    return f'<g class="{slug(row["verdict"])}"><title>{escape(tip)}</title>{shape}</g>'
