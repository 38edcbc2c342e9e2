"""Execution: a resolved config becomes a task, with the objects that the task asks for, and the task runs."""

import importlib
import inspect
import os
from collections.abc import Callable
from typing import Any

from sketchbench import kernels
from sketchbench.base.course import SETTINGS, course_of
from sketchbench.base.errors import ConfigError
from sketchbench.measure.row import Row
from sketchbench.theory.known import Known

SENSING = {"sketch": "family", "recovery": "sensing"}  # by kind of method, the key of its family of operators


def family_of(config: dict[str, Any]) -> Any:
    """The sketch family that a resolved config describes: the sketch's, or a recovery's `sensing`.

    Raises:
        ConfigError: where its class can't be imported; the message names the class and the error in its module.
        ValueError: where the sizes don't fit it.
    """
    kind = next(kind for kind in SENSING if kind in config)
    described = dict(config[kind][SENSING[kind]])
    family = _import_target(described.pop("_target_"), f"{kind} {config[kind]['name']}")
    return family(**described, d=config["d"], b=config["b"])


def check_sizes(config: dict[str, Any]) -> None:
    """Check that the sketch or recovery of a resolved config takes the sizes d and b. The sizes of a compressor depend
    on its network, so its run checks them.

    Raises:
        ConfigError, ValueError: as `family_of`.
    """
    if any(kind in config for kind in SENSING):
        family_of(config)


def _import_target(target: str, name: str) -> Any:
    """Import what a `_target_` names; ConfigError, with the name of the method, if that fails."""
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
    """Refuse sizes d and b of which not even a single vector fits into memory, before any allocation.

    Raises:
        ConfigError: with the size, the memory that it needs and the memory of the machine.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for letter in "db":
        size = config.get(letter)
        if isinstance(size, int) and 8 * size > memory:
            raise ConfigError(
                f"{letter}={size} takes {8 * size / 2**30:.3g} GiB for a single vector, and this machine has "
                f"{memory / 2**30:.3g} GiB of memory; lower {letter}"
            )


def execute(config: dict[str, Any], code: str = "") -> list[Row]:
    """Run the task of a resolved config; arguments and errors as of `with_task`.

    Raises:
        Unfinished: at the time limit of the config.
    """
    rows: list[Row] = with_task(config, lambda task: task.run(), code)
    return rows


def with_task(config: dict[str, Any], use: Callable[[Any], Any], code: str = "") -> Any:
    """Make the task of a config, as `composition.Composer` resolves it, and return what `use` returns for it.

    The fields `kernels`, `seed`, `course`, `family`, `known`, `recovery` and `compressor` of a task are filled with the
    objects that the config describes; its other fields come from the config's section `task`. It goes on only from
    checkpoints with the same digest of the code (`signature.code_of`).

    Raises ConfigError where a parameter of the task refuses its value, and whatever `use` raises.
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
        return use(task)
    except InstantiationException as error:
        # a section of the task's parameters refused a value, and its message is the one for the user
        cause = error.__cause__ or error
        raise ConfigError(str(cause).splitlines()[0]) from cause
