"""Every sketch config, composed as the project composes it, and the sizes that suit it."""

import dataclasses
import functools
import itertools
from typing import Any

from hydra.utils import instantiate

from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.sketch.family import Family
from sketchbench.theory.known import Known

FOLDER = composition.CONF / "sketch"
# Those in control/broken break the contract on purpose.
NAMES = sorted(
    str(path.relative_to(FOLDER).with_suffix(""))
    for path in FOLDER.rglob("*.yaml")
    if path.parent != FOLDER / "control" / "broken"
)
D, B = 24, 8  # suits every family but the identity, whose config sets b = d
LARGEST = 33


@functools.cache
def config(name: str, d: int = D, b: int = B) -> dict[str, Any]:
    overrides = [f"sketch={name}", f"d={d}", f"b={b}", "kernels=numpy"]
    return composition.frozen(composition.compose(overrides)).config


@functools.cache
def family(name: str, d: int = D, b: int = B) -> Family:
    return execution.family_of(config(name, d, b))


def known(name: str) -> Known:
    return Known(**instantiate(config(name)["sketch"]["theory"], _convert_="all"))


@functools.cache
def admissible(name: str) -> list[Family]:
    """The family at every d and b up to LARGEST that its own check takes."""
    found = []
    for d, b in itertools.product(range(1, LARGEST + 1), repeat=2):
        try:
            found.append(dataclasses.replace(family(name), d=d, b=b))
        except ValueError:
            continue
    return found


def one_of_each_operator() -> list[str]:
    """The first config of each class of operators."""
    return list({type(family(name).draw(0, kernels="numpy")): name for name in reversed(NAMES)}.values())
