"""A compressor of gradients or updates, by the user's name for it."""

from collections.abc import Callable

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
    """The compressor of a file in `conf/compressor`. Raises ConfigError for an unknown name, with the known ones."""
    from hydra.utils import instantiate

    choose("compressor", name, sorted(path.stem for path in (CONF / "compressor").glob("*.yaml")))
    made: MakeCompressor = instantiate(load_method("compressor", name)["algorithm"], _partial_=True)
    return made
