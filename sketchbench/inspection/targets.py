"""What a `_target_` names: found, and of the right kind, or a mistake that says what is there."""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sketchbench.errors import blame
from sketchbench.inspection.findings import Findings
from sketchbench.parameters import did_you_mean


def target(found: Findings, key: str, node: Any, example: str) -> Any | None:
    """The object that the `_target_` of a node names; None, and a mistake, where there is none.

    Arguments:
        found: where mistakes go.
        key: of the node.
        node: what is there.
        example: what a `_target_` there may look like.
    """
    if not isinstance(node, Mapping):
        found.add(key, f"{node!r} must be a mapping with a _target_, such as {example}")
        return None
    name = node.get("_target_")
    if not isinstance(name, str) or "." not in name:
        said = "there is no _target_" if name is None else f"_target_ {name!r}"
        found.add(key, f"{said}; it must be the name of a module and of something in it, such as {example}")
        return None
    module, _, attribute = name.rpartition(".")
    if module in found.unusable:
        return None
    try:
        loaded = importlib.import_module(module)
    except BaseException as error:  # whatever a module does while it is imported
        found.unusable.add(module)
        found.add(f"{key}._target_", _not_imported(found, name, module, error))
        return None
    if not hasattr(loaded, attribute):
        found.add(
            f"{key}._target_", f"{name}: there is no {attribute} in {module}{did_you_mean(attribute, vars(loaded))}"
        )
        return None
    return getattr(loaded, attribute)


def _not_imported(found: Findings, name: str, module: str, error: BaseException) -> str:
    """Why a module was not imported."""
    if isinstance(error, ModuleNotFoundError) and error.name and module.split(".", maxsplit=1)[0] == error.name:
        there = [path.stem for path in found.folder.glob("*.py")]
        return f"{name}: there is no module {error.name} in {found.folder}{did_you_mean(error.name, there)}"
    return f"{name}: can't be imported: {blame(error, found.folder) or error}"


def subclass(found: Findings, key: str, node: Any, base: type, example: str) -> type | None:
    """The frozen dataclass, derived from `base`, that a node names; None, and mistakes, for anything else."""
    made = target(found, key, node, example)
    if made is None:
        return None
    name = node["_target_"]
    if not (isinstance(made, type) and issubclass(made, base)):
        found.add(f"{key}._target_", f"{name} is {_kind(made)}; it must be a class derived from {base.__name__}")
        return None
    if missing := sorted(getattr(made, "__abstractmethods__", ())):
        found.add(f"{key}._target_", f"{name} must define {', '.join(missing)}")
        return None
    if "__dataclass_fields__" not in vars(made):
        found.add(f"{key}._target_", f"{name} must be a dataclass: write @dataclass(frozen=True) above it")
        return None
    return made


def _kind(thing: Any) -> str:
    if not isinstance(thing, type):
        return f"of the type {type(thing).__name__}"
    bases = ", ".join(base.__name__ for base in thing.__bases__)
    return f"a class derived from {bases}"


def arguments(found: Findings, key: str, node: Mapping[str, Any], made: type, given: Iterable[str]) -> bool:
    """Whether a node has the parameters of a dataclass, no others, and all that have no default.

    Arguments:
        given: the parameters that do not come from the node.
    """
    fields = {field.name: field for field in dataclasses.fields(made) if field.init and field.name not in given}
    before = len(found.lines)
    for name in node:
        if name in given:
            found.add(f"{key}.{name}", f"{node[name]!r} must be left out, since the run sets it")
        elif name.startswith("_") and name != "_target_":
            found.add(f"{key}.{name}", f"{node[name]!r} must be left out")
        elif name != "_target_" and name not in fields:
            known = f"it has {', '.join(fields)}" if fields else "it has none"
            found.add(f"{key}.{name}", f"{made.__name__} has no parameter {name}; {known}{did_you_mean(name, fields)}")
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in node:
            found.add(key, f"the parameter {name} of {made.__name__} is missing; write {name}: VALUE below {key}")
    return len(found.lines) == before


def formula(
    found: Findings, key: str, node: Any, positional: tuple[str, ...], named: tuple[str, ...]
) -> Callable[..., Any] | None:
    """The function that a node names, with the arguments that the node gives it; None, and a mistake, where there is
    none that can be called as the project calls it.

    Arguments:
        positional, named: the names of the arguments that the call has.
    """
    made = target(found, key, node, "my_sketches.second_moment")
    if made is None:
        return None
    name = node["_target_"]
    if not callable(made):
        found.add(f"{key}._target_", f"{name} is {_kind(made)}; it must be a function")
        return None
    if node.get("_partial_") is not True:
        found.add(key, "it must have `_partial_: true` beside its _target_, since its arguments come later")
        return None
    own = {parameter: value for parameter, value in node.items() if parameter not in ("_target_", "_partial_")}
    call = ", ".join([*positional, *(f"{parameter}=..." for parameter in (*named, *own))])
    try:
        signature = inspect.signature(made)
    except ValueError:  # a function of C may have none; the call will tell
        return functools.partial(made, **own)
    try:
        signature.bind(*positional, **dict.fromkeys(named), **own)
    except TypeError as error:
        found.add(key, f"{name}{signature} is called as {name.rpartition('.')[2]}({call}): {error}")
        return None
    return functools.partial(made, **own)
