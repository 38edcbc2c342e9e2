"""`sketchbench costs SCALE`: time and memory of runs, from their records into conf/costs.csv."""

from pathlib import Path

import click

from sketchbench.base.files import check_writable, write_text
from sketchbench.command.group import OneOf
from sketchbench.plan import cost
from sketchbench.run.config.schema import SCALES


@click.command("costs")
@click.argument("scale", type=OneOf(SCALES))
@click.option("--results", type=click.Path(path_type=Path), help="The folder of the records (default: results/SCALE).")
def command(scale: str, results: Path | None) -> None:
    """Write the time and memory of the runs of a scale, which stand in their records, into conf/costs.csv.

    Rows of other scales and studies stay. `sketchbench plan` adds these times up.

    \b
    sketchbench costs quick
    """
    folder = results or Path("results") / scale
    check_writable(cost.FILE, cost.read)
    measured = cost.measured(folder)
    if not measured:
        remedy = f"run sketchbench results --config scale={scale}"
        raise cost.CostError(f"{folder} has no records with their time and memory; {remedy}")
    costs = cost.read(cost.FILE) | {cost.Key(scale, study): spent for study, spent in measured.items()}
    write_text(cost.FILE, cost.text(costs))
    total = sum(spent.seconds * spent.runs for spent in measured.values())
    print(f"{len(measured)} studies at {scale}: {cost.format_duration(total)} of a core, into {cost.FILE}")
