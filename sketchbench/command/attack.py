"""`sketchbench attack FILE`: an attack of one's own beside ours."""

import importlib.util
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sketchbench.base.errors import ConfigError, message
from sketchbench.base.parameters import choose
from sketchbench.command.run import format_rows
from sketchbench.run.config.composition import compose, frozen
from sketchbench.run.execution import with_task

FUNCTION = "find"
CHOOSING = 2  # trials by which the task would choose an attack; here they are judged like all others
CHALLENGE = "sketchbench.task.compressors.challenge.Challenge"
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
VICTIMS = click.IntRange(min=2 * CHOOSING)


@click.command("attack")
@click.argument("file", type=FILE)
@click.option("--methods", default="none,srht,top_k,eden", show_default=True, help="Compressors, separated by commas.")
@click.option("--compression", type=float, default=16, show_default=True, help="Bytes of the update over those sent.")
@click.option("--condition", multiple=True, help="A condition of conf/task/leakage_limits.yaml (default: all of them).")
@click.option("--trials", type=VICTIMS, default=12, show_default=True, help="Victims, with a network each.")
@click.option("--seed", type=click.IntRange(min=0), help="Of victims, networks and keys; drawn and printed by default.")
@click.option("--dataset", default="digits", show_default=True, help="A data set of conf/dataset.")
def command(
    file: Path,
    methods: str,
    compression: float,
    condition: Sequence[str],
    trials: int,
    seed: int | None,
    dataset: str,
) -> None:
    """Score an attack of your own beside ours, on victims, networks and keys that are drawn anew.

    FILE is a Python file with a function find(target), which returns images (trials, images, pixels) in [0, 1].
    `sketchbench new attack NAME` writes one that works. FILE is run as a program.

    An image is visible if the attack is 3 dB nearer to it than the mean image of its class.

    \b
    sketchbench new attack steps
    sketchbench attack mine/steps.py
    sketchbench attack mine/steps.py --methods srht,fiht --compression 64 --trials 40
    sketchbench attack mine/steps.py --condition 'batch of 8' --condition 'after 300 rounds'
    """
    find, seed = load(file), secrets.randbits(31) if seed is None else seed
    for method in methods.split(","):
        ratio = 1.0 if method == "none" else compression
        parts = {"task": "leakage_limits", "task._target_": CHALLENGE, "dataset@task.dataset": dataset}
        settings = {"task.compression": ratio, "task.choosing": CHOOSING, "task.trials": trials - CHOOSING}
        chosen = {**parts, "compressor": method, "seed": seed, **settings}
        config = frozen(compose([f"{key}={value}" for key, value in chosen.items()])).config
        scores = with_task(config, lambda task: [score._asdict() for score in task.beside(find).scores(condition)])
        print(f"{method}, {f'1/{ratio:g} of the bytes' if ratio > 1 else 'all bytes'}, seed {seed}")
        print(format_rows(scores, len(scores)) if scores else "no attack of ours reads its messages", flush=True)


def load(file: Path) -> Any:
    """The function `find` of a Python file. Raises ConfigError, in one line, if the file can't be run or lacks it."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{file} must be a Python file, with the name FILE.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"{file}: {message(error)}") from error
    choose(f"{file}: function", FUNCTION, [name for name in vars(module) if callable(getattr(module, name))])

    def find(target: Any) -> Any:
        try:
            return getattr(module, FUNCTION)(target)
        except Exception as error:
            raise ConfigError(f"{file}: {FUNCTION}: {message(error)}") from error

    return find
