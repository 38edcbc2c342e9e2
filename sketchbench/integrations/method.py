"""A compressor of gradients or updates, as a user names it."""

from collections.abc import Callable

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.run.config.composition import load_method, own_methods

ForLayout = Callable[[Layout], Compressor]


def for_layouts(make: MakeCompressor | str, compression: float, seed: int) -> ForLayout:
    """What makes the compressor of a layout.

    Arguments:
        make: the name of a file in `conf/compressor`, or a class or partial that is called with `layout` and `limit`.
        compression: bytes of a whole update over those of a message; > 0.
        seed: of randomness, >= 0.

    Raises:
        ValueError: for a compression or a seed that is out of range, or an unknown name. What it returns raises
            ValueError for a compressor that needs more than updates, and SizeError where no message fits.
    """
    chosen = named(make) if isinstance(make, str) else make
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


def named(name: str) -> MakeCompressor:
    """The compressor of a file in `conf/compressor`; ConfigError for an unknown name, with those that there are."""
    from hydra.utils import instantiate

    choose("compressor", name, own_methods(CONF)["compressor"])
    made: MakeCompressor = instantiate(load_method("compressor", name)["algorithm"], _partial_=True)
    return made
