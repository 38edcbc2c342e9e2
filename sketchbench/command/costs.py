"""`sketchbench costs SCALE`: copy time and memory from the records of runs to conf/costs.csv."""

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
    """Copy run time and memory from the records of a scale to conf/costs.csv.

    Rows of other scales and studies are kept. `sketchbench plan` sums these times.

    \b
    sketchbench costs quick
    """
    folder = results or Path("results") / scale
    check_writable(cost.FILE, cost.read)
    measured = cost.measured(folder)
    if not measured:
        remedy = f"run sketchbench results --scale {scale}"
        raise cost.CostError(f"{folder} has no records with time and memory; {remedy}")
    costs = cost.read(cost.FILE) | {cost.Key(scale, study): spent for study, spent in measured.items()}
    write_text(cost.FILE, cost.text(costs))
    total = sum(spent.seconds * spent.runs for spent in measured.values())
    print(f"{len(measured)} studies at {scale}: {cost.format_duration(total)} of a core, written to {cost.FILE}")
