"""Every sketch config, composed as the project composes it, and the sizes that suit it."""

import dataclasses
import functools
import itertools
from typing import Any

from hydra import initialize_config_dir
from hydra.utils import instantiate

from sketchbench import job, plan
from sketchbench.sketch.family import Family
from sketchbench.theory.known import Known

FOLDER = plan.CONF / "sketch"
NAMES = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.yaml"))
D, B = 24, 8  # suits every family but the identity, whose config sets b = d
LARGEST = 33


@functools.cache
def config(name: str, d: int = D, b: int = B) -> dict[str, Any]:
    """The frozen config of a sketch at d and b."""
    with initialize_config_dir(str(plan.CONF), version_base="1.3"):
        overrides = [f"sketch={name}", f"d={d}", f"b={b}", "kernels=numpy"]
        return plan.frozen(plan.compose_run(overrides))


@functools.cache
def family(name: str, d: int = D, b: int = B) -> Family:
    """The sketch family of a config."""
    return job.family_of(config(name, d, b))


def known(name: str) -> Known:
    """The theory of a config."""
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
