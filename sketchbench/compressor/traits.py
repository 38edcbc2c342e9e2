"""Optional statements of a compressor, and secure aggregation.

`Compressor` has the four common traits. A class states a rare trait by an attribute of the same name.
"""

from typing import Any, Protocol, Self, runtime_checkable

from sketchbench.compressor.message import KEY, Message
from sketchbench.kernels import Array
from sketchbench.privacy.secure_sum import Grid, SecureSum


@runtime_checkable
class Modular(Protocol):
    """Secure aggregation adds the messages of such a compressor: integers, modulo a power of two.

    Attributes:
        grid: the integers that clients send, and the noise that clients add to them, in the unit of gradients: clients
            send gradients, and the learning rate multiplies the step. None for no noise.
    """

    grid: Grid | None

    def protect(self, sums: SecureSum) -> Self:
        """Return the compressor whose clients add their shares of noise for these sums; ValueError for too few bits."""

    def receive(self, message: Message, at: Any) -> Message:
        """Return the sum of the clients' messages of a phase, which is all that the server gets."""


def grid(compressor: object) -> Grid | None:
    """The `grid` of a `Modular` compressor, or None."""
    return compressor.grid if isinstance(compressor, Modular) else None


def receive(compressor: Any, message: Message, at: Any) -> Message:
    """Return what the server gets of a phase: a secure sum, the mean of messages that add up, or else each message."""
    if hasattr(compressor, "receive"):
        received: Message = compressor.receive(message, at)
        return received
    return message.mean() if compressor.adds_up else message


def keyed(compressor: object) -> bool:
    """Return whether client and server share randomness, from a key; False by default."""
    return bool(getattr(compressor, "keyed", False))


def fresh(compressor: object) -> bool:
    """Return whether the server sends a new key in every round, True by default, or one key for all rounds."""
    return bool(getattr(compressor, "fresh", True))


def key_nbytes(compressor: object, number: int) -> int:
    """Return the bytes of the key that each client gets in round `number`."""
    return KEY if keyed(compressor) and (fresh(compressor) or number == 0) else 0


def adjustable(compressor: object) -> bool:
    """Return whether messages grow with the limit, True by default; otherwise they have one size."""
    return bool(getattr(compressor, "adjustable", True))


def phases(compressor: object) -> int:
    """Return the number of messages of a client in a round, each sent after the previous reply; 1 by default."""
    return int(getattr(compressor, "phases", 1))


def conserves(compressor: object) -> bool:
    """Return whether feedback loses nothing, True by default: steps and memory add up to the updates. If the
    server keeps the memory, the sketches of steps and memory add up to the sketches of the updates, the part `cells` of
    the messages."""
    return bool(getattr(compressor, "conserves", True))


def scales(compressor: object) -> bool:
    """Return whether updates times a power of two give steps times the power, up to rounding, if the sums fit into
    float32; True by default."""
    return bool(getattr(compressor, "scales", True))


def contraction(compressor: object) -> float | None:
    """A δ with E‖C(x) - x‖² <= (1 - δ)‖x‖² for all x, C = decode ∘ encode; None, the default, if none is known."""
    delta: float | None = getattr(compressor, "contraction", None)
    return delta


def projections(compressor: Any, at: Any) -> list[Array | None]:
    """Return the matrices that multiply the inputs of layers in a client's gradient: for each parameter of the layout,
    (T, inputs, inputs), or None, the default, for unchanged inputs."""
    if not hasattr(compressor, "projections"):
        return [None] * len(compressor.layout.shapes)
    found: list[Array | None] = compressor.projections(at)
    return found
