"""The runs of a batch: resolved configs in, a record of each out."""

import logging
import sys
from pathlib import Path

import click

from sketchbench.command.program import read_json_stdin
from sketchbench.command.step import FILE
from sketchbench.files import check_entries, write_text
from sketchbench.plan.batch import receipt_text
from sketchbench.run.job import start_logging, work_off

log = logging.getLogger(__name__)


@click.command("job")
@click.option("--receipt", required=True, type=FILE, help="The file to write when all records are there.")
@click.option("--folder", type=FILE, help="A user's folder with modules of their own.")
def command(receipt: Path, folder: Path | None) -> None:
    """Do the planned runs of a batch, which comes as JSON on standard input, and write their records.

    Records that exist are kept. A run that has reached its time limit is no failure: its checkpoint is kept, the
    receipt says that it is unfinished, and the same run goes on."""
    own = folder and folder.resolve()
    if own:
        sys.path.insert(0, str(own))
    start_logging()
    batch = read_json_stdin("the batch")
    check_entries(batch, {"name": str, "record": str, "signature": str, "config": dict}, "the batch")
    if not batch:
        raise ValueError("the batch has no entries; Snakemake makes it of the plan")
    done = work_off(batch, own)
    for line in done.unfinished.values():
        log.info("to be gone on with: %s", line)
    if done.failed:
        sys.exit("\n".join(f"sketchbench: error: {line}" for line in done.failed))
    if done.unfinished:
        print(f"{len(done.unfinished)} of {len(batch)} runs are to be gone on with, by the same command", flush=True)
    signatures = {entry["record"]: entry["signature"] for entry in batch}
    write_text(receipt, receipt_text(signatures, done.unfinished))
