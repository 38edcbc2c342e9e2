"""Networks whose `forward` is not what their children look like, and networks that nobody can train as they are."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Shape = tuple[int, int, int]
Make = Callable[..., nn.Module]


class Perceptron(nn.Module):
    """Children like a perceptron's, in this order; `forward` uses them as it likes."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__()
        inputs = shape[0] * shape[1] * shape[2]
        self.flat, self.inner, self.act, self.out = nn.Flatten(), nn.Linear(inputs, 6), nn.ReLU(), nn.Linear(6, classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(self.act(self.inner(self.flat(x))))
        return scores


class Tanh(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(self.inner(self.flat(x)).tanh())
        return scores


class Residual(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(self.flat(x))
        scores: Tensor = self.out(hidden + self.act(hidden))
        return scores


class Normalised(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward((x - 0.5) / 0.25)


class Zero(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        return 0.0 * super().forward(x)


class OtherOrder(Perceptron):
    """Its parameters are registered last layer first."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        inner = self.inner
        del self.inner
        self.inner = inner


class Unused(Perceptron):
    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.unused = nn.Linear(2, 2)


class Further(Perceptron):
    """With a parameter that is no layer's."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.scale = nn.Parameter(torch.full((), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * super().forward(x)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__()
        inputs = shape[0] * shape[1] * shape[2]
        self.first, self.inner, self.again = nn.Linear(inputs, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.again.weight = self.inner.weight
        self.out = nn.Linear(6, classes)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(self.first(x.flatten(1)).relu()).relu()
        scores: Tensor = self.out(self.again(hidden).relu())
        return scores


class Buffered(Perceptron):
    """A layer that stays as it is."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.register_buffer("fixed", torch.linspace(0.5, 1.5, 6))

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(self.act(self.inner(self.flat(x))) * self.get_buffer("fixed"))
        return scores


class TanhSequence(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        for part in self:
            x = part(x)
        return x.tanh()


class TanhLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).tanh()


def sequence(shape: Shape, classes: int, layer: type[nn.Linear] = nn.Linear, bias: bool = True) -> nn.Sequential:
    inputs = shape[0] * shape[1] * shape[2]
    return nn.Sequential(nn.Flatten(), layer(inputs, 6), nn.ReLU(), nn.Linear(6, classes, bias=bias))


def hooked(shape: Shape, classes: int) -> nn.Module:
    model = sequence(shape, classes)
    model[1].register_forward_hook(lambda _, __, output: 2 * output)
    return model


def hooked_before(shape: Shape, classes: int) -> nn.Module:
    model = sequence(shape, classes)
    model.register_forward_pre_hook(lambda _, inputs: (inputs[0] - 0.5,))
    return model


def patched(shape: Shape, classes: int) -> nn.Module:
    model = sequence(shape, classes)
    model.forward = lambda x: model[3](model[1](model[0](x)).tanh())  # type: ignore[method-assign]
    return model


def shared_activation(shape: Shape, classes: int) -> nn.Module:
    inputs, act = shape[0] * shape[1] * shape[2], nn.ReLU()
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 6), act, nn.Linear(6, 6), act, nn.Linear(6, classes))


def shared_layer(shape: Shape, classes: int) -> nn.Module:
    inputs, inner = shape[0] * shape[1] * shape[2], nn.Linear(6, 6)
    parts = [nn.Flatten(), nn.Linear(inputs, 6), nn.ReLU(), inner, nn.ReLU(), inner, nn.ReLU(), nn.Linear(6, classes)]
    return nn.Sequential(*parts)


def normalised_weight(shape: Shape, classes: int) -> nn.Module:
    model = sequence(shape, classes)
    nn.utils.parametrizations.weight_norm(model[1])
    return model


def tanh_sequence(shape: Shape, classes: int) -> nn.Module:
    return TanhSequence(*sequence(shape, classes))


def tanh_linear(shape: Shape, classes: int) -> nn.Module:
    return sequence(shape, classes, TanhLinear)


def partly_flat(shape: Shape, classes: int) -> nn.Module:
    """Scores of each row, which are summed."""
    rows = nn.Sequential(nn.Flatten(2), nn.Linear(shape[1] * shape[2], 6), nn.ReLU(), nn.Linear(6, classes))
    return nn.Sequential(rows, nn.Flatten(1), nn.Linear(shape[0] * classes, classes))


def without_bias(shape: Shape, classes: int) -> nn.Module:
    return sequence(shape, classes, bias=False)


ODD: dict[str, Make] = {
    make.__name__: make
    for make in (
        *(Perceptron, Tanh, Residual, Normalised, Zero, OtherOrder, Unused, Further, Tied, Buffered),
        *(hooked, hooked_before, patched, shared_activation, shared_layer, normalised_weight, tanh_sequence),
        *(tanh_linear, partly_flat, without_bias),
    )
}


# What nobody can train as it is, and the words of the refusal


class Writes(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        x -= 0.5
        return super().forward(x)


class Chance(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(super().forward(x), 0.5)


def frozen(shape: Shape, classes: int) -> nn.Module:
    model = Perceptron(shape, classes)
    model.inner.requires_grad_(False)
    return model


def double(shape: Shape, classes: int) -> nn.Module:
    return Perceptron(shape, classes).double()


def lazy(shape: Shape, classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(6), nn.ReLU(), nn.Linear(6, classes))


def hooked_weight(shape: Shape, classes: int) -> nn.Module:
    model = sequence(shape, classes)
    first = next(model.parameters())
    first.register_hook(lambda slope: 2 * slope)  # type: ignore[no-untyped-call]
    return model


REFUSED: dict[str, tuple[Make, str]] = {
    "writes": (Writes, "forward writes into the images"),
    "chance": (Chance, "chance"),
    "frozen": (frozen, r"parameter inner.weight is frozen .* register_buffer"),
    "double": (double, "parameter inner.weight is of type float64"),
    "lazy": (lazy, r"parameter 1.weight has no shape yet"),
    "hooked_weight": (hooked_weight, r"parameter 1.weight has a hook"),
}


def flat(model: nn.Module) -> Any:
    """The flat parameters of a model, float32 (d,)."""
    return torch.cat([value.detach().flatten() for value in model.parameters()]).numpy()
