"""`sketchbench advise --bytes 2500 --parameters 3760`: which compressor to take."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.base.project import reports
from sketchbench.command.group import FOLDER, OneOf
from sketchbench.report.evidence import transfer
from sketchbench.report.frontier.advise import FRONTIERS, Question, advise, read_frontiers, table, to_json
from sketchbench.report.frontier.cells import WAYS


@click.command("advise")
@click.option("--bytes", "nbytes", required=True, type=float, help="Bytes of a client in a round, up and down in sum.")
@click.option("--parameters", required=True, type=int, help="Number of the network's parameters.")
@click.option("--epsilon", type=float, help="ε of each record against the server (default: no privacy).")
@click.option("--clients", default="iid", help="How images are dealt to clients: iid, one_class, ... (default: iid).")
@click.option("--number", type=click.IntRange(1), help="Number of clients.")
@click.option("--per-round", type=click.IntRange(1), help="Clients in a round; fewer than all keep no state (all).")
@click.option(
    "--sums", is_flag=True, help="The server sees the sum of messages alone; with --epsilon clients share the noise."
)
@click.option("--way", type=OneOf([*WAYS]), default="both", help="Bytes that count: up, down or both (default: both).")
@click.option("--any-size", is_flag=True, help="Also for networks of another size: count the ratio of bytes alone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    number: int | None,
    per_round: int | None,
    sums: bool,
    way: str,
    any_size: bool,
    as_json: bool,
    frontier: Sequence[Path],
    folder: Path | None,
) -> None:
    """Name three compressors that fit a budget of bytes, by the trainings that are nearest to yours.

    With --folder these are of your own frontiers. All intervals hold together with probability 95 %. The target is the
    accuracy of the same training without compression, less 5 %. Rounds until visible: after which the best of the
    attacks shows a client's image; "not found" where those that were tried do not. A time is - where it was not
    measured here, as times differ between machines: sketchbench results --config studies=frontier_cost.

    \b
    sketchbench advise --bytes 2500 --parameters 3760
    sketchbench advise --bytes 2500 --parameters 3760 --epsilon 8 --sums
    sketchbench advise --bytes 2000 --parameters 3760 --number 100 --per-round 10
    """
    for name, value in (("bytes", nbytes), ("parameters", parameters), ("epsilon", epsilon)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{name}={value} must be > 0 and finite")
    if per_round is not None and not per_round <= (number or 0):
        raise ValueError(f"--per-round={per_round} must be <= --number, the number of all clients; give both")
    case = clients.replace("_", " ")
    question = Question(nbytes, parameters, epsilon, case, sums, any_size, number, per_round, way)
    own = [scale.reports / "frontier.csv" for scale in transfer.places(folder)] if folder else []
    if folder and not own:
        raise FileNotFoundError(f"{folder / 'reports'} has no frontier; run sketchbench frontier --folder {folder}")
    places = frontier or own or [path for path in map(reports, FRONTIERS) if path.exists()] or FRONTIERS[:1]
    answer = advise(question, read_frontiers(places))
    if as_json:
        print(json.dumps(to_json(question, answer), ensure_ascii=False, indent=1))
        return
    print(f"Nearest measurement: {answer.measured}.")
    for note in answer.notes:
        print(note)
    rows = table(answer)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
