"""Recognise perceptrons, whose `forward` may be replaced by matrix products."""

from torch import nn

HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def dense_layers(model: nn.Module) -> list[nn.Linear] | None:
    """Return the layers of a network of dense layers with biases, and ReLU between them; None for any other network.

    Only torch's own classes in a plain `nn.Sequential` count, which may begin with `nn.Flatten()`. A subclass, a
    `forward` or a hook of its own, a further parameter, or a layer that is used twice may compute anything.
    """
    if type(model) is not nn.Sequential or not all(map(_is_plain, model.modules())):
        return None
    parts = list(model)
    if parts and type(parts[0]) is nn.Flatten and (parts[0].start_dim, parts[0].end_dim) == (1, -1):
        parts = parts[1:]
    layers = [part for part in parts[::2] if type(part) is nn.Linear and part.bias is not None]
    between = [part for part in parts[1::2] if type(part) is nn.ReLU]
    weights = [value for layer in layers for value in (layer.weight, layer.bias)]
    whole = len(layers) == len(between) + 1 and len(layers) + len(between) == len(parts)
    own = list(model.parameters())
    return layers if whole and len(own) == len(weights) and all(map(_is, own, weights)) else None


def is_perceptron(model: nn.Module) -> bool:
    """Return whether a network flattens images, and then consists of `dense_layers`."""
    return dense_layers(model) is not None and isinstance(next(model.children()), nn.Flatten)


def _is(one: object, other: object) -> bool:
    return one is other


def _is_plain(part: nn.Module) -> bool:
    """Return whether a module computes what its class does."""
    return "forward" not in vars(part) and not any(getattr(part, name) for name in HOOKS)
