"""The parameters of a CUDA kernel, read from its source, and the check of every launch against them.
CuPy passes an array as a bare pointer: given another dtype, a strided view, a short array or another device's array, a
kernel silently reads other numbers. In the source, `HOLDS(...)` after a pointer gives its number of entries: an
expression in the kernel's integers, in the names of its other arrays, which stand for their sizes, and in `blocks`, the
number of blocks of the launch."""

import re
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

_DTYPES = {
    "u32": "uint32",
    "u64": "uint64",
    "i64": "int64",
    "int": "int32",
    "signed char": "int8",
    "float": "float32",
    "double": "float64",
}
_KERNEL = re.compile(r"(?:template <([^>]*)>\s*)?__global__ void\s+(?:__launch_bounds__\([^;{]*?\)\s+)?(\w+)\(")
_PARAMETER = re.compile(r"(const )?(?:typename )?(.+?)(\*?)(?: __restrict__)? (\w+)(?: HOLDS\((.*)\))?", re.DOTALL)
_FORMAL = re.compile(r"\w+ (\w+)(?: = (.*))?")
_OUT = re.compile(r"struct (\w+) \{\s*typedef ([\w ]+) Out;")
_LIMIT = 2**63
_REMEMBERED = 2**12  # forms of a kernel's launches


class Parameter(NamedTuple):
    """A parameter of a kernel: an array with `size` entries, or a number, without size."""

    name: str
    dtype: np.dtype[Any]
    size: CodeType | None
    written: bool


def parameters(code: str, name: str, constants: Mapping[str, int]) -> tuple[Parameter, ...]:
    """The parameters of a kernel's instance, such as `scatter<float, 32>`, in CUDA source; arguments with defaults may
    be left out. `constants` are macros of the source that expressions in `HOLDS` may name."""
    plain, _, given = name.rstrip(">").partition("<")
    for match in _KERNEL.finditer(code):
        if match[2] == plain:
            break
    else:
        raise ValueError(f"the CUDA source has no kernel {plain}")
    formal = [_FORMAL.fullmatch(part.strip()) for part in (match[1] or "").split(",") if part]
    defaults = {part[1]: part[2] for part in formal if part}
    arguments = given.split(", ") if given else []
    types = dict(zip(defaults, (*arguments, *list(defaults.values())[len(arguments) :]), strict=True))
    outs = dict(_OUT.findall(code))
    return tuple(_parameter(text, types, outs, constants, name) for text in _split(code[match.end() :]))


def _split(text: str) -> list[str]:
    """The parts between commas, up to the parenthesis that closes a list of parameters."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts]


def _parameter(
    text: str, types: Mapping[str, str], outs: Mapping[str, str], constants: Mapping[str, int], kernel: str
) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None or bool(match[3]) != bool(match[5]):
        raise ValueError(f"{kernel}: {text!r} is no parameter; a pointer needs HOLDS(its number of entries)")
    owner, _, member = match[2].partition("::")
    kind = outs[types[owner]] if member else types.get(match[2], match[2])
    size = match[5] and re.sub(r"\b[A-Z]+\b", lambda found: str(constants[found[0]]), match[5]).replace("/", "//")
    expression = compile(size, f"<HOLDS of {kernel}>", "eval") if size else None
    return Parameter(match[4], np.dtype(_DTYPES[kind]), expression, bool(match[3]) and not match[1])


class Launches:
    """The launches of a kernel's instance, each compared with the parameters, `wanted`, unless one of the same form has
    passed: the same numbers that sizes depend on, and arrays of the same dtypes, sizes, contiguity and devices."""

    def __init__(self, kernel: str, wanted: Sequence[Parameter]) -> None:
        self._kernel, self._wanted = kernel, wanted
        sizing = {name for parameter in wanted if parameter.size for name in parameter.size.co_names}
        self._sizing = [parameter.name in sizing for parameter in wanted]
        self._passed: set[tuple[Any, ...]] = set()

    def check(self, blocks: int, arguments: Sequence[Any], device: int) -> None:
        """Raise TypeError for a wrong number of arguments, a wrong dtype, or an array instead of a number; ValueError
        for a strided array, another size or device, and numbers below 0 or beyond 64 bits. Arguments are arrays of the
        current device, Python's integers for int64, and NumPy's scalars. A form that passed before takes a look at each
        argument, without an evaluation of sizes."""
        form = (blocks, device, len(arguments), *map(_form, arguments, self._sizing))
        if form in self._passed:
            return
        _compare(self._kernel, self._wanted, blocks, arguments, device)
        if len(self._passed) == _REMEMBERED:
            self._passed.clear()
        self._passed.add(form)


def _form(argument: Any, sizing: bool) -> Any:
    """What `_compare` asks of an argument; the value of a number only if it is a wrong one, or sizes depend on it."""
    if type(argument) is int:
        return argument if sizing or not 0 <= argument < _LIMIT else None
    if isinstance(argument, np.generic):
        return (argument.dtype,)
    try:
        return (argument.dtype, argument.size, argument.flags.c_contiguous, argument.device.id)
    except AttributeError:
        return type(argument)


def _compare(kernel: str, wanted: Sequence[Parameter], blocks: int, arguments: Sequence[Any], device: int) -> None:
    if len(arguments) != len(wanted):
        raise TypeError(f"{kernel} takes {len(wanted)} arguments, not {len(arguments)}")
    named = dict(zip((parameter.name for parameter in wanted), arguments, strict=True))
    for parameter in wanted:
        if parameter.size is None:
            _check_number(f"{kernel}: {parameter.name}", parameter, named[parameter.name])
    sizes = {p.name: getattr(named[p.name], "size", 0) if p.size else named[p.name] for p in wanted}
    for parameter in wanted:
        if parameter.size is None:
            continue
        argument, where = named[parameter.name], f"{kernel}: {parameter.name}"
        if not hasattr(getattr(argument, "device", None), "id"):
            raise TypeError(f"{where} must be an array of the device, not {type(argument).__name__}")
        if argument.dtype != parameter.dtype:
            raise TypeError(f"{where} must be of {parameter.dtype}, not {argument.dtype}")
        if not argument.flags.c_contiguous:
            raise ValueError(f"{where} must be contiguous, not of strides {argument.strides}; copy it first")
        size = eval(parameter.size, {"__builtins__": {}}, {**sizes, "blocks": blocks})
        if argument.size != size:
            raise ValueError(f"{where} must have {size} entries, not {argument.size}")
        if argument.device.id != device:
            raise ValueError(f"{where} must be on the current device, {device}, not on {argument.device.id}")


def _check_number(where: str, parameter: Parameter, argument: Any) -> None:
    if type(argument) is int and parameter.dtype == np.int64:
        if not 0 <= argument < _LIMIT:
            raise ValueError(f"{where}={argument} must be >= 0 and < 2^63")
    elif not isinstance(argument, np.generic) or argument.dtype != parameter.dtype:
        kind = argument.dtype if hasattr(argument, "dtype") else type(argument).__name__
        raise TypeError(f"{where} must be a number of {parameter.dtype}, not {kind}")
