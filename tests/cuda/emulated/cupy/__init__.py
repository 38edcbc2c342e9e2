"""The part of CuPy that sketchbench uses, on an emulated device: strict, with names and signatures of the real package.

An array computes with NumPy and is none: beside a NumPy array, in an implicit conversion and in a function that CuPy
lacks it is refused, as by CuPy. Functions return arrays without axes where NumPy returns numbers. What nobody has
written can't be read, and two entries can't be assigned to one place.
"""
# ruff: noqa: E402, N801

import builtins
import functools
import inspect
import json
import operator
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT))
import emulator as _emulator
import torch_device as _torch_device

sys.path.remove(str(_ROOT))

_NAMES = json.loads(Path(__file__).with_name("names.json").read_text())
__version__ = _NAMES["version"] + "+emulated"
EMULATED = True  # what sketchbench.kernels.device asks for
_WATCH = _emulator.checked()
_SCALARS = (bool, int, float, complex, np.generic)
_ALIGNMENT = 512


class _Memory:
    """What arrays are views of: `filled` says of each entry whether it was written, and is None where all were."""

    def __init__(self, owner, first=0, item=1, filled=None):
        self.owner, self.first, self.item, self.filled = owner, first, item, filled

    def of(self, a):
        """`filled` for a view of this memory, in its shape."""
        if a.dtype.itemsize != self.item:
            raise ValueError("memory that is partly written can't be viewed in another dtype")
        start = (a.ctypes.data - self.first) // self.item
        strides = tuple(stride // self.item for stride in a.strides)
        return np.lib.stride_tricks.as_strided(self.filled[start:], a.shape, strides)

    def read(self, a):
        if self.filled is not None and a.size:
            if not self.of(a).all():
                raise _emulator.DeviceError("memory is read that nobody has written")
            if self.filled.all():
                self.filled = None

    def write(self, a):
        if self.filled is not None and a.size:
            self.of(a)[...] = 1


def _allocated(shape, dtype):
    """An array of entries that nobody has written."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc" or dtype.itemsize > 16:
        raise ValueError(f"Unsupported dtype {dtype}")
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    size = int(np.prod(shape, dtype=object))
    owner = np.empty(size * dtype.itemsize + _ALIGNMENT, np.uint8)
    first = -owner.ctypes.data % _ALIGNMENT
    a = owner[first : first + size * dtype.itemsize].view(dtype).reshape(shape)
    filled = None
    if _WATCH:
        owner.fill(0xAB)
        filled = np.zeros(size, np.uint8)
    return ndarray._of(a, _Memory(owner, a.ctypes.data, dtype.itemsize, filled))


def _only(order="C", **others):
    """Refuse what is not emulated: other orders in memory, and options that are given."""
    given = {name: value for name, value in others.items() if value is not None}
    if order not in ("C", "K", None) or given:
        raise NotImplementedError(f"the emulated device has no order={order!r}, {given}")


def _lowered(x):
    """What NumPy computes with, for arrays of the device, numbers, and sequences of them; TypeError for the rest."""
    if isinstance(x, ndarray):
        x._memory.read(x._a)
        return x._a
    if isinstance(x, (list, tuple)):
        return tuple(map(_lowered, x)) if isinstance(x, tuple) else list(map(_lowered, x))
    if x is None or x is Ellipsis or isinstance(x, (str, type, np.dtype, slice, *_SCALARS)):
        return x
    raise TypeError(f"Unsupported type {type(x)}")


def _raised(result, *inputs):
    """What NumPy returned, as arrays of the device: views have the memory of the inputs that they are views of."""
    if isinstance(result, tuple):
        return tuple(_raised(one, *inputs) for one in result)
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if not isinstance(result, np.ndarray):
        return result
    owner = result if result.base is None else result.base
    for one in inputs:
        if isinstance(one, ndarray) and (one._memory.owner is owner or one._a is owner):
            return ndarray._of(result, one._memory)
    return ndarray._of(result)


def _computed(function, args, kwargs):
    """A function of NumPy, of arrays of the device; where it is given `out`, this is returned."""
    out = kwargs.pop("out", None)
    given = [_lowered(argument) for argument in args]
    named = {name: _lowered(value) for name, value in kwargs.items()}
    if out is None:
        return _raised(function(*given, **named), *args, *kwargs.values())
    if not isinstance(out, ndarray):
        raise TypeError(f"return arrays must be of ArrayType, not {type(out)}")
    out._write(function(*given, **named))
    return out


class ndarray:
    __slots__ = ("__weakref__", "_a", "_memory")
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        _only(memptr=memptr, strides=strides, order=order)
        made = _allocated(shape, dtype)
        self._a, self._memory = made._a, made._memory

    @classmethod
    def _of(cls, a, memory=None):
        made = object.__new__(cls)
        made._a, made._memory = a, memory or _Memory(a if a.base is None else a.base)
        return made

    def _write(self, values):
        self._a[...] = values
        self._memory.write(self._a)

    def __array__(self, *args, **kwargs):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed."
            " Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or ufunc.__name__ not in _NAMES["functions"]:
            return NotImplemented
        if "out" in kwargs:
            (kwargs["out"],) = kwargs["out"]
        return getattr(sys.modules[__name__], ufunc.__name__)(*inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        module = linalg if function.__module__ == "numpy.linalg" else sys.modules[__name__]
        if not builtins.all(issubclass(kind, ndarray) for kind in types) or not hasattr(module, function.__name__):
            return NotImplemented
        return getattr(module, function.__name__)(*args, **kwargs)

    shape = property(lambda self: self._a.shape)
    dtype = property(lambda self: self._a.dtype)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    nbytes = property(lambda self: self._a.nbytes)
    itemsize = property(lambda self: self._a.itemsize)
    strides = property(lambda self: self._a.strides)
    flags = property(lambda self: self._a.flags)
    device = property(lambda self: cuda.Device(0))
    T = property(lambda self: _raised(self._a.T, self))
    real = property(lambda self: _raised(self._a.real, self))
    imag = property(lambda self: _raised(self._a.imag, self))

    def get(self, stream=None, order="C", out=None, blocking=True):
        _only(stream=stream, order=order, out=out)
        return _lowered(self).copy(order="C")

    def item(self):
        return _lowered(self).item()

    def tolist(self):
        return _lowered(self).tolist()

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        _only(order=order, casting=casting, subok=subok)
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return _raised(_lowered(self).astype(dtype))

    def copy(self, order="C"):
        _only(order=order)
        return _raised(_lowered(self).copy(order="C"))

    def fill(self, value):
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self._write(_lowered(value))

    def sort(self, axis=-1, kind=None):
        self._write(np.sort(_lowered(self), axis=axis, kind="stable"))

    def argsort(self, axis=-1, kind=None):
        return _raised(np.argsort(_lowered(self), axis=axis, kind="stable"))

    def reshape(self, *shape, order="C", copy=None):
        _only(order=order, copy=copy)
        return self._shaped(self._a.reshape(*shape))

    def ravel(self, order="C"):
        _only(order=order)
        return self._shaped(self._a.ravel())

    def _shaped(self, result):
        """A view is one of what nobody has written, too; a copy reads."""
        if np.shares_memory(result, self._a) or not result.size:
            return ndarray._of(result, self._memory)
        _lowered(self)
        return ndarray._of(result)

    def __getattr__(self, name):
        if name.startswith("_") or name not in _NAMES["ndarray"]:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        taken = _signature(_NAMES["ndarray"][name])

        def method(*args, **kwargs):
            taken.bind(*args, **kwargs)
            return _computed(lambda a, *more, **named: getattr(a, name)(*more, **named), (self, *args), kwargs)

        return method

    def __getitem__(self, key):
        return _raised(self._a[_index(key)], self)

    def __setitem__(self, key, value):
        parts = key if isinstance(key, tuple) else (key,)
        chosen = builtins.any(isinstance(part, (ndarray, list, np.ndarray)) for part in parts)
        if isinstance(value, np.ndarray) and value.ndim and not chosen:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        if not isinstance(value, (ndarray, *_SCALARS)) and not (chosen and isinstance(value, (list, np.ndarray))):
            raise TypeError(f"Unsupported type {type(value)}")
        index = _index(key)
        if chosen and isinstance(value, ndarray) and value.size > 1:
            marks = np.arange(self.size).reshape(self.shape)[index].ravel()
            if len(np.unique(marks)) < len(marks):
                raise _emulator.DeviceError("two values are assigned to one place, and either may win")
        self._a[index] = _lowered(value) if isinstance(value, ndarray) else value
        if self._memory.filled is not None:
            self._memory.of(self._a)[index] = 1

    def __bool__(self):
        return bool(_lowered(self))

    def __int__(self):
        return int(_lowered(self))

    def __float__(self):
        return float(_lowered(self))

    def __index__(self):
        return operator.index(_lowered(self))

    def __complex__(self):
        return complex(_lowered(self))

    def __len__(self):
        return len(self._a)

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return repr(self._a)

    def __format__(self, form):
        return format(self._a if self.ndim else self._a[()], form)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return (asarray, (self.get(),))

    def __dlpack__(self, **options):
        return _lowered(self).__dlpack__()

    def __dlpack_device__(self):
        return self._a.__dlpack_device__()


def _index(key):
    def one(part):
        return _lowered(part) if isinstance(part, ndarray) else part

    return tuple(map(one, key)) if isinstance(key, tuple) else one(key)


def _operators():
    """Of arrays with arrays and numbers, and nothing else."""

    def applied(function, self, *others):
        for other in others:
            if isinstance(other, (np.ndarray, list, tuple)):
                raise TypeError(f"Unsupported type {type(other)}")
        if not builtins.all(isinstance(other, (ndarray, *_SCALARS)) for other in others):
            return NotImplemented
        return _raised(function(_lowered(self), *map(_lowered, others)))

    def binary(name, function):
        setattr(ndarray, f"__{name}__", lambda self, other: applied(function, self, other))
        if name in ("eq", "ne", "lt", "le", "gt", "ge"):
            return
        setattr(ndarray, f"__r{name}__", lambda self, other: applied(lambda a, b: function(b, a), self, other))

        def inplace(self, other):
            result = applied(function, self, other)
            if not isinstance(result, ndarray):
                return result
            if not np.can_cast(result.dtype, self.dtype, "same_kind"):
                raise TypeError(
                    f"output (typecode {self.dtype.char!r}) could not be coerced from {result.dtype.char!r}"
                )
            self._write(result._a)
            return self

        setattr(ndarray, f"__i{name}__", inplace)

    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul eq ne lt le gt ge".split():
        binary(name, getattr(operator, f"__{name}__"))
    for name in "neg pos abs invert".split():
        function = getattr(operator, f"__{name}__")
        setattr(ndarray, f"__{name}__", lambda self, function=function: applied(function, self))


_operators()


def _offered(name, function, signature):
    """A function of NumPy as CuPy offers it: TypeError for arguments that CuPy's does not take."""
    taken = _signature(signature)

    def offered(*args, **kwargs):
        if taken is not None:
            bound = taken.bind(*args, **kwargs).arguments
            if name in ("packbits", "unpackbits") and bound.get("axis") is not None:
                raise NotImplementedError("axis option is not supported yet")
        if name in ("sort", "argsort", "argpartition"):
            kwargs["kind"] = "stable"
        if name == "argpartition":  # which sorts
            return _raised(np.argsort(_lowered(args[0]), axis=kwargs.get("axis", -1), kind="stable"))
        return _computed(function, args, kwargs)

    offered.__name__ = name
    if taken is not None:
        offered.__signature__ = taken
    return offered


@functools.cache
def _signature(text):
    """From its text; None for what takes anything."""
    if not text:
        return None
    scope = {}
    exec(f"def f{text}: pass", {"__builtins__": {}}, scope)
    return inspect.signature(scope["f"])


for _name in "float16 float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
    globals()[_name] = getattr(np, _name)
bool_, nan, inf, pi, newaxis, finfo, iinfo, dtype = np.bool_, np.nan, np.inf, np.pi, None, np.finfo, np.iinfo, np.dtype

for _name, _text in _NAMES["functions"].items():
    if hasattr(np, _name):
        globals()[_name] = _offered(_name, getattr(np, _name), _text)


def empty(shape, dtype=float, order="C"):
    _only(order=order)
    return _allocated(shape, dtype)


def full(shape, fill_value, dtype=None, order="C"):
    made = empty(shape, dtype or np.asarray(_lowered(fill_value)).dtype, order)
    made.fill(fill_value)
    return made


def zeros(shape, dtype=float, order="C"):
    return full(shape, 0, dtype, order)


def ones(shape, dtype=float, order="C"):
    return full(shape, 1, dtype, order)


def empty_like(prototype, dtype=None, order="K", subok=None, shape=None):
    _only(order=order, subok=subok)
    return empty(prototype.shape if shape is None else shape, dtype or prototype.dtype)


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    _only(order=order, copy=copy)
    if isinstance(a, ndarray):
        return a if dtype in (None, a.dtype) else a.astype(dtype)
    return array(a, dtype)


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    _only(order=order, subok=subok or None, ndmin=ndmin or None)
    if isinstance(obj, ndarray):
        return obj.astype(dtype or obj.dtype, copy=copy)
    if isinstance(obj, (list, tuple)) and builtins.any(isinstance(one, ndarray) for one in obj):
        obj = np.stack([_lowered(one) for one in obj])
    values = np.array(obj, dtype=dtype)
    made = empty(values.shape, values.dtype)
    made._write(values)
    return made


def ascontiguousarray(a, dtype=None):
    a = asarray(a, dtype)
    return a if a.flags.c_contiguous else a.copy()


def asfortranarray(a, dtype=None):
    return _raised(np.asfortranarray(_lowered(asarray(a, dtype))))


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    _only(stream=stream, order=order, out=out)
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


def copyto(dst, src, casting="same_kind", where=None):
    _only(where=where)
    dst._write(_lowered(src))


def put_along_axis(arr, indices, values, axis):
    _lowered(arr)
    np.put_along_axis(arr._a, _lowered(indices), _lowered(values), axis)


def broadcast_to(array, shape):
    if not isinstance(array, ndarray):
        raise TypeError(f"Unsupported type {type(array)}")
    return _raised(np.broadcast_to(_lowered(array), shape), array)


def from_dlpack(array, *, device=None, copy=None):
    _only(device=device, copy=copy)
    if not isinstance(array, ndarray) and not _torch_device.on_device(array):
        raise BufferError("a tensor on the CPU can't be an array of the device")
    return ndarray._of(np.from_dlpack(_torch_device.plain(array)))


linalg = ModuleType("cupy.linalg")
for _name, _text in _NAMES["linalg"].items():
    setattr(linalg, _name, _offered(_name, getattr(np.linalg, _name), _text))


class _CUDARuntimeError(RuntimeError):
    pass


class _Device:
    def __init__(self, device=None):
        if device:
            raise _CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.id = 0

    def synchronize(self):
        pass


cuda = ModuleType("cupy.cuda")
cuda.Device = _Device
cuda.runtime = SimpleNamespace(
    CUDARuntimeError=_CUDARuntimeError,
    getDevice=lambda: 0,
    getDeviceCount=lambda: 1,
    memGetInfo=lambda: (2**34, 2**34),
    getDeviceProperties=lambda device: {"name": b"emulated on a CPU"},
)
sys.modules["cupy.cuda"], sys.modules["cupy.linalg"] = cuda, linalg


class RawModule:
    """Kernels, compiled at the first launch; each argument is compared with what the kernel takes, and watched."""

    def __init__(
        self,
        code=None,
        *,
        path=None,
        options=(),
        backend="nvrtc",
        translate_cucomplex=False,
        enable_cooperative_groups=False,
        name_expressions=None,
        jitify=None,
    ):
        self._source, self._module = (code, options, name_expressions), None

    def get_function(self, name):
        if self._module is None:
            self._module = _emulator.Module(*self._source)
        types = self._module.types[name]

        def launch(grid, block, args, *, shared_mem=0, stream=None):
            arrays = [(one, kind) for one, kind in zip(args, types, strict=False) if isinstance(one, ndarray)]
            for one, kind in arrays:
                if kind[0] != "P":
                    continue
                if not one.flags.writeable:
                    raise _emulator.DeviceError(f"{name} writes an array whose entries are one in memory")
                for other, _ in arrays:
                    if other is not one and np.may_share_memory(one._a, other._a) and one.size and other.size:
                        raise _emulator.DeviceError(f"{name} writes an array that overlaps another one")
            self._module.launch(name, grid[0], block[0], [_passed(one) for one in args])

        return launch


def _passed(argument):
    if not isinstance(argument, ndarray):
        return argument
    filled, a = argument._memory.filled, argument._a
    if filled is not None and a.flags.c_contiguous and a.size:
        filled = argument._memory.of(a)
    return _emulator.Argument(a, filled)


_torch_device.install_after_import(ndarray)
