"""Joining the records of one study into its table."""

from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.files import check_entries, write_text
from sketchbench.measure.column import TRIALS_THERE, Column
from sketchbench.report import seal
from sketchbench.report.reports import records_of
from sketchbench.report.standing import origin_of
from sketchbench.report.table import times
from sketchbench.run import record

# In the place of the rows of a run none of whose trials is there yet.
NONE_YET = {Column.QUANTITY.value: TRIALS_THERE, Column.TRIALS.value: 0, "status": "unfinished"}
NONE_YET |= {"reason": "no trial is there yet"}


def join(manifest: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, dict[str, str]]]:
    """Join the records of a study.

    Arguments:
        manifest: of each run its record's path, its signature, and the columns that the plan adds to its rows (see
            `Plan.manifest`); where rows have such a column themselves, it stays.

    Returns:
        The rows of all records, run by run in the order of the manifest. Those of a run whose trials are not all there
        say how many were `planned`; where none is, there is a row that says that. And where they come from, the
        `commits` and `settings` of `seal.Seal`.

    Raises:
        RecordError: for a record that is missing, damaged, or not the planned one.
    """
    frames, provenances = [], []
    for entry in manifest:
        planned = entry.get(Column.PLANNED)
        if planned and not Path(entry["record"]).exists():
            frames.append(pd.DataFrame([{**entry["columns"], **NONE_YET, Column.PLANNED.value: planned}]))
            continue
        try:
            run = record.read(Path(entry["record"]), entry["signature"])
        except record.RecordError as error:
            raise record.RecordError(f"{error}; delete it and run snakemake again") from None
        provenances.append((entry["columns"][Column.METHOD], run.provenance))
        frame = pd.DataFrame(run.rows)
        for position, (name, value) in enumerate(entry["columns"].items()):
            own = frame.pop(name) if name in frame else value  # of a run that measures at several sizes
            frame.insert(position, name, own)
        if planned and record.trials(run.provenance, planned) < planned:
            frame[Column.PLANNED] = planned
        frames.append(frame.dropna(axis="columns", how="all"))
    if not frames:
        raise record.RecordError("a study without runs has no table")
    return pd.concat(frames, ignore_index=True), origin_of(provenances)


def checked(manifest: Any) -> list[dict[str, Any]]:
    """The manifest that `Plan.manifest` gives; ValueError for anything else."""
    check_entries(manifest, {"record": str, "signature": str, "columns": dict}, "the manifest")
    check_entries([entry["columns"] for entry in manifest], {Column.METHOD: str}, "the columns of the manifest")
    return list(manifest)


def make(study: str, manifest: list[dict[str, Any]], scale: str, csv: Path) -> None:
    """Join the records of a study, write the table as CSV, and seal it; its times stand apart (see `times`).

    Raises:
        RecordError: as `join` does.
        FileError: (an OSError) where it can't be written.
    """
    frame, origin = join(manifest)
    # Quantities are of order 1 or more; digits below 1e-14 are rounding errors, which differ between machines.
    kept, timed = times.split(frame.round(14))
    write_text(csv, _text(kept))
    seal.write("table", scale, records_of(manifest), [csv], **origin)
    times.write(csv, _text(timed) if len(timed) else "", scale)


def _text(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
