"""Judging all claims by all tables: verdicts as CSV and Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.files import parse_json, remove, write_text
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.claim import gate, history, page
from sketchbench.report.claim.check import surprises
from sketchbench.report.claim.claims import Claim, check_studies, read_claims
from sketchbench.report.claim.erratum import read_errata
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.markup import to_markdown
from sketchbench.report.claim.origin import origin_of, with_origin
from sketchbench.report.reports import judged_from
from sketchbench.report.table import times
from sketchbench.report.table.reading import COLUMNS, read_table

NO_TIMES = "no times of this machine, and git tracks none; run this study"
# What a verdict on times is made of, and differs from run to run; the verdict itself seldom does.
MEASURED = ["statistic", "low", "high", "slack", "tightness", "negative_control_statistic"]
TOLD = [Column.CASE.value, "negative_control_verdict"]
FACTS = {"scale": str, "kernels": str, "seed": int, "skipped": list, "studies": list}


def judge(
    tables: Sequence[Path],
    claims: Sequence[Path],
    errata: Sequence[Path],
    facts: str,
    *,
    csv: Path,
    markdown: Path,
) -> list[str]:
    """Write the verdicts on all claims, and seal them.

    Arguments:
        tables: CSV by study, sealed.
        claims: YAML files.
        errata: YAML files.
        facts: what `planned.Plan.facts` says, as JSON.
        csv, markdown: the files to write.

    Returns:
        A line for each verdict that is not the expected one.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where one can't be written.
    """
    known = _facts(facts)
    read = read_claims(claims)
    check_studies(read, known["studies"])
    mistakes = read_errata(errata, read)
    whole, kinds = known.get("whole", True), known.get("kinds", {})
    older = known.get("older", {})
    frames, untimed = _read(tables, read, known["scale"])
    takes = {**dict.fromkeys(untimed, NO_TIMES), **known.get("takes", {})}
    found, comparisons = evaluate(
        read, frames, known["scale"], whole=whole, kinds=kinds, older={**untimed, **older}, takes=takes
    )
    measured = with_origin(found, read, origin_of(tables, older))
    _write_times(csv.with_name("times.csv"), measured)
    verdicts = without_times(measured)
    write_text(csv, verdicts.to_csv(index=False, float_format="%.8g", lineterminator="\n"))
    blocks = page.content(read, verdicts, known, comparisons, mistakes)
    write_text(markdown, to_markdown(blocks))
    made_of = judged_from(seal.sums(tables), facts)
    seal.write("claims", known["scale"], made_of, [csv, markdown])
    history.append(csv, verdicts, known["scale"])
    return [str(one) for one in surprises(verdicts)]


def without_times(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts without the numbers of those on times, whose expected verdict is `any`: they differ from run to run,
    and are in times.csv beside."""
    timed, kept = _on_times(verdicts), verdicts.copy()
    kept.loc[timed, MEASURED] = float("nan")
    kept.loc[timed, TOLD] = ""
    return kept


def _on_times(verdicts: pd.DataFrame) -> "pd.Series[bool]":
    """Which verdicts are on times, and follow from numbers."""
    return (verdicts["expected"] == "any") & ~verdicts["verdict"].isin(["not run", gate.VOID])


def _write_times(path: Path, verdicts: pd.DataFrame) -> None:
    """Write the verdicts on times with their numbers, where there are any; git does not track this file."""
    timed = verdicts[_on_times(verdicts)]
    if len(timed):
        write_text(path, timed.to_csv(index=False, float_format="%.8g", lineterminator="\n"))
    else:
        remove(path)


def _read(paths: Sequence[Path], claims: Sequence[Claim], scale: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The tables by study, with their times; and the studies of which claims on times find none, as in a checkout where
    nothing was run yet."""
    asked = {study for claim in claims if "any" in claim.expected.values() for study in claim.studies}
    frames: dict[str, pd.DataFrame] = {}
    untimed: dict[str, Any] = {}
    for path in paths:
        frame, timed = read_table(path, COLUMNS, kind="table", scale=scale), times.read(path)
        frames[path.stem] = frame if timed is None else pd.concat([frame, timed], ignore_index=True)
        if timed is None and path.stem in asked:
            untimed[path.stem] = {}
    return frames, untimed


def _facts(text: str) -> dict[str, Any]:
    """What `planned.Plan.facts` says; ValueError where it is something else."""
    facts = parse_json(text, "--facts")
    optional = {key: dict for key in ("kinds", "older", "takes") if isinstance(facts, dict) and key in facts}
    for key, kind in {**FACTS, **optional}.items():
        if not isinstance(facts, dict) or not isinstance(facts.get(key), kind):
            raise ValueError(f"--facts needs {key}, of type {kind.__name__}; Snakemake makes them of the plan")
    return facts
