"""The server's views of protocols that sketch the gradient itself: R ∇F, with R and w public (song2023 §7.2).

A family's ratio b/d is applied to the number of the network's parameters. Views are functions of a victim, a family,
the kernels and a 64-bit seed, as in conf/view.
"""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor
from torch.utils import dlpack

from sketchbench.attack.victim import Victim, clip_norm, gradient
from sketchbench.attack.view import View
from sketchbench.base import seeds
from sketchbench.base.parameters import Positive, Probability, checked
from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model.autograd import sketch
from sketchbench.learning.model.sketched import resize
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_sensitivity
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovery

Facts = Mapping[str, float | str]
RATE = 1.0  # public learning rate of the client: messages are divided by it


@checked
def iterative_sketching(victim: Victim, family: Family, kernels: Kernels, seed: int) -> View:
    """The message of song2023 Algorithm 1 after one local step: R ∇F times the learning rate."""
    loss = victim.loss(kernels)
    protocol = IterativeSketching(resize(family, loss.d), RATE)
    rounds = protocol.run(loss, seeds.key(seed), trials=1, rounds=1)
    *_, last = rounds
    return _of_round(victim, family, last)


@checked
def private(
    victim: Victim,
    family: Family,
    kernels: Kernels,
    seed: int,
    *,
    clip: Positive,
    epsilon: Positive | None,
    delta: Probability = 1e-5,
) -> View:
    """The message of song2023 Algorithm 2: the gradient, clipped to `clip`, plus noise, all sketched. The batch is the
    victim's only record, and neighbouring data sets replace it. The attacker knows the clip.

    Arguments:
        seed: of noise and sketch.
        clip: ℓ, the norm to which the gradient is clipped.
        epsilon: ε to which the noise is calibrated, by the exact curve; None for no noise.
        delta: δ of the calibration.
    """
    loss, sampling = victim.loss(kernels), Sampling("full", 1, 1)
    iterative = IterativeSketching(resize(family, loss.d), RATE)
    protocol = PrivateSketching(iterative, sampling, 1.0, clip)
    sigma = 0.0
    if epsilon is not None:
        mechanism = protocol.mechanism(loss, 1, sampling.neighbours)
        sigma = calibrated_sigma("exact", mechanism, epsilon, delta)
    protocol = PrivateSketching(protocol.algorithm, sampling, sigma, clip)
    noise, key = seeds.key(seed, part="noise"), seeds.key(seed)
    *_, last = protocol.run(loss, noise, key, trials=1, rounds=1)
    sensitivity = mean_sensitivity(clip, sampling.batch, sampling.neighbours)
    facts: dict[str, float | str] = {
        "sigma": sigma,
        "sensitivity": sensitivity,
        "neighbours": sampling.neighbours,
    }
    if epsilon is not None:
        facts |= {"epsilon": float(epsilon), "delta": delta, "accountant": "exact"}
    view = _of_round(victim, family, last, clip, facts)
    return replace(view, noise=sigma**2 * family.d)  # E‖R noise‖², since E[RᵀR] = I


@checked
def compressed_sensing(
    victim: Victim, family: Family, kernels: Kernels, seed: int, *, recovery: Recovery, rate: Positive
) -> View:
    """The message of the first round of tang2021 Algorithm 1: Φ ∇F times the learning rate. The protocol's `recovery`
    and `rate` do not change the view."""
    loss = victim.loss(kernels)
    phi = resize(family, loss.d).draw(seeds.key(seed), kernels=kernels)
    protocol = CompressedSensingSGD(recovery, rate)
    *_, last = protocol.run(loss, phi, seed, trials=1, rounds=1)
    assert last.sent is not None
    return _view(victim, family, phi, last.sent.z / rate)


def _of_round(
    victim: Victim,
    family: Family,
    last: Round,
    clip: float = float("inf"),
    facts: Facts | None = None,
) -> View:
    """The view of the victim's message in a round of iterative sketching."""
    assert last.messages is not None  # after a round
    assert last.operators is not None
    return _view(victim, family, last.operators, last.messages[0] / -RATE, clip, facts)


def _view(
    victim: Victim,
    family: Family,
    R: Sketch,
    message: Array,
    clip: float = float("inf"),
    facts: Facts | None = None,
) -> View:
    """The view of a message (1, b), which the server compares with the sketch of a clipped gradient."""
    network = victim.network(None)

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return sketch(R, clip_norm(gradient(network, image, label), clip)[None])[0]

    observed = dlpack.from_dlpack(message[0])
    plain = isinstance(family, Identity)
    output = observed[-victim.classes :] if plain else None  # the output layer's biases come last
    size = observed.numel() * observed.element_size()
    return View(observed, predicted, victim.shape, victim.classes, size, output, facts=facts or {})
