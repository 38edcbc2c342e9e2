"""`sketchbench costs SCALE`: what runs cost, from their records into conf/costs.csv."""

from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.config.schema import SCALES
from sketchbench.files import write_text
from sketchbench.plan import cost


@click.command("costs")
@click.argument("scale", type=OneOf(SCALES))
@click.option("--results", type=click.Path(path_type=Path), help="The folder of the records (default: results/SCALE).")
def command(scale: str, results: Path | None) -> None:
    """Take what runs cost from the records of a scale, into conf/costs.csv; other rows stay.

    \b
    sketchbench costs quick
    """
    folder = results or Path("results") / scale
    found = cost.measured(folder)
    if not found:
        said = f"{folder} has no records that say what they cost"
        raise cost.CostError(f"{said}; run sketchbench results --config scale={scale}")
    costs = cost.read(cost.FILE) | {cost.Key(scale, study): spent for study, spent in found.items()}
    write_text(cost.FILE, cost.text(costs))
    total = sum(spent.seconds * spent.runs for spent in found.values())
    print(f"{len(found)} studies at {scale}: {cost.format_duration(total)} of a core, into {cost.FILE}")
