"""Claims about inversion reject defences that leak, and say nothing where the attack can't do without them.

The contract tests reject views that carry more than was sent, and attacks that start at the answer
(tests/contract/test_attacks.py).
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from judging import shared, verdicts

from sketchbench.attack import double_blind, sketched_gradient
from sketchbench.attack.inversion import LBFGS
from sketchbench.attack.most_likely import MostLikely
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import View
from sketchbench.base.kept import Kept
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import sigmoid_cnn
from sketchbench.sketch import CountSketch, Identity
from sketchbench.task.inversion.inversion import Assessment, Case, ImageInversion
from sketchbench.task.inversion.private_inversion import PrivateInversion
from sketchbench.task.inversion.sketched_inversion import SketchedInversion
from sketchbench.task.repeated import Values

TRIALS = 24  # as in conf/study
ATTACK = LBFGS(evaluations=60, starts=1, goal=1e-8, label="read", history=50)
NETWORK = functools.partial(sigmoid_cnn, filters=(8, 8, 8), kernel=3, strides=(1, 2, 1), width=0.5)
D = 2538


def common(family: Any, **changes: Any) -> dict[str, Any]:
    return {
        **shared(family, TRIALS),
        "dataset": digits.load,
        "model": NETWORK,
        "attack": ATTACK,
        "control": double_blind.undefended,
        "assessment": Assessment(level=30.0, gain=3.0, allowed_effort=4.0, matched=1e-4, pictures=0),
        **changes,
    }


@pytest.fixture(scope="module", autouse=True)
def controls_are_attacked_once() -> Iterator[None]:
    """What is broken here is in defences, and controls have none: `undefended`, and the biases without noise."""
    made: Kept[str, Values] = Kept(1000)
    attacked = ImageInversion._attack

    def once(self: Any, case: Case, victim: Victim, number: int) -> Values:
        if case.name != "control":
            return attacked(self, case, victim, number)
        question = repr((self.attack, self.model, self.seed, self.family, number, case))
        return made.of(question, lambda: attacked(self, case, victim, number))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ImageInversion, "_attack", once)
        yield


SERVER = double_blind.server_paper
BLIND = ImageInversion(**common(CountSketch(2, 1)), views={"server_paper": SERVER})


@pytest.mark.weekly  # a study judges it anyway
def test_sound_double_blind_learning() -> None:
    rows = BLIND.run()
    assert verdicts("Z11-estimates", rows) == {"holds"}
    assert verdicts("Z11-plain", rows) == {"holds"}


def test_a_server_that_gets_plain_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that skip the sketch."""
    exchange = double_blind.exchange

    def plain(victim: Victim, family: Any, kernels: Any, seed: int) -> Any:
        return exchange(victim, None, kernels, seed)

    def server(victim: Victim, family: Any, *given: Any) -> View:
        return SERVER(victim, None, *given)

    monkeypatch.setattr(double_blind, "exchange", plain)
    rows = dataclasses.replace(BLIND, views={"server_paper": server}).run()
    assert verdicts("Z11-estimates", rows) == {"fails"}


def test_an_attack_that_fails_without_a_defence() -> None:
    """Then that it fails with one says nothing, and no claim holds."""
    hopeless = dataclasses.replace(ATTACK, evaluations=1)
    rows = dataclasses.replace(BLIND, attack=hopeless).run()
    assert {row["count"] for row in rows if row["quantity"] == "better"} == {0}
    assert verdicts("Z11-estimates", rows) == {"inconclusive"}


# Noise; a network with more biases than there are pixels.

PRIVATE = functools.partial(sketched_gradient.private, clip=1.0, delta=1e-5)
BIASED = functools.partial(sigmoid_cnn, filters=(30, 60), kernel=3, strides=(2, 1), width=0.5)
SIZE = 30 * 9 + 30 + 60 * 270 + 60 + 10 * 960 + 10


def biases(victim: Victim, family: Any, kernels: Any, seed: int, *, epsilon: float | None) -> View:
    """Of the message, what is the gradient by biases: enough for the attack, if it is exact."""
    view = PRIVATE(victim, family, kernels, seed, epsilon=epsilon)
    named = victim.network(None).named_parameters()
    own = torch.cat([torch.full((p.numel(),), name.endswith("bias")) for name, p in named])

    def predicted(image: Any, label: Any) -> Any:
        return view.predicted(image, label)[own]

    return dataclasses.replace(view, observed=view.observed[own], predicted=predicted)


NOISY = PrivateInversion(
    **common(
        Identity(SIZE, SIZE),
        model=BIASED,
        control=functools.partial(biases, epsilon=None),
        assessment=Assessment(
            level=20.0, gain=3.0, allowed_effort=4.0, matched=1e-4, pictures=0
        ),  # reached after so few evaluations; the mean image has 11 dB
    ),
    views={"private": biases},
    epsilons=[10.0],
)


@pytest.mark.weekly  # a study judges it anyway
def test_sound_noise() -> None:
    assert verdicts("S29", NOISY.run()) == {"holds"}


def test_noise_that_spares_the_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defence that leaks through the bias: the rest of the gradient is as noisy as it should be."""
    run = PrivateSketching.run

    def sparing(self: Any, objective: Any, *given: Any, **options: Any) -> Any:
        clean = list(run(dataclasses.replace(self, sigma=0.0), objective, *given, **options))
        named = objective._network.named_parameters()
        own = torch.cat([torch.full((p.numel(),), name.endswith("bias")) for name, p in named])
        for number, at in enumerate(run(self, objective, *given, **options)):
            if at.messages is not None:
                at.messages[..., own.numpy()] = clean[number].messages[..., own.numpy()]
            yield at

    monkeypatch.setattr(PrivateSketching, "run", sparing)
    assert "fails" in verdicts("S29", NOISY.run())


# Sketched gradients

SKETCHED = SketchedInversion(
    **common(CountSketch(D, D), attack=dataclasses.replace(ATTACK, label="soft")),
    views={"iterative_sketching": sketched_gradient.iterative_sketching},
    compressions=[4.0],
    examples=0,
)


@pytest.mark.weekly  # a study judges it anyway
def test_sound_sketches_leak() -> None:
    rows = SKETCHED.run()
    assert verdicts("S28", rows) == {"holds"}
    assert verdicts("S28-descent", [row.replace(attack="gradient_descent") for row in rows]) == {"holds"}
    still = [row.replace(case="iterative_sketching") for row in rows if row.get("case") == "standing still"]
    assert verdicts("S28", still) == {"fails"}
    assert verdicts("S28-loss", [row.replace(compression=20.0) for row in still]) == {"fails"}
    moved = [row.replace(compression=20.0) for row in rows if row.get("case") == "iterative_sketching"]
    assert verdicts("S28-loss", moved) == {"holds"}


def test_an_attacker_with_another_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who doesn't know R recovers nothing, and the claim that R hides nothing fails."""
    sketch = sketched_gradient.sketch

    def other(R: Any, x: Any) -> Any:
        return sketch(CountSketch(R.d, R.b).draw(99, operators=1, kernels=R.kernels), x)

    monkeypatch.setattr(sketched_gradient, "sketch", other)
    rows = SKETCHED.run()
    assert "fails" in verdicts("S28", rows)
    assert "fails" in verdicts("S28-effort", rows)
    assert "fails" in verdicts("S28-loss", [row.replace(compression=20.0) for row in rows if row.get("compression")])
    assert "fails" in verdicts("Z17", rows)


# A prior

LIKELY = MostLikely(evaluations=60, starts=1, goal=1e-8, label="soft", history=50, stages=4, variation=1.0)
FEW = dataclasses.replace(SKETCHED, attack=LIKELY, compressions=[53.0])


def test_a_prior_makes_up_for_few_measurements() -> None:
    rows = [row.replace(positive_control=TRIALS) if "positive_control" in row else row for row in FEW.run()]
    assert verdicts("S28-prior", rows) == {"holds"}
    still = [row.replace(case="iterative_sketching") for row in rows if row.get("case") == "standing still"]
    assert verdicts("S28-prior", still) == {"fails"}
