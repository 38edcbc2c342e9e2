"""Kernels in CUDA C++, compiled by g++ and launched on an emulated device; see `device.h` and `runtime.cpp`.

Environment:
    EMULATED_CUDA: `checked` (the default) watches every access to memory, of a kernel that takes no places of entries
        in its first launches with the same sizes; `fast` does not, for whole runs.
    EMULATED_CUDA_ORDER: of threads and blocks: 0 ascending (the default), 1 descending, else the seed of a shuffle.
    EMULATED_CUDA_CACHE: the folder of compiled kernels.
"""

import ctypes
import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
DTYPES = {
    **{"i1": "int8", "i4": "int32", "i8": "int64", "u1": "uint8", "u4": "uint32", "u8": "uint64"},
    **{"f4": "float32", "f8": "float64"},
}
FLAGS = ("-std=c++17", "-O2", "-g1", "-fPIC", "-w", "-fno-gnu-unique", "-fno-strict-aliasing", "-ffp-contract=off")
WATCHED = (
    "-fsanitize=thread",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "--param=tsan-instrument-func-entry-exit=0",
)
OFTEN = 3  # so many launches with the same sizes are watched, where addresses depend on sizes only
MOST_BLOCKS, MOST_THREADS = 2**31 - 1, 1024


class DeviceError(RuntimeError):
    """A race, an address outside of arrays, what nobody wrote, a barrier that some miss, or a wrong argument."""


class Argument(NamedTuple):
    """An array of the device: `filled` says for each entry whether it was written, or is None where all were."""

    array: np.ndarray[Any, Any]
    filled: np.ndarray[Any, Any] | None = None


def cache() -> Path:
    given = os.environ.get("EMULATED_CUDA_CACHE")
    folder = Path(given) if given else Path(tempfile.gettempdir()) / f"emulated-cuda-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def checked() -> bool:
    how = os.environ.get("EMULATED_CUDA", "checked")
    if how not in ("checked", "fast"):
        raise ValueError(f"EMULATED_CUDA={how} is unknown; choose checked or fast")
    return how == "checked"


class Module:
    """Compiled kernels.

    Arguments:
        code: CUDA C++.
        options: of NVRTC, of which macros count.
        names: of all kernels' instances.
        watch: whether every access to memory is watched.
    """

    def __init__(self, code: str, options: Sequence[str], names: Sequence[str], watch: bool | None = None) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}
        watch = self._watch = checked() if watch is None else watch
        self._watched: Counter[tuple[Any, ...]] = Counter()
        tail = "".join(
            f'extern "C" int launch_{i}(unsigned b, unsigned t, void** a) {{ return emulated_launch('
            f"[](void** a) UNWATCHED {{ emulated_call(&{name}, a); }}, b, t, a); }}\n"
            f'extern "C" void types_{i}(char* out) {{ emulated_types(&{name}, out); }}\n'
            for i, name in enumerate(names)
        )
        macros = [option for option in options if option.startswith("-D")]
        path = _built(f'#include "device.h"\n#line 1\n{code}\n{tail}', macros, watch)
        self._library = ctypes.CDLL(str(path))
        self._library.emulated_message.restype = ctypes.c_char_p
        self._library.emulated_origin.restype = ctypes.c_void_p
        self.types = {name: self._types(number) for name, number in self._numbers.items()}
        self._library.emulated_reset(1)
        if watch:
            self._share(path)
        self.schedule(int(os.environ.get("EMULATED_CUDA_ORDER", "0")))

    def _types(self, number: int) -> list[str]:
        out = ctypes.create_string_buffer(400)
        getattr(self._library, f"types_{number}")(out)
        return re.findall(r"[pP]?[iuf]\d", out.value.decode())

    def _share(self, path: Path) -> None:
        """Tell the device where shared arrays are: the static variables of the kernels."""
        lines = path.with_suffix(".symbols").read_text().splitlines()
        symbols = {name: (int(at, 16), int(size, 16)) for at, size, _, name in map(str.split, lines)}
        origin = self._library.emulated_origin() - symbols["emulated_base"][0]
        for name, (at, size) in symbols.items():
            if name.startswith("_ZZ"):
                self._library.emulated_shared(ctypes.c_size_t(origin + at), ctypes.c_size_t(size))

    def schedule(self, number: int) -> None:
        """Choose the order of threads and blocks; see the module."""
        self._library.emulated_schedule(ctypes.c_uint64(number))
        self._watched.clear()

    def launch(self, name: str, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Run a kernel.

        Arguments:
            arguments: an `Argument` for a pointer, Python's integers for int64, and NumPy's scalars.

        Raises:
            DeviceError: for what a device would do something undefined with.
        """
        types = self.types[name]
        if len(types) != len(arguments):
            raise DeviceError(f"{name} takes {len(types)} arguments, not {len(arguments)}")
        if not (0 < blocks <= MOST_BLOCKS and 0 < threads <= MOST_THREADS):
            raise DeviceError(f"{name}: {blocks} blocks of {threads} threads can't be launched")
        key, watch = (), False
        if self._watch:
            sizes = (one.array.size if isinstance(one, Argument) else one for one in arguments)
            key = (name, blocks, threads, *(size for size in sizes if type(size) is int))
            watch = self._watched[key] < OFTEN or not _known(types, arguments)
            self._library.emulated_watch(watch)
            self._library.emulated_reset(0)
        cells = bytearray()  # of 8 bytes
        for number, (kind, argument) in enumerate(zip(types, arguments, strict=True)):
            if isinstance(argument, Argument):
                address = _address(name, number, kind, argument)
                if watch:
                    self._tell(address, number, kind, argument)
                cells += address.to_bytes(8, "little")
            else:
                cells += _scalar(name, number, kind, argument).ljust(8, b"\0")
        start = ctypes.addressof(ctypes.c_char.from_buffer(cells))
        pointers = (ctypes.c_void_p * len(types))(*range(start, start + len(cells), 8))
        if getattr(self._library, f"launch_{self._numbers[name]}")(blocks, threads, pointers):
            raise DeviceError(f"{name}: {self._library.emulated_message().decode()}")
        if watch:
            self._watched[key] += all(map(_whole, arguments))  # else what is written is to be noted again
            return
        for one in arguments:
            if isinstance(one, Argument) and one.filled is not None:
                one.filled[...] = 1

    def _tell(self, address: int, number: int, kind: str, argument: Argument) -> None:
        """Tell the device of an array."""
        array, filled = argument
        self._library.emulated_array(
            ctypes.c_void_p(address),
            ctypes.c_size_t(array.nbytes),
            array.itemsize.bit_length() - 1,
            int(kind[0] == "p"),
            None if filled is None else ctypes.c_void_p(filled.ctypes.data),
            number,
        )


def _whole(argument: Any) -> bool:
    """Whether all entries were written, if it is an array."""
    return not isinstance(argument, Argument) or argument.filled is None or bool(argument.filled.all())


def _known(types: Sequence[str], arguments: Sequence[Any]) -> bool:
    """Whether a launch can show nothing new: it reads no places of entries, and only what was written."""
    read = [(kind, one) for kind, one in zip(types, arguments, strict=True) if kind[0] == "p"]
    return all(kind[1] != "i" and _whole(one) for kind, one in read)


def _address(name: str, number: int, kind: str, argument: Argument) -> int:
    array = argument.array
    if kind[0] not in "pP":
        raise DeviceError(f"{name}: argument {number} is an array, where {DTYPES[kind]} belongs")
    if array.dtype != DTYPES[kind[1:]]:
        raise DeviceError(f"{name}: argument {number} is of {array.dtype}, where {DTYPES[kind[1:]]} belongs")
    if not array.flags.c_contiguous:
        raise DeviceError(f"{name}: argument {number} is strided, which no kernel reads")
    return array.ctypes.data


def _scalar(name: str, number: int, kind: str, argument: Any) -> bytes:
    if kind == "i8" and type(argument) is int:
        return argument.to_bytes(8, "little", signed=True)
    if kind[0] in "pP" or not isinstance(argument, np.generic) or argument.dtype != DTYPES[kind]:
        what = f"{argument!r} of {type(argument).__name__}"
        raise DeviceError(f"{name}: argument {number} is {what}, where {kind} belongs")
    return argument.tobytes()


def _built(code: str, macros: Sequence[str], watch: bool) -> Path:
    """The library of kernels and device, from the cache where nothing has changed."""
    sources = [(HERE / name).read_text() for name in ("device.h", "runtime.cpp")]
    own = ["-DCHECKED"] if watch else []
    device = _made(_key(*FLAGS, *own, *sources), ".o", lambda target: _compile(HERE / "runtime.cpp", own, target))
    flags = [*(WATCHED if watch else ()), *macros]
    return _made(_key(code, *flags, device.stem), ".so", lambda target: _build(code, flags, device, target))


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _made(key: str, suffix: str, make: Callable[[Path], None]) -> Path:
    """A file of the cache, which one process makes while others wait for it."""
    target = cache() / f"{key}{suffix}"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            make(target)
    return target


def _compile(source: Path, flags: Sequence[str], target: Path) -> None:
    part = target.with_suffix(".part")
    _run(["g++", "-c", "-I", str(HERE), *FLAGS, *flags, str(source), "-o", str(part)])
    part.rename(target)


def _build(code: str, flags: Sequence[str], device: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache()) as room:
        kernels = Path(room, "kernels.cpp")
        kernels.write_text(code)
        _compile(kernels, flags, Path(f"{kernels}.o"))
        made = Path(room, "library.so")
        _run(["g++", "-shared", f"{kernels}.o", str(device), "-o", str(made)])
        symbols = _run(["nm", "--print-size", "--defined-only", str(made)])
        statics = {line.split()[-1] for line in _run(["nm", "--defined-only", f"{kernels}.o"]).splitlines()}
        kept = [
            line
            for line in symbols.splitlines()
            if len(line.split()) == 4
            and (line.split()[3] == "emulated_base" or (line.split()[3] in statics and line.split()[2] in "bBuV"))
        ]
        Path(room, "symbols").write_text("\n".join(kept))
        Path(room, "symbols").rename(target.with_suffix(".symbols"))
        made.rename(target)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DeviceError(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout
