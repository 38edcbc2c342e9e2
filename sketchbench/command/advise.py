"""`sketchbench advise --bytes 2500 --parameters 3760`: recommend a compressor."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.base.project import reports
from sketchbench.command.group import FOLDER, OneOf
from sketchbench.report.evidence import transfer
from sketchbench.report.frontier.advise import (
    CLASSIFIER,
    FRONTIERS,
    LANGUAGE,
    Question,
    advise,
    read_frontiers,
    table,
    to_json,
)
from sketchbench.report.frontier.cells import WAYS


@click.command("advise")
@click.option("--bytes", "nbytes", required=True, type=float, help="Bytes per client and round, sent plus received.")
@click.option("--parameters", required=True, type=int, help="Parameters of the network.")
@click.option("--epsilon", type=float, help="ε of each record against the server (default: no privacy).")
@click.option("--clients", default="iid", help="Partition of the images: iid, one_class, ... (default: iid).")
@click.option("--number", type=click.IntRange(1), help="Number of clients.")
@click.option(
    "--per-round",
    type=click.IntRange(1),
    help="Clients sampled per round (default: all). Sampled clients keep no state.",
)
@click.option(
    "--sums", is_flag=True, help="The server sees only the sum of messages; with --epsilon clients share the noise."
)
@click.option(
    "--way",
    type=OneOf([*WAYS]),
    default="both",
    help="Direction of the counted bytes: up, down or both (default: both).",
)
@click.option(
    "--model", type=OneOf([CLASSIFIER, LANGUAGE]), default=CLASSIFIER, help=f"Kind of network (default: {CLASSIFIER})."
)
@click.option("--any-size", is_flag=True, help="Compare the ratio of bytes only, for networks of any size.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--frontier",
    type=click.Path(path_type=Path),
    multiple=True,
    help=f"A sealed frontier.csv; may be repeated (default: {FRONTIERS[0]} and that of the paper scale).",
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
    model: str,
    any_size: bool,
    as_json: bool,
    frontier: Sequence[Path],
    folder: Path | None,
) -> None:
    """List three compressors that fit a budget of bytes, based on the measured trainings closest to yours.

    --folder uses your own runs. Intervals are simultaneous, 95 %. The target is the accuracy without compression, less
    5 %. "Rounds until visible" counts rounds until the best attack shows a client's image; "not found" means that no
    attack of ours did, and a better attack may. "Not measured" stands where there was no attack, and for messages with
    noise, since attacks were on messages without noise. Times not measured on this machine are shown as -; sketchbench
    results --studies frontier_cost measures them.

    \b
    sketchbench advise --bytes 2500 --parameters 3760
    sketchbench advise --bytes 2500 --parameters 3760 --epsilon 8 --sums
    sketchbench advise --bytes 2000 --parameters 3760 --number 100 --per-round 10
    """
    for name, value in (("bytes", nbytes), ("parameters", parameters), ("epsilon", epsilon)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{name}={value} must be > 0 and finite")
    if per_round is not None and not per_round <= (number or 0):
        raise ValueError(f"--per-round={per_round} must be <= --number, the number of clients; give both")
    case = clients.replace("_", " ")
    question = Question(nbytes, parameters, epsilon, case, sums, any_size, number, per_round, way, model)
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
    rows = table(question, answer)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
