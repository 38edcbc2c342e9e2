"""Every compressor config, made as the project makes it, and rounds of it."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from hydra.utils import instantiate
from numpy.typing import NDArray

from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, Exchange, MakeCompressor
from sketchbench.compressor.message import Layout, Message, Reply, byte_limit
from sketchbench.kernels import Kernels
from sketchbench.sketch.family import SizeError

FOLDER = Path(__file__).parents[2] / "conf" / "compressor"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
BROKEN = sorted(f"control/broken/{path.stem}" for path in (FOLDER / "control" / "broken").glob("*.yaml"))
LAYOUT = Layout(((8, 12), (8,), (4, 8), (4,)))
COMPRESSIONS = (1, 2, 4, 7, 16)
TRIALS, CLIENTS, SEED = 3, 2, 11
Floats = NDArray[np.float32]


@functools.cache
def maker(name: str) -> MakeCompressor:
    """What a config gives."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    made: MakeCompressor = instantiate(content["algorithm"], _partial_=True)
    return made


def made(name: str, compression: float, layout: Layout = LAYOUT) -> Compressor:
    """The compressor at a compression; SizeError where it is refused."""
    return maker(name)(layout=layout, limit=byte_limit(layout, compression))


def fitting(name: str) -> list[Compressor]:
    """The compressor at all compressions that it takes."""
    found = []
    for compression in COMPRESSIONS:
        try:
            found.append(made(name, compression))
        except SizeError:
            continue
    return found


def updates(number: int, trials: int = TRIALS, clients: int = CLIENTS, d: int = LAYOUT.d) -> Floats:
    """Normal updates (T, C, d)."""
    return np.random.default_rng(number).standard_normal((trials, clients, d), dtype=np.float32)


def exchanged(
    compressor: Compressor, kernels: Kernels, rounds: list[Floats], memory: Any = None
) -> tuple[list[Exchange], At]:
    """Rounds of these updates, and when the last one was."""
    trials, clients = rounds[0].shape[:2]
    memory = memory or compressor.begin(trials, clients, kernels)
    done = []
    for number, x in enumerate(rounds):
        at = At(kernels, SEED, number, trials)
        done.append(compressor.exchange(kernels.asarray(x), memory, at))
        memory = done[-1].memory
    return done, at


def single(compressor: Compressor, x: Floats, at: At) -> tuple[Message, list[Reply]]:
    """The message of single clients (T, d), with the parts of all phases, and the replies before the last of them."""
    memory = compressor.begin(len(x), 1, at.kernels)
    replies: list[Reply] = []
    parts: dict[str, Any] = {}
    for _ in range(traits.phases(compressor)):
        message = compressor.encode(at.kernels.asarray(x[:, None]), memory, at, replies)
        reply, memory = compressor.answer(message, memory, at, replies)
        replies.append(reply)
        parts |= message.parts
    return Message(parts), replies[:-1]
