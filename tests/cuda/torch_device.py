"""A CUDA device for torch that computes on the CPU, beside the emulated one of CuPy.

Of every storage it is known whether it is on the device. What a function makes of tensors on the device is there, too,
also in a backward pass. Where tensors of both kinds meet, and where NumPy takes one of the device, torch's errors are
raised.
"""

import importlib.abc
import importlib.util
import os
import sys

_DEVICE = {}  # of storages on the device: weak references, by which their addresses are not taken by others
_PRUNED = [1000]


def plain(x):
    """What NumPy can take over by DLPack."""
    return getattr(x, "_a", x)


def _unwrapped(tensor):
    import torch

    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def on_device(tensor):
    import torch

    if not isinstance(tensor, torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():
        return _unwrapped(tensor).untyped_storage()._cdata in _DEVICE


def _put(result):
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    for tensor in _tensors(result):
        with torch._C.DisableTorchFunction():
            storage = _unwrapped(tensor).untyped_storage()
            if storage._cdata not in _DEVICE:
                _DEVICE[storage._cdata] = StorageWeakRef(storage)
    if len(_DEVICE) > _PRUNED[0]:
        for address in [address for address, reference in _DEVICE.items() if reference.expired()]:
            del _DEVICE[address]
        _PRUNED[0] = 2 * len(_DEVICE) + 1000
    return result


def _tensors(x):
    import torch

    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for one in x:
            yield from _tensors(one)
    elif isinstance(x, dict):
        yield from _tensors(list(x.values()))


def _install(array):
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils import dlpack
    from torch.utils._python_dispatch import TorchDispatchMode

    aten = torch.ops.aten
    # What takes tensors of both kinds: copies, and indices.
    mixed = {aten.copy_, aten.index, aten.index_put_, aten.index_put, aten._index_put_impl_, aten.set_}
    numpy = (torch.Tensor.numpy, torch.Tensor.__array__)

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            given = [tensor for tensor in _tensors([args, kwargs or {}]) if tensor.layout == torch.strided]
            # what C++ makes from nothing, such as a derivative that is zero, is where the arguments of its caller are
            there = [tensor for tensor in given or _tensors(devices.given) if on_device(tensor)]
            if there and function.overloadpacket not in mixed:
                for tensor in given:
                    if tensor.ndim and not on_device(tensor):
                        raise RuntimeError(
                            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
                            f"and cpu! (emulated; {function})"
                        )
            result = function(*args, **(kwargs or {}))
            if there and not (function.overloadpacket in mixed and not on_device(given[0])):
                _put(result)
            return result

    class Devices(TorchFunctionMode):
        given = ()  # arguments of the functions that are being called

        def __torch_function__(self, function, types, args=(), kwargs=None):
            before, devices.given = devices.given, [args, kwargs or {}, devices.given]
            try:
                return self.called(function, args, dict(kwargs or {}))
            finally:
                devices.given = before

        def called(self, function, args, kwargs):  # noqa: PLR0911
            if function == torch.Tensor.device.__get__:
                return torch.device("cuda", 0) if on_device(args[0]) else function(*args)
            if function == torch.Tensor.is_cuda.__get__:
                return on_device(args[0])
            if function in numpy and on_device(args[0]):
                raise TypeError(
                    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                    "memory first. (emulated)"
                )
            if function in (torch.Tensor.cpu, torch.Tensor.cuda):
                return moved(args[0], function is torch.Tensor.cuda)
            if function is torch.Tensor.to:
                return self.to(*args, **kwargs)
            if function in (torch.as_tensor, torch.asarray, torch.from_dlpack) and isinstance(args[0], array):
                result = from_dlpack(args[0])
                return self.to(result, **kwargs) if kwargs else result
            device = kwargs.get("device")
            if device is None:
                return function(*args, **kwargs)
            if torch.device(device).type != "cuda":
                if function in (torch.as_tensor, torch.tensor) and isinstance(args[0], torch.Tensor):
                    return moved(function(*args, **{**kwargs, "device": None}), False)
                return function(*args, **kwargs)
            kwargs["device"] = None
            if args and isinstance(args[0], torch.Tensor) and not on_device(args[0]):
                return moved(function(*args, **kwargs), True)
            result = function(*args, **kwargs)
            if function is torch.as_tensor and not isinstance(args[0], torch.Tensor):
                result = result.clone()  # which may share memory with an array of NumPy's
            return _put(result)

        def to(self, tensor, *args, **kwargs):
            there, rest = on_device(tensor), []
            for argument in [*args, kwargs.pop("device", None)]:
                if isinstance(argument, (str, torch.device)):
                    there = torch.device(argument).type == "cuda"
                elif isinstance(argument, torch.Tensor):
                    there = on_device(argument)
                    rest.append(argument.dtype)
                elif argument is not None:
                    rest.append(argument)
            copied = [one for one in rest if isinstance(one, bool)][1:]
            kwargs.pop("non_blocking", None)
            if copied:
                (kwargs["copy"],) = copied
            kinds = [one for one in rest if isinstance(one, torch.dtype)]
            result = torch.Tensor.to(tensor, *kinds, **kwargs) if kinds or kwargs else tensor
            return moved(result, there)

    def moved(tensor, there):
        if on_device(tensor) == there:
            return tensor
        return _Moved.apply(tensor, there)

    class _Moved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor, there):
            ctx.there = there
            with torch.utils._python_dispatch._disable_current_modes():
                made = tensor.detach().clone()
            return _put(made) if there else made

        @staticmethod
        def backward(ctx, gradient):
            return moved(gradient, not ctx.there), None

    begun = torch.futures.Future.__init__

    def begin(self, *, devices=None):
        begun(self, devices=[one for one in devices or [] if torch.device(one).type != "cuda"])

    torch.futures.Future.__init__ = begin  # torch without CUDA refuses to wait for a device
    theirs = dlpack.from_dlpack

    def from_dlpack(x, *args, **kwargs):
        if isinstance(x, array):
            return _put(theirs(x.copy() if not x.flags.writeable else x))
        return theirs(x, *args, **kwargs)

    dlpack.from_dlpack = torch.from_dlpack = from_dlpack
    engine = torch.autograd._engine_run_backward

    def run_backward(*args, **kwargs):
        """Devices are known in Python's backward functions, too: a mode is off while it answers torch.autograd.grad."""
        with Devices():
            return engine(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward
    torch.cuda.synchronize = lambda *args: None
    devices = Devices()
    Operations().__enter__()
    devices.__enter__()


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Installs the device as soon as torch was imported."""

    def __init__(self, array):
        self._array = array

    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _install(self._array)

        spec.loader.exec_module = exec_module
        return spec


def install_after_import(array):
    """For the given class of arrays, where torch is or will be imported; not where EMULATED_CUDA_TORCH is `none`."""
    if os.environ.get("EMULATED_CUDA_TORCH") == "none":
        return
    if "torch" in sys.modules:
        _install(array)
    else:
        sys.meta_path.insert(0, _AfterTorch(array))
