"""A compressor of gradients or updates, by the user's name for it."""

import dataclasses
import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.run.config.composition import load_method

ForLayout = Callable[[Layout], Compressor]


def for_layouts(make: MakeCompressor | str, compression: float, seed: int) -> ForLayout:
    """Return a function that makes the compressor of a layout. Raises ValueError for a compression or a seed out of
    range, or an unknown name. The function raises ValueError for a compressor that needs more than updates, and
    SizeError if no message fits.

    Arguments:
        make: the name of a file in `conf/compressor`, or a class or partial with arguments `layout` and `limit`.
        compression: bytes of a whole update over bytes of a message; > 0.
        seed: of randomness, >= 0.
    """
    chosen = maker(make)
    byte_limit(Layout(((1,),)), compression)
    at = At(kernels.load("numba"), seeds.key(seed), 0, 1)

    def build(layout: Layout) -> Compressor:
        compressor = chosen(layout=layout, limit=byte_limit(layout, compression))
        if any(one is not None for one in traits.projections(compressor, at)):
            raise ValueError(
                f"{type(compressor).__name__} compresses the inputs of layers, not their gradients; build the network "
                "of SketchedLinear and SketchedConv2d, and send its gradients as they are"
            )
        return compressor

    return build


def maker(make: MakeCompressor | str) -> MakeCompressor:
    """The function that makes a compressor, of a name or as it is."""
    return named(make) if isinstance(make, str) else make


def named(name: str) -> MakeCompressor:
    """The compressor of a file in `conf/compressor`. Raises ConfigError for an unknown name, with the known ones."""
    from hydra.utils import instantiate

    choose("compressor", name, sorted(path.stem for path in (CONF / "compressor").glob("*.yaml")))
    made: MakeCompressor = instantiate(load_method("compressor", name)["algorithm"], _partial_=True)
    return made


def described(value: Any) -> str:
    """A text of a compressor, or of what makes it, with all parameters but the layout. It is the same in all processes,
    and differs between compressors, unless classes or functions have one name."""
    if isinstance(value, functools.partial):
        return _call(described(value.func), {**dict(enumerate(value.args)), **value.keywords})
    if isinstance(value, Mapping | list | tuple):
        return _call("", value if isinstance(value, Mapping) else dict(enumerate(value)))
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if dataclasses.is_dataclass(value):
        given = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _call(described(type(value)), {name: of for name, of in given.items() if not isinstance(of, Layout)})
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _call(name: str, given: Mapping[Any, Any]) -> str:
    told = ", ".join(f"{key}={described(of)}" for key, of in given.items())
    return f"{name}({told})" if given or not name else name


def versions() -> str:
    """The versions of the packages that decide messages and draw random numbers."""
    return f"sketchbench {version('sketchbench')}, NumPy {np.__version__}"
