"""Join the records of one study into a table: `python -m sketchbench.table --help`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench import record
from sketchbench.files import write_text

STYLE = """<style>
body { font: 14px/1.4 sans-serif; margin: 1em } table { border-collapse: collapse }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th { background: #f3f3f3; position: sticky; top: 0 }
</style>"""


def join(manifest: list[dict[str, Any]]) -> pd.DataFrame:
    """Join the records of a study.

    Arguments:
        manifest: of each run its record's path, its signature, and the columns that the plan adds to its rows (see
            `Plan.manifest`); where rows have such a column themselves, it stays.

    Returns:
        The rows of all records, run by run in the order of the manifest.

    Raises:
        RecordError: for a record that is missing, damaged, or not the planned one.
    """
    frames = []
    for entry in manifest:
        try:
            run = record.read(Path(entry["record"]), entry["signature"])
        except record.RecordError as error:
            raise record.RecordError(f"{error}; delete it and run snakemake again") from None
        frame = pd.DataFrame(run.rows)
        for position, (name, value) in enumerate(entry["columns"].items()):
            own = frame.pop(name) if name in frame else value  # of a run that measures at several sizes
            frame.insert(position, name, own)
        frames.append(frame.dropna(axis="columns", how="all"))
    if not frames:
        raise record.RecordError("a study without runs has no table")
    return pd.concat(frames, ignore_index=True)


def as_html(frame: pd.DataFrame, title: str) -> str:
    """A table as a page of its own."""
    body = frame.to_html(index=False, float_format=lambda x: f"{x:.5g}", na_rep="", border=0)
    head = f'<!doctype html><meta charset="utf-8"><title>{title}</title>{STYLE}'
    return f"{head}\n<h2>{title}</h2>\n{body}\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.table",
        description="Verify and join the records of one study; the manifest comes on stdin.",
    )
    parser.add_argument("--study", required=True)
    parser.add_argument("--csv", required=True, type=Path)
    parser.add_argument("--html", required=True, type=Path)
    options = parser.parse_args(arguments)
    try:
        frame = join(json.load(sys.stdin))
    except record.RecordError as error:
        sys.exit(f"sketchbench: error: {error}")
    # Quantities are of order 1 or more; digits below 1e-14 are rounding errors, which differ between machines.
    text = frame.round(14).to_csv(index=False, float_format="%.12g", lineterminator="\n")
    write_text(options.csv, text)
    write_text(options.html, as_html(frame, f"Study {options.study}"))


if __name__ == "__main__":
    main()
