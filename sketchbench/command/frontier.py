"""`sketchbench frontier --folder mine`: try the compressors on your own data and network."""

import os
from pathlib import Path

import click

from sketchbench.base.files import display_path
from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF, HOME
from sketchbench.command.group import FOLDER
from sketchbench.kernels import resolve
from sketchbench.plan.cost import format_duration
from sketchbench.plan.inspection.check import check_folder
from sketchbench.plan.inspection.files import own_methods
from sketchbench.report.evidence import transfer
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.run.config.composition import user_folder

MODEL = "digits_mlp"


@click.command("frontier")
@FOLDER
@click.option("--data", help="Data set, of your folder or of the project (default: your only one).")
@click.option("--model", help=f"Network (default: your only one, or {MODEL}, a perceptron).")
@click.option("--partition", help="Partition besides equal shares (default: your only one, or one class a client).")
@click.option("--clients", type=click.IntRange(2), default=10, help="Number of clients (default: 10).")
@click.option("--hours", type=float, default=1.0, help="Time limit in hours (default: 1).")
@click.option("--cores", type=click.IntRange(1), default=None, help="Processor cores (default: all).")
@click.option("--kernels", default="auto", help="Backend: auto, numpy, numba or cupy (default: auto).")
@click.option("--seed", type=click.IntRange(0), default=0, help="Root of all randomness (default: 0).")
@click.option("--plan", "only_plan", is_flag=True, help="Time a few rounds, print the size, and run nothing.")
def command(
    folder: Path | None,
    data: str | None,
    model: str | None,
    partition: str | None,
    clients: int,
    hours: float,
    cores: int | None,
    kernels: str,
    seed: int,
    only_plan: bool,
) -> None:
    """Train with every compressor on your own data and network, within a time limit.

    Run size is set by timing a few rounds; interrupted runs resume. The findings on compressors (claims F1 to F5, F14,
    F15) are judged on your data, and shown beside their verdicts on digits.

    \b
    sketchbench frontier --folder mine --hours 2
    sketchbench site --folder mine               with a page of this frontier
    """
    if not 0 < hours < 10_000:
        raise ValueError(f"--hours={hours:g} must be > 0 and < 10000")
    if not (own := user_folder(folder or "")):
        raise click.UsageError(
            "--folder names your own folder with a data set; create one by sketchbench new dataset NAME"
        )
    check_folder(own)
    from sketchbench.plan import own_frontier  # 3 s of torch that mistakes above do without

    parts = {name: _chosen(own, name, given) for name, given in (("dataset", data), ("model", model))}
    if not parts["dataset"]:
        again = f"sketchbench new dataset NAME --folder {folder}"
        raise ValueError(f"{folder}/dataset has no data set; create one by {again}, or give --data")
    other = _chosen(own, "partition", partition)
    problem, notes = own_frontier.problem_of(
        parts["dataset"], parts["model"] or MODEL, other, clients, resolve(kernels), seed, own
    )
    for note in [own_frontier.describe(problem), *notes]:
        print(note, flush=True)
    place, cores = problem.place(hours), cores or len(os.sched_getaffinity(0))
    size = own_frontier.size_in(place)
    if size is None:
        costs = own_frontier.measure(problem)
        size = own_frontier.choose_size(problem, costs, hours, cores)
        planned = format_duration(costs.total(problem, size, cores))
        print(f"measured: {costs}; planned: {planned} of {hours:g} hours on {cores} cores")
    print(f"run: {size}")
    for line in own_frontier.shrunk(size):
        print(f"  {line}")
    if only_plan:
        return
    own_frontier.keep_size(place, size)
    plan = own_frontier.plan_of(problem, size, place, cores)
    there = sum(Path(run.record).is_file() for run in plan.all_runs)
    print(f"{there} of {len(plan.all_runs)} records exist", flush=True)
    own_frontier.do(plan, own)
    options = {"data": problem.dataset, "model": problem.model, "partition": other, "clients": clients, "hours": hours}
    again = " ".join(f"--{name} {value}" for name, value in options.items() if value != "")
    again = f"sketchbench frontier --folder {display_path(own)} {again} --kernels {problem.kernels} --seed {seed}"
    scale = own_frontier.write(problem, plan, again)
    rows = transfer.beside(scale, ReportedScale("quick", HOME / "reports"), CONF)
    for row in rows[rows["here"] != "not run"].to_dict("records"):
        print(f"{row['claim']:4s} {row['label']:32s} on digits: {row['there']:14s} here: {row['here']}")
    print(transfer.transfers(rows))
    print(f"{display_path(scale.reports)} has table, figure and verdicts; sketchbench site --folder {folder}: its page")


def _chosen(folder: Path, kind: str, name: str | None) -> str:
    """Return the given name, if it exists; by default that of the only file of this kind in the folder, or ""."""
    own = own_methods(folder, (kind,))[kind]
    if name is not None:
        return choose(kind, name, [*own, *own_methods(CONF, (kind,))[kind]])
    if len(own) > 1:
        option = "data" if kind == "dataset" else kind
        raise ValueError(f"{folder}/{kind} has {', '.join(own)}; choose one by --{option}")
    return own[0] if own else ""
