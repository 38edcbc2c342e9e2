"""The leaderboard: the compressors of each setting, ranked by the bytes of both ways until the target."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import yaml

from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.frontier.cells import MEANINGS, read
from sketchbench.report.site.frontier import NUMBERS
from sketchbench.report.site.lists import Kind, ListColumn, listing
from sketchbench.report.site.page import Asset, Page
from sketchbench.report.site.tables import comment

SETTING = ["scale", "data", "case", "epsilon", "d"]
TARGET = "target_both"
MEASURED = ("accuracy", "leak_server")
TEXT = """\
For each data set, kind of clients and privacy, the compressors are ranked by the bytes that a client sends and receives
until the median training reaches the target: the accuracy without compression, minus 5 %. Each compressor stands at the
budget that takes the fewest bytes. Those that never reach the target come last, without a rank. Intervals hold at once,
except with probability 5 %. The link *measurement* leads to the row, whose last columns have the command that
repeats it; a name leads to the code. Times depend on the machine, and are in the
[benchmarks](figures.md). The [attacks](ranking.md) have a ranking of their own."""


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page; nothing if no frontier was measured."""
    known = [scale for scale in scales if (scale.reports / "frontier.csv").is_file()]
    frames = [read(scale.reports / "frontier.csv", scale.name).assign(scale=scale.name) for scale in known]
    ranked = rank(pd.concat(frames, ignore_index=True)) if frames else pd.DataFrame()
    if len(ranked):
        sources = {name: _source(conf / "compressor" / f"{name}.yaml", conf.parent) for name in set(ranked["method"])}
        rows = [
            {**row, "evidence": "measurement", "measured": _evidence(row), **sources[row["method"]], **_spans(row)}
            for row in ranked.astype(object).to_dict("records")
        ]
        yield Page("leaderboard.md", "Leaderboard", f"{TEXT}\n\n{listing('leaderboard', list(_columns()), rows)}")


def rank(frontier: pd.DataFrame) -> pd.DataFrame:
    """The row of `frontier` with the fewest bytes to the target, or else the most accurate, of each compressor in each
    setting, by setting and `rank`, which is NaN if the target is not reached."""
    rows = frontier[frontier["accuracy"].notna()]
    rows = rows.sort_values([TARGET, "accuracy"], ascending=[True, False], na_position="last", kind="stable")
    best = rows.drop_duplicates([*SETTING, "method"])
    places = best.groupby(SETTING, dropna=False, sort=False)[TARGET].rank(method="min")
    ranked = best.assign(rank=places).sort_values("rank", kind="stable")  # NaN last, and of the settings first
    return ranked.sort_values(SETTING[1:], na_position="first", kind="stable", ignore_index=True)


SHOWN = (
    *("data", "case", "epsilon", "rank", "label", "evidence", TARGET, "accuracy", "accuracy_span", "leak_server"),
    *("leak_server_span", "rounds_to_target", "compression", "client_memory", "server_memory", "scale", "source"),
)
SAID = {
    "rank": "place among the compressors of the same setting",
    "label": "compressor; leads to its code",
    "evidence": "leads to the measurement and its command",
    "scale": "size of the run: quick or paper",
    "source": "what it is, and its paper",
    **{f"{name}_span": f"{MEANINGS[name]}; the ends of its interval" for name in MEASURED},
}
LINKS = {"evidence": "measured", "label": "code"}


def _columns() -> Iterator[ListColumn]:
    for name in SHOWN:
        kind: Kind = "number" if name in {"rank", TARGET, *NUMBERS} else "text"
        meaning = SAID.get(name) or MEANINGS[name]
        yield ListColumn(name, name.replace("_", " "), meaning, kind, LINKS.get(name, ""))


def _evidence(row: dict[Any, Any]) -> str:
    """The address of the row in the list of all measurements."""
    chosen = {name: row[name] for name in ("label", "data", "case", "scale")}
    chosen["compression"] = f"= {row['compression']:g}"
    return f"frontier.html#{urlencode(chosen)}"


def _spans(row: dict[Any, Any]) -> dict[str, str | None]:
    """The intervals, as texts."""
    ends = {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in MEASURED}
    return {f"{n}_span": None if pd.isna(low) else f"{low:.4g} to {high:.4g}" for n, (low, high) in ends.items()}


def _source(config: Path, root: Path) -> dict[str, str | None]:
    """The comment of a compressor's config, and the address of its class where the reference has it."""
    if not config.is_file():
        return {"source": None, "code": None}  # of a user's folder
    target = str(yaml.safe_load(config.read_text(encoding="utf-8")).get("algorithm", {}).get("_target_", ""))
    reference = root / "docs" / "reference" / "compressor.md"
    documented = reference.is_file() and f"::: {target.rpartition('.')[0]}\n" in reference.read_text(encoding="utf-8")
    about = re.split(r"(?<=\.) ", comment(config))[0]
    return {"source": about or None, "code": f"docs/reference/compressor.html#{target}" if documented else None}
