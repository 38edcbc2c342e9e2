"""Judge all claims by all tables: verdicts as CSV and Markdown."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.base.files import parse_json, remove, write_text
from sketchbench.base.project import CONF
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.claim import error_rate, history, page
from sketchbench.report.claim.check import broken
from sketchbench.report.claim.claims import Claim, check_studies, read_claims
from sketchbench.report.claim.erratum import read_errata
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.state import with_code
from sketchbench.report.inputs import claims_inputs
from sketchbench.report.table import times
from sketchbench.report.table.reading import COLUMNS, read_table

NO_TIMES = "no times of this machine, and git tracks none; run this study"
FACTS = {"scale", "kernels", "seed", "skipped", "studies"}


def judge(
    tables: Sequence[Path],
    claims: Sequence[Path],
    errata: Sequence[Path],
    facts: str,
    *,
    csv: Path,
    markdown: Path,
    only: Collection[str] | None = None,
) -> list[str]:
    """Write and seal the verdicts on all claims. `tables` are sealed CSV files by study, `claims` and `errata` are YAML
    files, and `facts` is the JSON of `Plan.facts`. `only`: the ids of the judged claims; None: all in the files.

    Returns a line for each broken contract, and for a damaged history. Raises, in one line, ValueError for an invalid
    file, and FileError (an OSError) for a file that can't be written.
    """
    known, rate_file = _facts(facts), CONF / error_rate.FILE
    read = [claim for claim in read_claims(claims) if only is None or claim.id in only]
    check_studies(read, known["studies"])
    mistakes = read_errata(errata, read)
    scale, older = known["scale"], known["older"]
    frames, untimed = _read(tables, read, scale)
    measured, levels = evaluate(
        read,
        frames,
        scale,
        rate=error_rate.read(rate_file.parent),
        whole=known["whole"],
        kinds=known["kinds"],
        older={*untimed, *older},
        takes={**dict.fromkeys(untimed, NO_TIMES), **known["takes"]},
        own=known["own"],
        only_own=known["only_own"],
    )
    measured = with_code(measured, read, older)
    on_times = measured["claim"].isin({claim.id for claim in read if claim.on_times})
    timed, verdicts = measured[on_times], measured[~on_times]
    if timed["verdict"].ne("not run").any():  # git does not track the file of these
        write_text(csv.with_name(seal.UNSEALED), _text(timed))
    else:
        remove(csv.with_name(seal.UNSEALED))
    write_text(csv, _text(verdicts))
    write_text(markdown, page.render(read, verdicts, known, levels, mistakes))
    seal.write("claims", scale, claims_inputs(seal.sums(tables), facts, [*claims, *errata, rate_file]), [csv, markdown])
    remarks = history.append(csv, verdicts, scale)
    return [*map(str, broken(verdicts)), *remarks]


def _text(verdicts: pd.DataFrame) -> str:
    """The verdicts as CSV, with 6 digits, since tables have no more digits than their intervals warrant."""
    counts = {name: "Int64" for name in (Column.TRIALS, "comparisons") if name in verdicts}
    return verdicts.astype(counts).to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _read(paths: Sequence[Path], claims: Sequence[Claim], scale: str) -> tuple[dict[str, pd.DataFrame], set[str]]:
    """The tables by study, with their times, and the studies that lack the times for a claim on times, as in a checkout
    without a run."""
    asked = {study for claim in claims if claim.on_times for study in claim.studies}
    frames: dict[str, pd.DataFrame] = {}
    untimed: set[str] = set()
    for path in paths:
        frame, timed = read_table(path, "table", COLUMNS, scale=scale), times.read(path)
        frames[path.stem] = frame if timed is None else pd.concat([frame, timed], ignore_index=True)
        if timed is None and path.stem in asked:
            untimed.add(path.stem)
    return frames, untimed


def _facts(text: str) -> dict[str, Any]:
    """The facts of `Plan.facts`. Raises ValueError for other JSON."""
    facts = parse_json(text, "--facts")
    if not isinstance(facts, dict) or not facts.keys() >= FACTS:
        raise ValueError(f"--facts needs {', '.join(sorted(FACTS))}; Snakemake makes them of the plan")
    return {"whole": True, "kinds": {}, "older": {}, "takes": {}, "own": {}, "only_own": False, **facts}
