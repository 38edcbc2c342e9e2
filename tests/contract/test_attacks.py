"""What every view and every attack of conf must keep, and that those that don't keep it are caught."""

import dataclasses
import functools
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from victims import (
    ATTACKS,
    CLASSES,
    ESTIMATES,
    KERNELS,
    NOISY,
    SHAPE,
    VIEWS,
    D,
    attack,
    configured,
    network,
    seen,
    victim,
)

from sketchbench.attack import double_blind, sketched_gradient
from sketchbench.attack.inversion import LBFGS, Inversion
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import View
from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.measure.image import likeness
from sketchbench.sketch import CountSketch, Identity, SubsampledHadamard

EACH_VIEW = pytest.mark.parametrize("view", VIEWS)
EACH_ATTACK = pytest.mark.parametrize("name", ATTACKS)
MakeView = Callable[[Victim], View]


# Views


def exact(view: str) -> View:
    return seen(view, victim(), **({"epsilon": None} if view in NOISY else {}))


@EACH_VIEW
def test_what_is_predicted_for_the_victims_image_is_what_was_seen(view: str) -> None:
    """And with estimates or noise it is not."""
    images, labels = victim().samples
    shown = exact(view)
    predicted = shown.predicted(images[:1], torch.eye(CLASSES).double()[labels[:1]])
    error = float((predicted - shown.observed).norm() / shown.observed.norm())
    assert error > 0.1 if view in ESTIMATES else error < 1e-9


@pytest.mark.parametrize("view", sorted(NOISY))
def test_noise_is_as_large_as_the_view_says(view: str) -> None:
    """On average: E‖noise‖² of 20 draws of 200 measurements, to a fifth, nine standard deviations."""
    noisy = [seen(view, victim(), seed) for seed in range(20)]
    clean = [seen(view, victim(), seed, epsilon=None) for seed in range(20)]
    energies = [
        float((shown.observed - plain.observed).square().sum()) for shown, plain in zip(noisy, clean, strict=True)
    ]
    assert np.mean(energies) == pytest.approx(noisy[0].noise, rel=0.2)


@EACH_VIEW
def test_gradients_of_the_objective(view: str) -> None:
    shown = seen(view, victim())
    random = torch.Generator().manual_seed(2)
    image = torch.rand(1, *SHAPE, generator=random, dtype=torch.float64)
    logits = torch.randn(1, CLASSES, generator=random, dtype=torch.float64)

    def objective(image: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        return (shown.predicted(image, logits.softmax(-1)) - shown.observed).square().sum()

    variables = [image.requires_grad_(), logits.requires_grad_()]
    slopes = torch.autograd.grad(objective(*variables), variables)
    for number, (variable, slope) in enumerate(zip(variables, slopes, strict=True)):
        direction = torch.randn(variable.shape, generator=random, dtype=torch.float64)
        step = 1e-5
        ends = []
        for sign in (1, -1):
            moved = [v.detach().clone() for v in variables]
            moved[number] += sign * step * direction
            ends.append(float(objective(*moved)))
        expected = (ends[0] - ends[1]) / (2 * step)
        scale = float(slope.norm() * direction.norm())
        assert float((slope * direction).sum()) == pytest.approx(expected, rel=1e-5, abs=1e-7 * scale)


def reachable(root: Any) -> Iterator[Any]:
    """All objects that can be reached from one, but for modules, classes and their names."""
    skipped = (types.ModuleType, type, str, int, float)
    waiting, known = [root], {id(root)}
    while waiting:
        found = waiting.pop()
        yield found
        parts = gc.get_referents(found)
        if isinstance(found, types.FunctionType):  # what it closes over, not the names of its module
            parts = [found.__closure__, found.__defaults__, found.__kwdefaults__]
        for part in parts:
            if part is not None and not isinstance(part, skipped) and id(part) not in known:
                known.add(id(part))
                waiting.append(part)


def carries(view: View, image: torch.Tensor) -> bool:
    """Whether an image, or its negative, is somewhere in a view."""
    pixels = image.numpy().ravel()
    for found in reachable(view):
        if isinstance(found, torch.Tensor):
            values = found.detach().cpu().numpy().ravel()
        elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
            values = found.ravel()
        else:
            continue
        for start in range(values.size - pixels.size + 1) if values.size < 5000 else ():
            part = values[start : start + pixels.size]
            if np.allclose(part, pixels, rtol=1e-6) or np.allclose(part, -pixels, rtol=1e-6):
                return True
    return False


def recorded(monkeypatch: pytest.MonkeyPatch, make: MakeView, of: Victim) -> None:
    """From now on the protocols exchange the messages that they have exchanged for this victim."""
    first: dict[str, Any] = {}

    def keeping(key: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*given: Any, **options: Any) -> Any:
            if key not in first:
                found = run(*given, **options)
                first[key] = found if isinstance(found, tuple) else list(found)
            return first[key]

        return kept

    protocols = (IterativeSketching, PrivateSketching, CompressedSensingSGD)
    for protocol in protocols:
        monkeypatch.setattr(protocol, "run", keeping(protocol.__name__, protocol.run))
    monkeypatch.setattr(double_blind, "exchange", keeping("exchange", double_blind.exchange))
    make(of)


def follows_from_messages(monkeypatch: pytest.MonkeyPatch, make: MakeView) -> bool:
    """Whether another victim, of whom the same messages are told, has the same view."""
    one, other = victim(0), victim(1)
    with monkeypatch.context() as patched:
        recorded(patched, make, one)
        views = [make(of) for of in (one, other)]
    image = torch.full((1, *SHAPE), 0.3, dtype=torch.float64)
    label = torch.full((1, CLASSES), 1 / CLASSES, dtype=torch.float64)
    a, b = ((view.observed, view.predicted(image, label)) for view in views)
    return all(x.shape == y.shape and torch.equal(x, y) for x, y in zip(a, b, strict=True))


def sound(monkeypatch: pytest.MonkeyPatch, make: MakeView) -> bool:
    """A view that carries what the protocol sends, and nothing else."""
    of = victim()
    view = make(of)
    return not carries(view, of.samples.images[0]) and follows_from_messages(monkeypatch, make)


@EACH_VIEW
def test_a_view_carries_messages_only(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sound(monkeypatch, functools.partial(seen, view))


@EACH_VIEW
def test_views_of_other_victims_differ(view: str) -> None:
    assert not torch.equal(seen(view, victim(0)).observed, seen(view, victim(1)).observed)


@pytest.mark.parametrize("view", ["server", "iterative_sketching", "compressed_sensing", "private"])
def test_messages_have_the_size_that_is_seen(view: str) -> None:
    shown = seen(view, victim())
    assert shown.nbytes == 8 * shown.observed.numel()


def of_iterative_sketching(of: Victim) -> View:
    return seen("iterative_sketching", of)


def with_the_image(of: Victim) -> View:
    view = of_iterative_sketching(of)
    pixels = of.samples.images[:1].flatten()
    observed = torch.cat([view.observed, pixels])

    def predicted(image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return torch.cat([view.predicted(image, label), image.flatten()])

    return dataclasses.replace(view, observed=observed, predicted=predicted)


def with_the_mean(of: Victim) -> View:
    """It tells the mean pixel only, which no search for images would find."""
    view = of_iterative_sketching(of)
    observed = torch.cat([view.observed, of.samples.images[0].mean()[None]])

    def predicted(image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return torch.cat([view.predicted(image, label), image.mean()[None]])

    return dataclasses.replace(view, observed=observed, predicted=predicted)


def with_the_victim(of: Victim) -> View:
    """It could ask the victim, and does not."""
    view = of_iterative_sketching(of)

    def predicted(image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return view.predicted(image, label) + 0 * of.samples.images.sum()

    return dataclasses.replace(view, predicted=predicted)


@pytest.mark.parametrize("make", [with_the_image, with_the_mean, with_the_victim])
def test_a_view_that_carries_more_is_caught(make: MakeView, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not sound(monkeypatch, make)
    assert sound(monkeypatch, of_iterative_sketching)


# Attacks


def short(name: str, **changes: Any) -> Inversion:
    return dataclasses.replace(attack(name), **{"evaluations": 6, **changes})


@EACH_VIEW
@EACH_ATTACK
def test_an_attack_takes_a_view(name: str, view: str) -> None:
    shown = seen(view, victim())
    found = short(name).run(shown, 5)
    assert found.image.shape == SHAPE
    assert found.image.min() >= 0
    assert found.image.max() <= 1
    assert 0 <= found.label < CLASSES
    assert np.isfinite(found.loss)
    assert 1 <= found.evaluations <= 6 + 25  # L-BFGS ends a line search that it has begun
    assert found.starts == 1
    again = short(name).run(shown, 5)
    assert torch.equal(again.image, found.image)
    assert again[1:] == found[1:]


def blind(size: int = 40) -> View:
    """A view of nothing: what is observed has nothing to do with any image."""
    observed = torch.from_numpy(np.random.default_rng(0).random(size))

    def predicted(image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return 0 * (image.sum() + label.sum()) + torch.zeros(size, dtype=torch.float64)

    return View(observed, predicted, SHAPE, CLASSES, 8 * size)


def recovers_from_nothing(algorithm: Inversion, truth: torch.Tensor) -> bool:
    """Whether an image comes back (PSNR > 20 dB; noise has 8 dB) from a view of nothing, in any of five attacks."""
    found = [algorithm.run(blind(), seed).image.numpy() for seed in range(5)]
    return any(likeness(image, truth.numpy()).psnr > 20 for image in found)


@EACH_ATTACK
def test_an_attack_makes_nothing_of_nothing(name: str) -> None:
    assert not recovers_from_nothing(short(name), victim().samples.images[0])


def test_an_attack_that_starts_at_the_answer_is_caught() -> None:
    answer = victim().samples.images[:1]

    class Informed(LBFGS):
        def _start(self, view: View, seed: int, start: int) -> Any:
            matching = super()._start(view, seed, start)
            with torch.no_grad():
                matching.image.copy_(answer)
            return matching

    assert recovers_from_nothing(Informed(6, 1, 0.0, "soft", 10), answer[0])


@EACH_ATTACK
def test_a_view_of_zeros_is_refused(name: str) -> None:
    nothing = dataclasses.replace(blind(), observed=torch.zeros(40).double())
    with pytest.raises(ValueError, match="there is nothing to match"):
        short(name).run(nothing, 0)


@pytest.mark.parametrize("name", ["iterative_sketching", "compressed_sensing", "private"])
def test_only_the_share_of_a_sketch_counts(name: str) -> None:
    """Families of d = 2 and b = 1 are those of all parameters and half as many entries."""
    make = configured("lbfgs", name)[1]
    small, whole = (make(victim(), SubsampledHadamard(d, d // 2), KERNELS, 0) for d in (2, D))
    assert torch.equal(small.observed, whole.observed)
    assert len(whole.observed) == D // 2


@pytest.mark.parametrize(
    ("given", "message"), [({"clip": 0.0}, "clip=0.0 must be > 0"), ({"epsilon": 0.0}, "epsilon=0.0 must be > 0")]
)
def test_bad_privacy_is_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seen("private", victim(), **given)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="option=III is unknown; choose one of I, II"):
        seen("client_option_1", victim(), option="III")


def test_the_families_that_double_blind_views_take() -> None:
    """Any, at any share; and the network's weights are the same, sketched or not."""
    for family in (None, CountSketch(4, 1)):
        state = network(family).state_dict()
        assert all(torch.equal(state[name], value) for name, value in network(None).state_dict().items())


def test_the_undefended_views_agree() -> None:
    """The gradient by FedAvg is that by iterative sketching without a sketch, and of the client without one."""
    of = victim()
    server = seen("undefended", of).observed
    other = sketched_gradient.iterative_sketching(of, Identity(D, D), KERNELS, 1).observed
    client = double_blind.client(of, None, KERNELS, 1).observed
    torch.testing.assert_close(other, server, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(client, server, rtol=1e-9, atol=1e-12)
