"""`sketchbench advise --bytes 1000 --parameters 3760`: which compressor to take."""

import math
from collections.abc import Sequence
from pathlib import Path

import click
import pandas as pd

from sketchbench.command.group import FOLDER, OneOf
from sketchbench.report.evidence import transfer
from sketchbench.report.frontier.advise import CASES, FRONTIERS, SHOWN, Question, advise, table
from sketchbench.report.table.reading import read_table

NEEDED = ("compression", "case", "epsilon", "d", "accuracy", "accuracy_low", "accuracy_high")


@click.command("advise")
@click.option("--bytes", "nbytes", required=True, type=float, help="Bytes that a client may send in a round.")
@click.option("--parameters", required=True, type=int, help="Number of the network's parameters.")
@click.option("--epsilon", type=float, help="ε of each record against the server (default: no privacy).")
@click.option(
    "--clients",
    type=OneOf([case.replace(" ", "_") for case in CASES]),
    default=CASES[0],
    help="How images are dealt to clients (default: iid).",
)
@click.option(
    "--sums", is_flag=True, help="Only compressors whose messages can be summed, so that the server sees the sum alone."
)
@click.option("--any-size", is_flag=True, help="Also for networks of another size: count the ratio of bytes alone.")
@click.option(
    "--frontier",
    type=click.Path(path_type=Path),
    multiple=True,
    help=f"A frontier.csv with its seal; may be repeated (default: {FRONTIERS[0]}, and the paper scale's).",
)
@FOLDER
def command(
    nbytes: float,
    parameters: int,
    epsilon: float | None,
    clients: str,
    sums: bool,
    any_size: bool,
    frontier: Sequence[Path],
    folder: Path | None,
) -> None:
    """List the compressors that fit a budget of bytes, with the accuracies of their trainings in the frontier.

    With --folder they are those of your own frontiers. All intervals hold together with probability 95 %. leak_server:
    decibels by which the best attack on one message beats the mean image of its class. rounds_server, rounds_sum:
    rounds until a client's messages, or the sums of all, show the image; - where those that were tried do not.

    \b
    sketchbench advise --bytes 1000 --parameters 3760 --epsilon 8
    """
    for name, value in (("bytes", nbytes), ("parameters", parameters), ("epsilon", epsilon)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{name}={value} must be > 0 and finite")
    question = Question(nbytes, parameters, epsilon, clients.replace("_", " "), sums, any_size)
    own = [scale.reports / "frontier.csv" for scale in transfer.places(folder)] if folder else []
    if folder and not own:
        raise FileNotFoundError(f"{folder / 'reports'} has no frontier; run sketchbench frontier --folder {folder}")
    places = frontier or own or [path for path in FRONTIERS if path.exists()] or FRONTIERS[:1]
    measured = pd.concat([read_table(path, "frontier", NEEDED) for path in places], ignore_index=True)
    answer = advise(question, measured)
    rows = [dict(zip(SHOWN, SHOWN, strict=True)), *table(answer)]
    widths = {name: max(len(row[name]) for row in rows) for name in SHOWN}
    for note in answer.notes:
        print(note)
    for row in rows:
        print("  ".join(row[name].ljust(widths[name]) for name in SHOWN).rstrip())
