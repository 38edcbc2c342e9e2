"""Running a resolved config: its task is made, given what it asks for, and run."""

import importlib
import inspect
import os
from collections.abc import Callable
from typing import Any

from sketchbench import kernels
from sketchbench.errors import ConfigError
from sketchbench.measure.row import Row
from sketchbench.run.course import SETTINGS, course_of
from sketchbench.theory.known import Known

SENSING = {"sketch": "family", "recovery": "sensing"}  # the kinds of methods with an operator, and where it is


def family_of(config: dict[str, Any]) -> Any:
    """The sketch family that a resolved config describes: the sketch's, or a recovery's `sensing`.

    Raises:
        ConfigError: where its class can't be imported; the message names the class and the error in its module.
        ValueError: where the sizes don't fit it.
    """
    kind = next(kind for kind in SENSING if kind in config)
    described = dict(config[kind][SENSING[kind]])
    family = _imported(described.pop("_target_"), f"{kind} {config[kind]['name']}")
    return family(**described, d=config["d"], b=config["b"])


def check_sizes(config: dict[str, Any]) -> None:
    """Check the sizes of a resolved config, where a method has an operator. What a compressor may send is known only
    with its network: its run tells where that is too little.

    Raises:
        ConfigError, ValueError: as `family_of`.
    """
    if any(kind in config for kind in SENSING):
        family_of(config)


def _imported(target: str, name: str) -> Any:
    """What a `_target_` names; ConfigError, for the method of this name, where it can't be imported."""
    module, _, attribute = target.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever a user's module raises while it is imported
        cause: BaseException = error
        while inner := cause.__cause__ or cause.__context__:
            cause = inner
        reason = f"{type(cause).__name__}: {str(cause).splitlines()[0]}"
        raise ConfigError(f"{name}: can't import {target}: {reason}") from None


def check_memory(config: dict[str, Any]) -> None:
    """Raise ConfigError where not even one vector of the sizes d and b fits into memory, before anything is begun."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for letter in "db":
        size = config.get(letter)
        if isinstance(size, int) and 8 * size > memory:
            raise ConfigError(
                f"{letter}={size} takes {8 * size / 2**30:.3g} GiB for a single vector, and this machine has "
                f"{memory / 2**30:.3g} GiB of memory; lower {letter}"
            )


def execute(config: dict[str, Any], code: str = "") -> list[Row]:
    """Run the task of a resolved config; arguments and errors as of `performed`.

    Raises Unfinished where it has come to its time limit.
    """
    rows: list[Row] = performed(config, lambda task: task.run(), code)
    return rows


def performed(config: dict[str, Any], perform: Callable[[Any], Any], code: str = "") -> Any:
    """What a function gives for the task of a resolved config.

    Arguments:
        config: as `composition.Composer` resolves it.
        perform: what is done with the task.
        code: a digest of the code behind it (`signature.code_of`), for tasks that go on from checkpoints.

    A task is given what it asks for of kernels, seed, course, family, known, recovery and compressor.

    Raises:
        ConfigError: where a group of the task's parameters refuses a value.
        Exception: whatever the task raises.
    """
    check_memory(config)
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate  # half a second that planning does without

    given: dict[str, Any] = {"kernels": kernels.load(config["kernels"]), "seed": config["seed"]}
    given["course"] = course_of(config, code)
    if "sketch" in config:
        given["family"] = family_of(config)
        given["known"] = Known(**instantiate(config["sketch"]["theory"] or {}, _convert_="all"))
    if "recovery" in config:
        given["family"] = family_of(config)
        given["recovery"] = instantiate(config["recovery"]["algorithm"], _partial_=True)
    if "compressor" in config:
        given["compressor"] = instantiate(config["compressor"]["algorithm"], _partial_=True)
    try:
        described = {key: value for key, value in config["task"].items() if key not in SETTINGS}
        make_task = instantiate(described, _partial_=True, _convert_="all")
        asked = inspect.signature(make_task.func).parameters
        task = make_task(**{name: given[name] for name in given if name in asked})
        return perform(task)
    except InstantiationException as error:
        # a group of the task's parameters refused a value; what it said is the message
        cause = error.__cause__ or error
        raise ConfigError(str(cause).splitlines()[0]) from cause
