"""Check that a user's network computes with the given weights, and keeps nothing from call to call.

Trainings hand a network other weights in each call, and let `nn.BatchNorm2d` take each client's own means. A `forward`
that looks elsewhere would go on with its first weights, without an error.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sketchbench import kernels
from sketchbench.base.errors import message
from sketchbench.learning.model import classification
from sketchbench.learning.model.client_norm import normalise_by_client
from sketchbench.learning.model.networks import MakeModel, Shape, initialise
from sketchbench.learning.objective.stacked import Batches, initial_weights
from sketchbench.learning.objective.stacked_network import stacked

SEED, IMAGES = 54321, 3


def fault(make: MakeModel, shape: Shape, classes: int) -> str:
    """Why a network can't be trained with weights that it is handed, and a remedy; "" if it can."""
    alone, handed = (initialise(lambda: make(shape=shape, classes=classes), SEED).train() for _ in range(2))
    generator = torch.Generator().manual_seed(SEED)
    images = torch.rand(2 * IMAGES, *shape, generator=generator)
    own = dict(alone.named_parameters())
    weights = {name: p + 0.1 * torch.randn(p.shape, generator=generator) for name, p in own.items()}
    norms = {name: part for name, part in alone.named_modules() if isinstance(part, nn.BatchNorm2d)}
    replaced = normalise_by_client(handed)
    buffers = {name: value.clone() for name, value in alone.named_buffers() if name.rpartition(".")[0] not in norms}

    def by_hand(inputs: Tensor) -> Tensor:
        scores: Tensor = torch.func.functional_call(handed, weights, (inputs,))
        return scores

    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])
    once, again, other = (_scores(alone, images, seed) for seed in (0, 0, 1))
    if not _equal(once, again):
        return "scores of the same images change from call to call; keep no state, and draw with torch's own generator"
    for name, value in buffers.items():
        if not torch.equal(value, alone.get_buffer(name)):
            return f"forward changes the buffer {name}, which no training keeps; take nn.GroupNorm, or nn.BatchNorm2d"
    for norm in replaced:
        norm.batch = len(images)
    _scores(handed, images, 0)  # which may keep its first weights
    together = _scores(by_hand, images, 0)
    if any(type(part) is not nn.BatchNorm2d for part in norms.values()) or not _equal(once, together):
        return (
            "forward does not compute with the weights that it is handed; read each as an attribute of its layer, not "
            "from a list or a closure, let no two share memory, and take nn.BatchNorm2d itself, without hooks"
        )
    for norm in replaced:
        norm.batch = IMAGES
    apart = torch.cat([_scores(by_hand, part, 0) for part in torch.split(images, IMAGES)])
    if _equal(once, other) and not _equal(_scores(by_hand, images, 0), apart):
        return "scores depend on the images of other clients; take nn.GroupNorm, or nn.BatchNorm2d"
    return ""


def check_slopes(make: MakeModel, shape: Shape, classes: int, backend: str) -> None:
    """Raise ValueError, as `stacked` does, and for a network whose gradient is not torch's own, by torch.func."""
    loaded, images = kernels.load(backend), torch.rand(IMAGES, *shape, generator=torch.Generator().manual_seed(SEED))
    network, labels = stacked(loaded, make, shape, classes), torch.arange(IMAGES) % classes
    model = initialise(lambda: make(shape=shape, classes=classes), 0)
    loss = classification.loss(model(images), labels)
    slopes = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
    parts = images.reshape(1, 1, IMAGES, -1), labels[None, None], torch.full((1, 1, IMAGES), 1 / IMAGES)
    batches = Batches(*(loaded.asarray(part.numpy()) for part in parts))
    w = loaded.asarray(initial_weights(lambda: make(shape=shape, classes=classes), [0]))
    try:
        found = torch.from_numpy(loaded.to_numpy(network.gradients(w, batches)))
    except (RuntimeError, BufferError) as error:
        raise ValueError(
            f"{type(model).__name__}: torch.func can't differentiate it ({message(error)}); leave out torch.jit, "
            "checkpoints and hooks on gradients"
        ) from None
    if not torch.allclose(found[0, 0], torch.cat([slope.flatten() for slope in slopes]), rtol=1e-2, atol=1e-5):
        raise ValueError(
            f"{type(model).__name__}: its gradient by torch.func is not that of backward(); leave out hooks"
        )


def _scores(network: Callable[[Tensor], Tensor], images: Tensor, seed: int) -> Tensor:
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        return network(images.clone())


def _equal(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)
