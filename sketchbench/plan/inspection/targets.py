"""What a `_target_` names: an object of the right kind, or a mistake that says what is wrong with it."""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sketchbench.base.errors import blame
from sketchbench.base.parameters import did_you_mean
from sketchbench.plan.inspection.findings import Findings


def subclass(
    findings: Findings, key: str, node: Any, base: type, *, example: str, given: Collection[str]
) -> type | None:
    """The dataclass, derived from `base`, that a node names, whose parameters the node has; None, and mistakes, for
    anything else.

    Arguments:
        findings: where mistakes go.
        key, node: the key in the YAML file, and the value there.
        example: what a `_target_` there may look like.
        given: the parameters that a run sets, and the node does not.
    """
    cls = _target(findings, key, node, example)
    if cls is None:
        return None
    name = node["_target_"]
    if not (isinstance(cls, type) and issubclass(cls, base)):
        findings.add(f"{key}._target_", f"{name} is {_kind(cls)}; it must be a class derived from {base.__name__}")
    elif missing := sorted(getattr(cls, "__abstractmethods__", ())):
        findings.add(f"{key}._target_", f"{name} must define {', '.join(missing)}")
    elif "__dataclass_fields__" not in vars(cls):
        findings.add(f"{key}._target_", f"{name} must be a dataclass: write @dataclass(frozen=True) above it")
    elif _has_parameters(findings, key, node, cls, given):
        return cls
    return None


def formula(
    findings: Findings,
    key: str,
    node: Any,
    positional: tuple[str, ...],
    named: tuple[str, ...],
    wanted: tuple[str, ...] = (),
) -> Callable[..., Any] | None:
    """The function that a node names, with the arguments that the node gives it; None, and a mistake, where it can't be
    called with these further arguments.

    Arguments:
        findings, key, node: as of `subclass`.
        positional, named: the names of the arguments of a call.
        wanted: those that a call has where the function has such parameters.
    """
    function = _target(findings, key, node, "my_sketches.second_moment")
    if function is None:
        return None
    name = node["_target_"]
    if not callable(function):
        findings.add(f"{key}._target_", f"{name} is {_kind(function)}; it must be a function")
        return None
    if node.get("_partial_") is not True:
        findings.add(key, "it must have `_partial_: true` beside its _target_, since its arguments come later")
        return None
    own = {parameter: value for parameter, value in node.items() if parameter not in ("_target_", "_partial_")}
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function of C may have none; the call will tell
        return functools.partial(function, **own)
    named += tuple(one for one in wanted if one in signature.parameters and one not in own)
    call = ", ".join([*positional, *(f"{parameter}=..." for parameter in (*named, *own))])
    try:
        signature.bind(*positional, **dict.fromkeys(named), **own)
    except TypeError as error:
        findings.add(key, f"{name}{signature} is called as {name.rpartition('.')[2]}({call}): {error}")
        return None
    return functools.partial(function, **own)


def _target(findings: Findings, key: str, node: Any, example: str) -> Any | None:
    """The object that the `_target_` of a node names; None, and a mistake, where there is none."""
    name = node.get("_target_") if isinstance(node, Mapping) else None
    if not isinstance(name, str) or "." not in name:
        findings.add(key, f"{node!r} must have a _target_, the name of a module and of an object in it: {example}")
        return None
    module, _, attribute = name.rpartition(".")
    if module in findings.unusable:
        return None
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        findings.unusable.add(module)
        folder = findings.folder
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            meant = did_you_mean(error.name, [path.stem for path in folder.glob("*.py")])
            reason = f"there is no module {error.name} in {folder}{meant}"
        else:
            reason = f"can't be imported: {blame(error, folder) or error}"
        findings.add(f"{key}._target_", f"{name}: {reason}")
        return None
    if not hasattr(loaded, attribute):
        meant = did_you_mean(attribute, vars(loaded))
        findings.add(f"{key}._target_", f"{name}: there is no {attribute} in {module}{meant}")
        return None
    return getattr(loaded, attribute)


def _kind(thing: Any) -> str:
    if not isinstance(thing, type):
        return f"of the type {type(thing).__name__}"
    return f"a class derived from {', '.join(base.__name__ for base in thing.__bases__)}"


def _has_parameters(findings: Findings, key: str, node: Mapping[str, Any], cls: type, given: Collection[str]) -> bool:
    """Whether a node has the parameters of a dataclass that have no default, and no unknown ones."""
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init and field.name not in given}
    before = len(findings.lines)
    for name, value in node.items():
        if name in given:
            findings.add(f"{key}.{name}", f"{value!r} must be left out, since the run sets it")
        elif name != "_target_" and name not in fields:
            known = f"it has {', '.join(fields)}" if fields else "it has none"
            meant = did_you_mean(name, fields)
            findings.add(f"{key}.{name}", f"{cls.__name__} has no parameter {name}; {known}{meant}")
    for name, field in fields.items():
        if field.default is field.default_factory is dataclasses.MISSING and name not in node:
            findings.add(key, f"the parameter {name} of {cls.__name__} is missing; write {name}: VALUE below {key}")
    return len(findings.lines) == before
