"""What each party sees of a round of compressed messages, and what attacks make of it."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench import kernels
from sketchbench.attack.compressed_message import OBSERVER, VICTIM, Place, Unseen, WatchedRounds
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.lens import SeenMessage, surprisal
from sketchbench.attack.message_property import MessageProperty, Observation
from sketchbench.attack.message_scene import Scene, draw_networks, draw_scene, pixels
from sketchbench.attack.row_order import Lattice, OrderAttack, public_numbers
from sketchbench.attack.stacked_inversion import StackedAttacks, closed_form
from sketchbench.attack.target import Target
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Layout, Message, Reply, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.quantised import QSGD, Int8, Sign
from sketchbench.compressor.sketched_memory import CompressedSensing
from sketchbench.compressor.sparse import RandomK, ShuffledRandomK, TopK
from sketchbench.kernels import Array
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import initialise, mlp, sigmoid_cnn
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import ShuffledHadamard, SubsampledHadamard

KERNELS = kernels.load("numba")
TRIALS, CLIENTS = 6, 4
MODEL = functools.partial(mlp, hidden=[50])
ATTACKS = StackedAttacks(steps=80, starts=2, stages=4, rounds=4, pixel_rate=0.03, prior_rate=0.2)


@functools.cache
def scene() -> Scene:
    return draw_scene(digits.load(), MODEL, 1, CLIENTS, TRIALS)


def at(trials: int = TRIALS) -> At:
    return At(KERNELS, 3, 0, trials)


@functools.cache
def updates() -> Array:
    return scene().updates(scene().networks)


def watched(kind: type[Compressor], compression: float = 1, seen: Array | None = None) -> WatchedRounds:
    layout = scene().networks.layout
    return WatchedRounds(
        kind(layout, byte_limit(layout, compression)), at(), lambda at: updates() if seen is None else seen
    )


def target(one: WatchedRounds, place: Place, rounds: int = 1) -> Target:
    sights, known = one.sights(place, rounds), scene()
    labels, networks = known.labels[:, sights[0].clients], [known.networks] * len(sights)
    return Target(sights, networks, labels, known.prior, known.classes, 5, one.compressor, known.public)


def leads(images: Tensor) -> list[float]:
    mean = pixels(scene().prior.mean.expand(TRIALS, *scene().data.shape))
    found, guesses = (scene().likenesses(several, slice(None)) for several in (pixels(images[:, VICTIM]), mean))
    return [one.psnr - guess.psnr for one, guess in zip(found, guesses, strict=True)]


class InFront(nn.Module):
    """A layer whose inputs are multiplied by a matrix before."""

    def __init__(self, matrix: Tensor, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.matrix = matrix

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x @ self.matrix)


@pytest.mark.parametrize("projected", [False, True])
def test_gradients_are_those_of_autograd(projected: bool) -> None:
    """One network and batch after the other; and their derivatives by the images."""
    several = [initialise(lambda: mlp((1, 2, 3), 4, hidden=[5, 7]), seed) for seed in (1, 2)]
    stacked = DenseNetworks(several)
    matrices = [torch.randn(2, n, n, generator=torch.Generator().manual_seed(n)) for n in (6, 5)]
    if projected:
        stacked = stacked.with_projections([matrices[0], None, matrices[1], None, None, None], kernels.load("numpy"))
        for trial, network in enumerate(several):
            for place, matrix in ((1, matrices[0]), (3, matrices[1])):
                network[place] = InFront(matrix[trial], network[place])
    images = torch.rand(2, 3, 2, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = torch.arange(12).view(2, 3, 2) % 4
    found = stacked.gradients(images, labels)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    (slopes,) = torch.autograd.grad((weights * found).sum(), images)
    for trial, network in enumerate(several):
        for batch in range(3):
            own = images[trial, batch].detach().requires_grad_()
            loss = nn.functional.cross_entropy(network(own.view(2, 1, 2, 3)), labels[trial, batch])
            parts = torch.autograd.grad(loss, list(network.parameters()), create_graph=True)
            expected = torch.cat([part.flatten() for part in parts])
            torch.testing.assert_close(found[trial, batch], expected)
            (slope,) = torch.autograd.grad((weights[trial, batch] * expected).sum(), own)
            torch.testing.assert_close(slopes[trial, batch], slope, rtol=1e-4, atol=1e-6)
    assert stacked.layout.d == sum(p.numel() for p in several[0].parameters())


def test_other_networks_are_refused() -> None:
    small = sigmoid_cnn((1, 8, 8), 10, filters=(2,), kernel=3, strides=(1,), width=0.5)
    with pytest.raises(ValueError, match="Conv2d, Sigmoid, Flatten, Linear can't be stacked; choose an nn"):
        DenseNetworks([small])


def test_views_of_plain_messages() -> None:
    one = watched(Plain)
    every = torch.tensor(updates())
    expected = {"server": every[:, VICTIM], "sum": every.mean(1), "another client": every[:, :OBSERVER].mean(1)}
    for place, update in expected.items():
        (sight,) = one.sights(place, 1)
        torch.testing.assert_close(sight.seen, update, rtol=1e-4, atol=1e-7)
        torch.testing.assert_close(sight.predicted(update), sight.seen, rtol=1e-4, atol=1e-7)
        assert sight.nbytes == WORD * every.shape[2]
    torch.testing.assert_close(one.sights("eavesdropper", 1)[0].seen, every[:, VICTIM])  # there is no key to guess


def test_views_of_messages_that_do_not_add_up() -> None:
    one = watched(TopK, 16)
    with pytest.raises(Unseen, match="don't add up: the server needs each of them"):
        one.sights("sum", 1)
    exchange = one.compressor.exchange(updates(), one.compressor.begin(TRIALS, CLIENTS, KERNELS), at())
    decoded = torch.tensor(one.compressor.decode(exchange.messages[0], at(), []))
    (sight,) = one.sights("another client", 1)
    others = decoded[:, :OBSERVER].mean(dim=1)
    there = torch.tensor(exchange.step != 0)
    torch.testing.assert_close(sight.seen, others * there, rtol=1e-4, atol=1e-6)
    assert sight.measurements.tolist() == there.sum(dim=1).tolist()
    assert sight.nbytes == exchange.bytes_down


def test_views_where_weights_move() -> None:
    """A message by one key repeats what was sent where weights stay; where they move, each round is seen on its own."""
    made = functools.partial(SubsampledHadamard, signs=False)
    recovery = functools.partial(FIHT, stopping="paper", support="padded")
    layout = scene().networks.layout
    one_key = CompressedSensing(layout, byte_limit(layout, 16), family=made, recovery=recovery)

    def later(at: At) -> Array:
        return (1 + at.round) * updates()

    assert len(WatchedRounds(one_key, at(), lambda _: updates()).sights("server", 3)) == 1
    sights = WatchedRounds(one_key, at(), later, moving=True).sights("server", 3)
    assert len(sights) == 3
    for number, sight in enumerate(sights):
        torch.testing.assert_close(sight.seen, (1 + number) * sights[0].seen, rtol=1e-4, atol=1e-6)
        predicted = sight.predicted(torch.tensor(later(at()._replace(round=number)))[:, VICTIM])
        torch.testing.assert_close(predicted, sight.seen, rtol=1e-4, atol=1e-6)
    top = watched(TopK, 16).compressor
    with pytest.raises(Unseen, match="at other weights each"):
        WatchedRounds(one_key, at(), later, moving=True).sights("another client", 2)
    with pytest.raises(ValueError, match="TopK keeps what clients have not sent"):
        WatchedRounds(top, at(), later, moving=True)


@dataclasses.dataclass(frozen=True)
class Halves(Compressor):
    """The update in two phases, a half in each; the second half of it times what was replies of the first."""

    adds_up: ClassVar[bool] = True
    phases: ClassVar[int] = 2

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        half = self.layout.d // 2
        return Message({"second": replies[0].content[:, None] * x[..., half:]} if replies else {"first": x[..., :half]})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return np.concatenate([message.parts["first"], message.parts["second"]], axis=2)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        if not replies:
            return Reply(message.parts["first"].mean(axis=(1, 2))[:, None], message.nbytes), memory
        return Reply(np.zeros((at.trials, self.layout.d), "float32"), message.nbytes), memory

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        half, factor = self.layout.d // 2, torch.tensor(replies[0].content)
        seen = torch.tensor(self.decode(message, at, replies)[:, 0])
        return seen, lambda x: torch.cat([x[:, :half], factor * x[:, half:]], dim=1)


def test_messages_of_all_phases_are_seen() -> None:
    """With the reply between them, which depends on all clients; a client takes its own part off each."""
    one = watched(Halves)
    every = torch.tensor(updates())
    expected = {"server": every[:, VICTIM], "sum": every.mean(1), "another client": every[:, :OBSERVER].mean(1)}
    for place, update in expected.items():
        (sight,) = one.sights(place, 1)
        torch.testing.assert_close(sight.predicted(update), sight.seen, rtol=1e-4, atol=1e-6)
        assert sight.nbytes == WORD * every.shape[2]


def test_the_closed_form_is_exact() -> None:
    assert (
        min(one.psnr for one in scene().likenesses(pixels(closed_form(target(watched(Plain), "server"))), slice(None)))
        > 100
    )


def test_the_closed_form_of_some_entries() -> None:
    """Pixels of which the message has an entry beside that of the bias come back; others as the prior has them."""
    one = watched(RandomK, 4)
    (sight,) = one.sights("server", 1)
    asked = sight.predicted(torch.arange(scene().networks.layout.d).float().expand(TRIALS, -1)).long()
    found = closed_form(target(one, "server"))[:, 0]
    shares = []
    for trial in range(TRIALS):
        places = set(asked[trial].tolist())
        active = np.flatnonzero(updates()[trial, VICTIM, 3200:3250])
        known = [j for j in range(64) if any(3200 + i in places and 64 * i + j in places for i in active)]
        torch.testing.assert_close(found[trial, known], scene().images[trial, VICTIM, known], rtol=0, atol=1e-3)
        shares.append(len(known) / 64)
    assert 0.3 < np.mean(shares) < 0.95  # some, and not all


def test_the_closed_form_behind_a_projection() -> None:
    """Where the layer sees P x of rank 40, so much is found, and nothing is made up of the rest."""
    S = torch.randn(TRIALS, 64, 40, generator=torch.Generator().manual_seed(2)) / 8
    projection = S @ S.transpose(1, 2)
    projected = scene().networks.with_projections([projection, None, None, None], kernels.load("numpy"))
    one = watched(Plain, seen=scene().updates(projected))
    found = closed_form(target(one, "server")._replace(networks=[projected]))[:, 0]
    truth = scene().images[:, VICTIM]
    before = (scene().prior.mean.flatten() - truth) @ projection[0]
    assert ((found - truth)[:, None] @ projection).norm() < 0.2 * before.norm()  # but for what lies outside of [0, 1]
    assert np.mean(leads(found[:, None])) > 3


def test_gradient_matching_needs_no_closed_form() -> None:
    for kind, compression, level in ((Plain, 1, 10), (RandomK, 4, 3)):
        seen = target(watched(kind, compression), "server")
        assert min(leads(ATTACKS.match_gradients(seen, ATTACKS.find_most_likely(seen, seen.of_any_class)))) > level


@dataclasses.dataclass(frozen=True)
class Signs(Plain):
    """Which entries are positive, zeros with them."""

    adds_up: ClassVar[bool] = False

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"values": np.where(x >= 0, 1, -1).astype("float32")})

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return torch.tensor(message.parts["values"][:, 0]), lambda x: x / x.norm(dim=1, keepdim=True)


def test_a_regression_finds_what_no_map_describes() -> None:
    """Signs tell which pixels are black: the regression makes use of it, and matching does not."""
    found = ATTACKS.run(target(watched(Signs), "server"))
    assert np.mean(leads(found["regression"])) > 3
    assert np.mean(leads(found["gradient matching"])) < 2
    short = dataclasses.replace(ATTACKS, steps=1, starts=1, stages=1)
    assert "regression" not in short.run(target(watched(Plain), "server"))  # a linear message needs none


ROUNDS = [
    (Plain, 1, "server"),
    (RandomK, 16, "server"),
    (RandomK, 16, "sum"),
    (RandomK, 16, "another client"),
    (TopK, 16, "server"),
    (PowerSGD, 16, "server"),
    (PowerSGD, 16, "sum"),
]


@pytest.mark.parametrize(("kind", "compression", "place"), ROUNDS)
def test_the_memory_is_no_secret(kind: type[Compressor], compression: float, place: Place) -> None:
    """The true update alone explains the messages of all rounds; a message that never changes counts once."""
    sights = watched(kind, compression).sights(place, 4)
    assert len(sights) == (1 if kind is Plain else 4)
    truth = torch.tensor(updates())[:, sights[0].clients].mean(dim=1)
    for sight in sights:
        size = sight.seen.norm()
        assert (sight.predicted(truth) - sight.seen).norm() < 1e-3 * size
        assert (sight.predicted(truth.roll(1, 0)) - sight.seen).norm() > 0.1 * size


@pytest.mark.parametrize(("kind", "compression"), [(QSGD, 16), (QSGD, 4), (Int8, 1), (Sign, 16), (TopK, 16)])
def test_likelihoods(kind: type[Compressor], compression: float) -> None:
    """Of several updates the true one is the likeliest, in two rounds alike; all are finite, with finite slopes."""
    for sight in watched(kind, compression).sights("server", 2):
        truth = torch.tensor(updates())[:, VICTIM]
        others = [truth.roll(1, 0), 1.2 * truth, truth + 0.3 * truth.std() * torch.randn(truth.shape), 0 * truth]
        assert sight.surprisal is not None
        for other in others:
            tried = other.clone().requires_grad_()
            value = sight.surprisal(tried)
            assert (sight.surprisal(truth) < value).all()
            assert torch.autograd.grad(value.sum(), tried)[0].isfinite().all()


def test_a_level_is_as_likely_as_it_is_drawn() -> None:
    """The probability of a rounded entry, over draws, is what the likelihood of QSGD says of it."""
    compressor = QSGD(Layout(((4,),)), 4 + 1)  # three levels
    x = np.tile(np.float32([[[3, 0, 4, 0]]]), (4000, 1, 1))  # of norm 5: the levels are 3/5 and 4/5
    where = At(KERNELS, 3, 0, len(x))
    message = compressor.encode(x, Memory(), where, [])
    values = surprisal(compressor, SeenMessage(message, where, []))(torch.tensor(x[:, 0]))
    kinds, counts = np.unique(np.exp(-values.numpy()).round(4), return_counts=True)
    np.testing.assert_allclose(kinds, [0.08, 0.12, 0.32, 0.48], atol=1e-3)
    np.testing.assert_allclose(counts / len(x), kinds, atol=0.04)  # five standard deviations


def test_rounds_add_up() -> None:
    """The most likely image gains from each round with a new key, also where a step looks at four rounds."""
    found = []
    for rounds in (1, 4, 16):
        seen = target(watched(RandomK, 64), "sum", rounds)
        found.append(np.mean(leads(ATTACKS.find_most_likely(seen, seen.classes.of(seen.labels)))))
    assert found[1] > found[0] + 1
    assert found[2] > found[1] + 1


def test_priors_of_classes() -> None:
    labels, priors = torch.tensor([[3, 1], [0, 3]]), scene().classes
    z = torch.randn(2, 2, 64, generator=torch.Generator().manual_seed(1))
    found = priors.of(labels)(z)
    for trial, place in np.ndindex(2, 2):
        label = int(labels[trial, place])
        expected = priors.means[label] + z[trial, place] @ priors.roots[label]
        torch.testing.assert_close(found[trial, place], expected)
    data = scene().data
    own = data.features(data.train)[data.train.labels == 3]
    np.testing.assert_allclose(priors.means[3], own.mean(axis=0), atol=1e-6)


def test_a_wrong_key_recovers_nothing() -> None:
    one = watched(RandomK, 4)
    assert one.sights("eavesdropper", 1)[0].at.seed != at().seed
    guess = leads(scene().classes.means[scene().labels[:, :1]])
    for kind, images in ATTACKS.run(target(one, "eavesdropper")).items():
        assert max(np.subtract(leads(images), guess)) < 2, kind


def test_attacks_know_nothing_but_what_is_seen() -> None:
    seen = target(watched(Plain, seen=np.roll(updates(), 1, axis=1)), "server")._replace(
        labels=scene().labels[:, [OBSERVER]]
    )
    found = closed_form(seen)[:, 0]
    torch.testing.assert_close(found, scene().images[:, OBSERVER], rtol=0, atol=1e-4)


def test_a_property_is_told() -> None:
    """By single messages surely, by sums less so, and only where messages add up."""
    told = MessageProperty(classes=[0, 1, 2, 3, 4], batch=16, known=64, tested=32, others=8, features=64)
    layout, networks = scene().networks.layout, draw_networks(digits.load(), MODEL, 1, range(4))
    updates = told.updates(networks, 6, digits.load(), np.random.default_rng(0))
    areas = {}
    for kind in (Plain, TopK):
        compressor = kind(layout, byte_limit(layout, 1 if kind is Plain else 16))
        areas[kind] = told.areas(Observation(compressor, at(4)), updates)
    assert areas[TopK].keys() == {"server"}
    assert min(*areas[Plain]["server"], *areas[TopK]["server"]) > 0.95
    assert 0.6 < np.mean(areas[Plain]["sum"]) < 0.97
    with pytest.raises(ValueError, match="others=8 must be >= 9, all clients but one"):
        told.updates(networks, 10, digits.load(), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"classes=\[10\] have no image in digits"):
        dataclasses.replace(told, classes=[10]).updates(networks, 6, digits.load(), np.random.default_rng(0))


# What the order of the numbers in a message tells, against all choices one by one; and compressors that hide it


LAYOUT = Layout(((50, 8), (50,)))
FEW_TRIALS = 3
RANDOM = np.random.default_rng(0)


def sensing(family: Callable[..., Any], **fields: Any) -> Callable[..., Compressor]:
    def make(layout: Layout, limit: int) -> Compressor:
        return CompressedSensing(layout, limit, lambda d, b: family(d=d, b=b, **fields), recovery=FIHT)

    return make


ORDERED = {"rand-k": RandomK, "fiht": sensing(SubsampledHadamard, signs=False)}
SHUFFLED = {"rand-k": ShuffledRandomK, "fiht": sensing(ShuffledHadamard, signs=False)}
SIGNED = sensing(SubsampledHadamard)


def messages(make: Callable[..., Compressor]) -> tuple[Compressor, At, Any, Any]:
    compressor = make(layout=LAYOUT, limit=byte_limit(LAYOUT, 4))
    at = At(KERNELS, 3, 0, FEW_TRIALS)
    x = np.random.default_rng(1).standard_normal((FEW_TRIALS, 1, LAYOUT.d)).astype("float32")
    exchange = compressor.exchange(x, compressor.begin(FEW_TRIALS, 1, KERNELS), at)
    return compressor, at, x, exchange


def places(make: Callable[..., Compressor]) -> list[list[int]]:
    """The places of a message's numbers among the public ones, -1 where there is none."""
    compressor, at, x, exchange = messages(make)
    every = public_numbers(compressor, at)(torch.tensor(x[:, 0])).numpy()
    (seen,) = (part[:, 0] for part in exchange.messages[0].parts.values())
    near = np.abs(every[:, None] - seen[..., None])
    return np.where(near.min(axis=2) < 1e-4, near.argmin(axis=2), -1).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ORDERED)
def test_the_order_is_public_unless_the_key_hides_it(kind: str) -> None:
    for ordered, shuffled in zip(places(ORDERED[kind]), places(SHUFFLED[kind]), strict=True):
        assert ordered == sorted(ordered)
        assert min(ordered) >= 0
        assert min(shuffled) >= 0
        assert np.mean(np.diff(shuffled) > 0) < 0.7


def test_signs_hide_all_numbers() -> None:
    assert np.mean(np.array(places(SIGNED)) < 0) > 0.9


@pytest.mark.parametrize("kind", ORDERED)
def test_an_order_from_the_key_costs_nothing(kind: str) -> None:
    """As many bytes, the same step for the transform, whose rows are the same; Rand-K's step has as many entries."""
    (_, _, _, one), (_, _, _, other) = messages(ORDERED[kind]), messages(SHUFFLED[kind])
    assert (one.bytes_up, one.bytes_down) == (other.bytes_up, other.bytes_down)
    np.testing.assert_allclose(other.step, one.step, rtol=1e-3, atol=1e-4)


def test_no_public_order() -> None:
    compressor, at, *_ = messages(ORDERED["fiht"])
    plain = object.__new__(type(compressor))
    object.__setattr__(plain, "__dict__", {**vars(compressor), "sketch_family": None})
    with pytest.raises(ValueError, match="come in no public order; choose fiht or random_k"):
        public_numbers(plain, at)


@pytest.mark.parametrize("n", [4, 7])
def test_the_posterior_is_that_of_all_choices(n: int) -> None:
    m = 3
    possible = RANDOM.standard_normal((2, n)).astype("float32")
    seen = (possible[:, [0, 2, 3]] + 0.3 * RANDOM.standard_normal((2, m))).astype("float32")
    deviations = RANDOM.uniform(0.4, 0.8, (2, n)).astype("float32")
    found = Lattice(m, n).posterior(seen, possible, deviations)
    for trial in range(2):
        choices = np.array(list(itertools.combinations(range(n), m)))
        chosen = deviations[trial, choices]
        off = (seen[trial] - possible[trial, choices]) / chosen
        likelihoods = (np.exp(-(off**2) / 2) / chosen).prod(axis=1)
        weights, sums = np.zeros(n), np.zeros(n)
        for choice, likelihood in zip(choices, likelihoods / likelihoods.sum(), strict=True):
            weights[choice] += likelihood
            sums[choice] += likelihood * seen[trial]
        np.testing.assert_allclose(found.weights[trial], weights, atol=1e-3)
        np.testing.assert_allclose(found.means[trial] * found.weights[trial], sums, atol=1e-3)
        assert found.log_likelihood[trial] == pytest.approx(np.log(likelihoods.sum()), abs=1e-3)


def test_the_attack_finds_a_line_through_some_of_its_numbers() -> None:
    """Of 40 of 120 numbers, linear in 3 pixels, in their order; and not where the order is another."""
    matrix = torch.randn(120, 3, generator=torch.Generator().manual_seed(1))
    truth = torch.tensor([[0.2, 0.8, 0.5], [0.7, 0.1, 0.4]])
    chosen = np.sort(RANDOM.permutation(120)[:40])
    attack = OrderAttack(passes=15, steps=10, rate=0.1, draws=8, deviation=1, last=0.05)

    def images(z: Tensor) -> Tensor:
        return 0.5 + 0.3 * z

    for order, least in ((chosen, 0.0), (RANDOM.permutation(chosen), 0.1)):
        seen = (truth @ matrix.T)[:, order]
        found = attack.run(seen, lambda x: x @ matrix.T, images, 3, 1)
        error = float((found - truth).abs().max())
        assert least <= error < least + (0.05 if least == 0 else 1)
