"""The class of a user's method, its parameters, its formulas, and one small call of it.

Numbers are not judged here. The study `contract` measures whether operators are linear and independent, and claims
judge the formulas under `theory`.
"""

import dataclasses
import functools
import importlib
import inspect
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench import kernels
from sketchbench.base import parameters
from sketchbench.base.errors import blame, message
from sketchbench.base.files import display_path
from sketchbench.base.parameters import did_you_mean
from sketchbench.run.execution import SENSING, family_of
from sketchbench.sketch.family import Family, SizeError
from sketchbench.theory.known import ALWAYS

log = logging.getLogger(__name__)

# Sizes (d, b) of the studies; the first that the family takes is tried.
SIZES = (
    *((16, 4), (15, 6), (24, 8), (64, 16), (640, 16), (16, 16), (24, 24), (12, 4), (64, 32), (33, 8), (100, 10)),
    *((128, 32), (1024, 512), (1024, 312), (2610, 1305), (30, 15), (8, 2), (4, 1), (1000, 48)),
)
KEY, STACK, VECTORS = 2**63 + 12345, 4, 3
MOMENTS = {"second_moment": (("g", "h"), ("b",)), "norm": (("h",), ("b",)), "spectrum": ((), ("d", "b"))}
SHAPES = ((50, 64), (50,), (4, 2, 3, 3), ())  # of the arrays of an update
COMPRESSION, TRIALS, CLIENTS = 7, 2, 3


class Findings:
    """The mistakes in one YAML file of a user's folder.

    Arguments:
        path: the file.
        folder: the user's; errors raised by its code name file and line.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.lines: list[str] = []
        self.unusable: set[str] = set()  # modules that can't be imported, of which one line is enough

    def add(self, key: str, mistake: str) -> None:
        """Add the mistake at a key ("" for the whole file): the value and the condition. Duplicates are dropped."""
        line = ": ".join(filter(None, (display_path(self.path), key.lstrip("."), mistake)))
        if line not in self.lines:
            self.lines.append(line)

    def note(self, doubt: str) -> None:
        """Log a doubt, which is not a mistake."""
        log.warning("%s: %s", display_path(self.path), doubt)

    @contextmanager
    def untouched(self, key: str, **given: Any) -> Iterator[None]:
        """Add a mistake if the user's code, in this block, writes into an array that it was given. Arrays by name."""
        before = {name: np.array(array) for name, array in given.items()}
        yield
        for name, array in given.items():
            if not np.array_equal(before[name], array, equal_nan=array.dtype.kind == "f"):
                self.add(key, f"it changes the {name} that it is given, which are the caller's; work on a copy of them")

    @contextmanager
    def running(self, key: str) -> Iterator[None]:
        """Add an error or SystemExit of the user's code, in this block, as a mistake at a key."""
        try:
            yield
        except (Exception, SystemExit) as error:
            self.add(key, blame(error, self.folder) or message(error))


def check_method(
    findings: Findings, kind: str, config: dict[str, Any], config_at: Callable[[int, int], dict[str, Any]], size: Any
) -> None:
    """Add the mistakes of a method's `size`, class, parameters and formulas.

    Arguments:
        findings: receives the mistakes.
        kind: `sketch`, `recovery` or `compressor`.
        config, config_at: the resolved config, at any sizes and at given d and b.
    """
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        findings.add("size", f"{size!r} must be an integer >= 1, or an interpolation of one, such as ${{d}}")
    elif kind == "compressor":
        check_compressor(findings, config[kind]["algorithm"])
    else:
        family = check_family(findings, kind, config_at)
        if kind == "recovery":
            check_recovery(findings, config[kind]["algorithm"], family)
        else:
            check_theory(findings, config[kind]["theory"] or {})


def check_family(findings: Findings, kind: str, config_at: Callable[[int, int], dict[str, Any]]) -> Family | None:
    """Return the family of a sketch or recovery at the first size that it takes; add mistakes and return None
    otherwise.

    Arguments:
        findings: receives the mistakes.
        kind: `sketch` or `recovery`.
        config_at: the resolved config at given d and b.
    """
    key, refusal, before = SENSING[kind], "", len(findings.lines)
    node = config_at(*SIZES[0])[kind][key]
    cls = subclass(findings, key, node, Family, example="my_sketches.HalfSigns", given=("d", "b"))
    if cls is None:
        return None
    with findings.running(key):
        for d, b in SIZES:
            try:
                family: Family = family_of(config_at(d, b))
            except SizeError as error:
                refusal = refusal or str(error)
                continue
            _try_family(findings, key, family)
            return family if len(findings.lines) == before else None
        sizes = ", ".join(f"d={d} b={b}" for d, b in SIZES)
        findings.add(key, f"{cls.__name__} takes none of the sizes {sizes}; of the first it says: {refusal}")
    return None


def _try_family(findings: Findings, key: str, family: Family) -> None:
    """Check the types of parameters, and the shape and dtype of sketched and desketched vectors."""
    parameters.check(family)
    if " at 0x" in repr(family):
        remedy = "a parameter must be a number, a string, or a list of them"
        findings.add(key, f"{repr(family)[:80]} contains a memory address, which differs from run to run; {remedy}")
        return
    sketch = family.draw(KEY, operators=STACK, kernels="numpy")
    calls = (("_sketch", sketch.sketch, family.d, family.b), ("_desketch", sketch.desketch, family.b, family.d))
    for name, call, length, size in calls:
        for dtype in ("float64", "float32"):
            given, wanted = np.arange(1.0, STACK * VECTORS * length + 1).astype(dtype), (STACK, VECTORS, size)
            with findings.untouched(key, vectors=given):
                result = np.asarray(call(given.reshape(STACK, VECTORS, length)))
            if result.shape != wanted or result.dtype != dtype:
                returned = f"with d={family.d}, b={family.b}: {name} returned {result.dtype} of shape {result.shape}"
                findings.add(key, f"{returned}; it must be {dtype} of shape {wanted}")
                return


def check_theory(findings: Findings, theory: Mapping[str, Any]) -> None:
    """Check that the functions under `theory` exist and take the arguments of a run; its keys are known."""
    for name, value in theory.items():
        key = f"theory.{name}"
        if value is None:
            continue
        if name == "embedding_constant":
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < np.inf:
                condition = "must be a finite number >= 0, or an interpolation of one, such as ${d}"
                findings.add(key, f"{value!r} {condition}")
        elif name in MOMENTS:
            formula(findings, key, value, *MOMENTS[name])
        elif not isinstance(value, Mapping) or "_target_" in value:
            findings.add(key, f"{value!r:.60} must map names to functions: write `own:` above each _target_")
        else:
            for reading, node in value.items():
                sure = name == "inner_products" and reading == ALWAYS
                formula(findings, f"{key}.{reading}", node, *(((), ()) if sure else (("delta",), ("d", "b"))))


def check_recovery(findings: Findings, node: Any, family: Family | None) -> None:
    """Check a recovery's `algorithm`, and recover signals once.

    Arguments:
        findings: receives the mistakes.
        node: the section `algorithm`, resolved.
        family: its `sensing` family at one size; None if that has mistakes.
    """
    from sketchbench.sketch.recovery.recovery import Recovered, Recovery

    key = "algorithm"
    if subclass(findings, key, node, Recovery, example="my_recoveries.Thresholding", given=("k",)) and family:
        with findings.running(key):
            sketch, x = family.draw(KEY, kernels="numpy"), np.zeros((VECTORS, family.d))
            x[:, 0], x[:, -1] = 1.0, -2.0
            recovery: Recovery = instantiate(dict(node), _partial_=True)(k=2)
            y = sketch.sketch(x)
            with findings.untouched(key, measurements=y):
                result: object = recovery._recover(sketch.with_workspace(), y)
            if not isinstance(result, Recovered):
                kind = type(result).__name__
                findings.add(key, f"_recover returned a {kind}; it must return a Recovered (x, iterations, trace)")
                return
            recovery.recover(sketch, sketch.sketch(x))


def check_compressor(findings: Findings, node: Any) -> None:
    """Check a compressor's `algorithm`, a class or a function that makes a compressor, and run one round without a byte
    limit and one with; `node` is resolved."""
    from sketchbench.compressor import door
    from sketchbench.compressor.compressor import At, Compressor
    from sketchbench.compressor.message import Layout, byte_limit

    key, layout = "algorithm", Layout(SHAPES)
    example, given = "my_compressors.Thinned", ("layout", "limit")
    target = _target(findings, key, node, example)
    if inspect.isfunction(target):
        if _bound(findings, key, node, target, (), given) is None:
            return
    elif target is None or subclass(findings, key, node, Compressor, example=example, given=given) is None:
        return
    elif not isinstance(getattr(target, "adds_up", None), bool):
        findings.add(key, f"{target.__name__} must say `adds_up: ClassVar[bool] = True`, or False")
        return
    loaded, make = kernels.load("numpy"), instantiate(dict(node), _partial_=True)
    updates = np.random.default_rng(0).standard_normal((TRIALS, CLIENTS, layout.d)).astype("float32")
    with findings.running(key):
        for compression in (1, COMPRESSION):
            try:
                compressor: Compressor = make(layout=layout, limit=byte_limit(layout, compression))
            except SizeError:
                continue
            if not isinstance(compressor, Compressor):
                findings.add(f"{key}._target_", f"{node['_target_']} made {_kind(compressor)}; it must be a Compressor")
                return
            memory = compressor.begin(TRIALS, CLIENTS, loaded)
            for number in range(2):  # the second with a memory of the first
                kept = {f"memory (array {i})": array for i, array in enumerate(door.arrays(tuple(memory)))}
                with findings.untouched(key, updates=updates, **kept):
                    done = compressor.exchange(updates, memory, At(loaded, KEY, number, TRIALS))
                memory = done.memory
            step = np.asarray(done.step)
            if step.shape != (TRIALS, layout.d) or step.dtype != np.float32:
                condition = f"it must be float32 of shape {(TRIALS, layout.d)}"
                findings.add(key, f"a round gave a step of {step.dtype} and shape {step.shape}; {condition}")
                return
            if done.bytes_up > compressor.limit:
                name = type(compressor).__name__
                sent = f"{name} sends {done.bytes_up} bytes in a round, the limit is {compressor.limit}"
                findings.add(key, f"{sent}; raise SizeError in `check`, by `needs`")
                return


def subclass(
    findings: Findings, key: str, node: Any, base: type, *, example: str, given: Collection[str]
) -> type | None:
    """Return the dataclass, derived from `base`, that a node names with its parameters; None, and mistakes, for
    anything else.

    Arguments:
        findings: receives the mistakes.
        key, node: the key in the YAML file, and its value.
        example: an example of a `_target_`.
        given: the parameters that the run sets.
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
    """Return the bound callable; add a mistake and return None if it does not accept these arguments.

    Arguments:
        findings, key, node: as in `subclass`.
        positional, named: the names of the arguments of a call.
        wanted: further arguments, passed if the function has these parameters.
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
    return _bound(findings, key, node, function, positional, named, wanted)


def _bound(
    findings: Findings,
    key: str,
    node: Mapping[str, Any],
    function: Callable[..., Any],
    positional: tuple[str, ...],
    named: tuple[str, ...],
    wanted: tuple[str, ...] = (),
) -> Callable[..., Any] | None:
    """Return the function of a node with its parameters; add a mistake and return None as `formula` does."""
    name = node["_target_"]
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
    """Return the object that the `_target_` of a node names; add a mistake and return None if there is none."""
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
    """Return whether a node has all required parameters of a dataclass, and no unknown ones."""
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
