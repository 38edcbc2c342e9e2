"""Where DDP has the parameters of a model: their places in it, and their entries in a bucket."""

from collections.abc import Sequence

from torch import Tensor

from sketchbench.compressor.message import Layout


class Placement:
    """The places of a model's parameters: the same at each start, whatever buckets DDP makes.

    Attributes:
        parameters: of the model, by place.
    """

    def __init__(self) -> None:
        self.parameters: list[Tensor] = []
        self._places: dict[int, int] = {}

    def observe(self, buckets: Sequence[Sequence[Tensor]]) -> None:
        """Note the parameters in DDP's first buckets: those of the model from the last bucket to the first."""
        found = [parameter for bucket in reversed(buckets) for parameter in bucket]
        if any(id(parameter) not in self._places for parameter in found):
            self.parameters = found
            self._places = {id(parameter): place for place, parameter in enumerate(found)}

    def of(self, parameters: Sequence[Tensor]) -> tuple[int, ...]:
        """The places of parameters; -1 for those of another model."""
        return tuple(self._places.get(id(parameter), -1) for parameter in parameters)

    def layout(self, places: Sequence[int]) -> Layout:
        return layout_of([self.parameters[place] for place in places])


def laid(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A tensor of a parameter's shape, with its axes in the order of the parameter's memory, which DDP keeps in a
    bucket: (outputs, height, width, inputs) for weights in `channels_last`. Memory with gaps becomes contiguous."""
    order = sorted(range(parameter.dim()), key=parameter.stride, reverse=True)
    return tensor.permute(order) if parameter.permute(order).is_contiguous() else tensor


def layout_of(parameters: Sequence[Tensor]) -> Layout:
    """The layout of a bucket's memory."""
    return Layout(tuple(tuple(laid(parameter, parameter).shape) for parameter in parameters))
