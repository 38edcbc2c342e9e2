"""Join the records of one study into its table."""

from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.base.files import check_entries, write_text
from sketchbench.measure.column import TRIALS_THERE, Column
from sketchbench.report import seal
from sketchbench.report.inputs import SETTINGS, table_inputs
from sketchbench.report.table import origin, times
from sketchbench.report.table.rounding import rounded
from sketchbench.report.table.versions import recorded
from sketchbench.run import record

# The row of a run without any trial.
NONE_YET = {Column.QUANTITY.value: TRIALS_THERE, Column.TRIALS.value: 0, "status": "unfinished"}
NONE_YET |= {"reason": "no trial is there yet"}
Provenances = list[tuple[str, dict[str, Any]]]


def join(manifest: list[dict[str, Any]]) -> tuple[pd.DataFrame, Provenances]:
    """The rows of a study's records in the manifest's order (see `Plan.manifest`), and each record's method and
    provenance.

    The plan's columns don't replace the rows' own columns. Rows of a run with too few trials say how many were
    `planned`; a run without trials has one row.

    Raises RecordError if a record is missing, damaged, or differs from the plan.
    """
    frames: list[pd.DataFrame] = []
    provenances: Provenances = []
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
    return pd.concat(frames, ignore_index=True), provenances


def check_manifest(manifest: Any) -> list[dict[str, Any]]:
    """Return a manifest as `Plan.manifest` makes it. Raises ValueError for any other."""
    check_entries(manifest, {"record": str, "signature": str, "columns": dict}, "the manifest")
    check_entries([entry["columns"] for entry in manifest], {Column.METHOD: str}, "the columns of the manifest")
    return list(manifest)


def make(study: str, manifest: list[dict[str, Any]], scale: str, csv: Path) -> None:
    """Write a study's table as CSV, and seal it; then write its times and its origin apart.

    Raises RecordError as `join` does, FileError (an OSError) if a file can't be written.
    """
    frame, provenances = join(manifest)
    kept, timed = times.split(rounded(frame))
    write_text(csv, _text(kept))
    versions = recorded(provenance.get("versions", {}) for _, provenance in provenances)
    seal.write("table", scale, table_inputs(manifest), [csv], settings=_settings(provenances), versions=versions)
    times.write(csv, _text(timed) if len(timed) else "", scale)
    origin.write(csv, scale, provenances)


def _settings(provenances: Provenances) -> dict[str, str]:
    """`seed` and `kernels` of the records, separated by spaces."""
    configs = [provenance.get("config", {}) for _, provenance in provenances]
    values = {name: {str(config[name]) for config in configs if name in config} for name in SETTINGS}
    return origin.join_values(values)


def _text(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
