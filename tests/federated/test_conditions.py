"""What trainings refuse before their first round: the error names the value and the condition."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sketchbench.federated.compressed_sensing import CompressedSensingSGD, ServerState
from sketchbench.federated.decentralised import average_by_gossip, average_by_relaying
from sketchbench.federated.double_blind import BlindReply, Broadcast, aggregate, broadcast, receive, respond
from sketchbench.federated.fedavg import FedAvg, FedAvgState
from sketchbench.federated.fedavg_experiment import FedAvgExperiment, FedAvgProcedure
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.peer_to_peer import PeerToPeer
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.federated.tuning import hold_out
from sketchbench.kernels import load
from sketchbench.learning.dataset import partition, synthetic
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.learning.objective.network import Network
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch import CountSketch, Family, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT

NUMPY = load("numpy")
SHAPE, CLASSES, D = (1, 2, 2), 3, 16
WRONG = (ValueError, TypeError)
SAMPLES = Samples(torch.rand(12, *SHAPE), torch.arange(12) % CLASSES)
PARTS = [np.arange(6), np.arange(6, 12)]


class Untrained(Quadratic):
    def gradients(self, w: Any) -> Any:
        pytest.fail("the training has begun")

    gradient = gradients


QUADRATIC = Untrained(NUMPY, D, 2, 0)
BINARY = Logistic(NUMPY, 2, 0, data="thumbnails")


def network(family: Family | None = None, hidden: int = 5) -> nn.Module:
    return mlp(SHAPE, CLASSES, family, hidden=(hidden,))


def fedavg(**given: Any) -> Iterator[Any]:
    how = {"model": network(), "twin": make_blind(network()), "samples": SAMPLES, "parts": PARTS, "seed": 0}
    return FedAvg(0.1).run(**{**how, "rounds": 1, "kernels": NUMPY, **given})


def iterative(**given: Any) -> Iterator[Any]:
    how = {"objective": QUADRATIC, "key": 1, "trials": 2, "rounds": 1, **given}
    return IterativeSketching(CountSketch(D, 4), 0.1).run(**how)


def compressed(**given: Any) -> Iterator[Any]:
    sketch = SubsampledHadamard(D, 8, signs=False).draw(1, kernels=NUMPY)
    how = {"objective": QUADRATIC, "sketch": sketch, "seed": 0, "trials": 2, "rounds": 1, **given}
    return CompressedSensingSGD(FIHT(k=2), 0.1).run(**how)


def private(**given: Any) -> Iterator[Any]:
    family = CountSketch(BINARY.d, 4)
    algorithm = PrivateSketching(IterativeSketching(family, 0.1), Sampling("poisson", 5, 36), 1.0, 1.0)
    return algorithm.run(**{"objective": BINARY, "seed": 0, "key": 1, "trials": 2, "rounds": 1, **given})


TRAININGS: list[Callable[..., Iterator[Any]]] = [fedavg, iterative, compressed, private]
WRONG_COUNTS = st.one_of(
    st.integers(max_value=-1),
    st.booleans(),
    st.floats(),
    st.sampled_from([None, "3", np.int64(3), [3], 1.5, float("nan")]),
)


@given(train=st.sampled_from(TRAININGS), wrong=WRONG_COUNTS, name=st.sampled_from(["rounds", "trials"]))
def test_rounds_and_trials(train: Callable[..., Iterator[Any]], wrong: Any, name: str) -> None:
    """Refused by the call itself, not by the first round."""
    name = "rounds" if train is fedavg else name
    with pytest.raises(WRONG, match=f"{name}="):
        train(**{name: wrong})


def test_no_rounds_are_the_start_alone() -> None:
    for train in TRAININGS:
        (start,) = train(rounds=0)
        assert start.t == 0


@pytest.mark.parametrize("train", [fedavg, compressed, private])
@pytest.mark.parametrize("seed", [-1, True, 1.0, None])
def test_seeds(train: Callable[..., Iterator[Any]], seed: Any) -> None:
    with pytest.raises(WRONG, match="seed"):
        train(seed=seed)


@pytest.mark.parametrize("train", [iterative, compressed])
def test_objectives_of_other_sizes(train: Callable[..., Iterator[Any]]) -> None:
    with pytest.raises(ValueError, match="the sketch's d=16 must be the objective's, 8"):
        train(objective=Untrained(NUMPY, 8, 2, 0))
    for start, message in (
        (np.zeros(15), "has 15 weights, and must have d=16"),
        (np.zeros((1, 16)), r"start: shape .1, 16. .* must be a NumPy array .d,. of type float64"),
        (np.full(16, np.nan), "entry .0,. of the objective's start is nan; every entry must be finite"),
        (np.ma.zeros(16), "a masked array must be"),
    ):
        other = Untrained(NUMPY, D, 2, 0)
        other.start = start
        with pytest.raises(ValueError, match=message):
            train(objective=other)


def test_gradients_of_another_shape() -> None:
    rounds = iterative(gradients=lambda w: w[:, :1])
    assert next(rounds).t == 0
    with pytest.raises(ValueError, match=r"gradients .2, 1, 16. must have the weights' shape .2, 2, 16."):
        next(rounds)


def test_states_of_another_training() -> None:
    w, y = np.zeros((2, D)), np.zeros((2, 8))
    assert next(compressed(after=ServerState(1, w, y, y, None, 0, 0))).t == 1
    for state in (
        ServerState(2, w, y, y, None, 0, 0),
        ServerState(-1, w, y, y, None, 0, 0),
        ServerState(0, w[:1], y, y, None, 0, 0),
        ServerState(0, w, y[:, :1], y, None, 0, 0),
    ):
        with pytest.raises(ValueError, match=f"a state after {state.t} rounds .* must be after 0 to rounds=1"):
            compressed(after=state)
    with pytest.raises(ValueError, match="a state after 2 rounds must be one of 0 to rounds=1"):
        fedavg(state=FedAvgState(2, network().state_dict(), 0, 0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"parts": []}, "0 clients must be at least one"),
        ({"parts": [np.arange(0), np.arange(0)]}, "2 of 2 clients are without a sample, the first of them client 0"),
        ({"parts": [np.arange(6), np.arange(0)]}, "1 of 2 clients are without a sample, the first of them client 1"),
        ({"parts": [np.array([0, -1])]}, "sample -1 at 1 of client 0 must be 0 to 11"),
        ({"parts": [np.array([0, 12])]}, "sample 12 at 1 of client 0 must be 0 to 11"),
        ({"parts": [np.arange(3), np.arange(2, 5)]}, "sample 2 at 2 of client 0 must not be given again"),
        ({"samples": Samples(SAMPLES.images[:0], SAMPLES.labels[:0])}, "at least one"),
        ({"samples": Samples(SAMPLES.images[:5], SAMPLES.labels)}, "an image for each label"),
        ({"samples": Samples(SAMPLES.images, SAMPLES.labels.float())}, "of type torch.float32"),
        ({"samples": Samples(SAMPLES.images, SAMPLES.labels + 1)}, "labels from 1 to 3 must be 0 to 2"),
        ({"samples": Samples(SAMPLES.images, SAMPLES.labels - 1)}, "labels from -1 to 1 must be 0 to 2"),
        ({"samples": Samples(SAMPLES.images[..., 1:], SAMPLES.labels)}, r"takes no images of shape .1, 2, 1."),
        ({"twin": network(hidden=4)}, r"twin: 1.weight of shape .4, 4. must have shape .5, 4."),
        ({"twin": nn.Sequential()}, r"twin: 1.weight of shape None must have shape .5, 4."),
        ({"twin": nn.Sequential(*network(), nn.Linear(3, 1))}, r"model: 4.weight of shape None must have shape .1, 3."),
        ({"model": network(CountSketch(4, 2))}, r"twin: 1.weight of shape .5, 4. must have shape .5, 2."),
        ({"model": nn.Sequential(nn.BatchNorm2d(1))}, "batch normalisation"),
    ],
)
def test_federations_that_do_not_fit(wrong: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sketchbench.federated.fedavg.respond", lambda *_: pytest.fail("the training has begun"))
    with pytest.raises(ValueError, match=message):
        fedavg(**wrong)


def test_parts_may_run_backwards() -> None:
    last = [list(fedavg(model=network(), parts=parts))[-1] for parts in ([np.arange(6)[::-1]], [np.arange(5, -1, -1)])]
    assert [at.t for at in last] == [1, 1]


@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [0, 2, 1, 0]])
def test_a_single_score_is_for_two_classes(labels: list[int]) -> None:
    def one() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(4, 1))

    given_ = {"model": one(), "twin": one(), "parts": [np.arange(4)]}
    samples = Samples(SAMPLES.images[:4], torch.tensor(labels))
    if max(labels) == 1:
        assert next(fedavg(samples=samples, **given_)).t == 0
        return
    with pytest.raises(ValueError, match="labels from 0 to 2 must be 0 to 1"):
        fedavg(samples=samples, **given_)


def test_replies_that_can_not_be_averaged() -> None:
    model = network(CountSketch(4, 2))
    message = broadcast(model, 1, NUMPY)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    steps = message.weights
    for replies, words in (
        ([], "replies: 0 must be at least one"),
        ([BlindReply(3, 0, steps), BlindReply(4, 0, steps)], "samples=0 of client 3 must be >= 1"),
        ([BlindReply(3, 2, steps), BlindReply(4, -2, steps)], "samples=-2 of client 4 must be >= 1"),
        (
            [BlindReply(3, 2, {**steps, "1.weight": steps["1.weight"].T})],
            r"client 3: 1.weight of shape .2, 5. must have",
        ),
        ([BlindReply(3, 2, {"1.bias": steps["1.bias"]})], r"client 3: 1.weight of shape None must have shape .5, 2."),
    ):
        with pytest.raises(ValueError, match=words):
            aggregate(model, replies)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    wide = Broadcast(1, {**steps, "1.weight": steps["1.weight"][:1]})  # which would be broadcast
    with pytest.raises(ValueError, match=r"the message: 1.weight of shape .1, 2. must have shape .5, 2."):
        receive(make_blind(network(CountSketch(4, 2))), wide, NUMPY)


def test_local_steps() -> None:
    for images, labels, rate, message in (
        (SAMPLES.images[:0], SAMPLES.labels[:0], 0.1, "client 7: 0 images and 0 labels must be equally many, not 0"),
        (SAMPLES.images[:2], SAMPLES.labels, 0.1, "client 7: 2 images and 12 labels"),
        *((*SAMPLES, rate, f"rate={rate} must be > 0") for rate in (0.0, -1.0, float("nan"), float("inf"))),
    ):
        with pytest.raises(ValueError, match=message):
            respond(network(), 7, images, labels, rate)


RING = {"weights": np.zeros((3, 2, 4)), "features": np.zeros((3, 5, 4)), "labels": np.zeros((3, 5, 2))}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": np.zeros((3, 2, 5))}, "must be .N, out, d., .N, n, d. and .N, n, out."),
        ({"labels": np.zeros((1, 5, 2))}, "must be .N, out, d., .N, n, d. and .N, n, out."),
        ({"features": np.zeros((3, 0, 4)), "labels": np.zeros((3, 0, 2))}, "at least one sample of each node"),
        ({"features": np.full((3, 5, 4), np.nan)}, "entry .0, 0, 0. of features is nan; every entry must be finite"),
        ({"labels": np.zeros((3, 5, 2), int)}, "labels: .* type int64 must be"),
        ({"weights": np.ma.zeros((3, 2, 4))}, "weights: a masked array must be"),
        ({"weights": np.zeros((0, 2, 4)), "features": np.zeros((0, 5, 4)), "labels": np.zeros((0, 5, 2))}, "not empty"),
    ],
)
def test_peers_that_do_not_fit(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PeerToPeer(3, 0.1, 0.1).run(**{**RING, **wrong}, sketches=lambda t: pytest.fail("the training has begun"))


def test_sketches_of_another_number_of_links() -> None:
    rounds = PeerToPeer(3, 0.1, 0.1).run(**RING, sketches=lambda t: np.zeros((1, 2, 4)))
    with pytest.raises(ValueError, match=r"sketches .1, 2, 4. of round 0 must be .3, b, 4."):
        next(rounds)


@pytest.mark.parametrize("average", [average_by_relaying, average_by_gossip])
def test_graphs_and_messages(average: Callable[..., Iterator[Any]]) -> None:
    ring, messages = nx.cycle_graph(3), np.eye(3)
    for graph, sent, message in (
        (nx.cycle_graph(3, create_using=nx.DiGraph), messages, "the graph has directions"),
        (nx.Graph(), np.zeros((0, 3)), "must not be empty"),
        (ring, messages.astype(int), "messages: .* type int64 must be"),
        (ring, messages[0], "messages: shape .3,. "),
        (ring, np.full((3, 3), np.inf), "entry .0, 0. of messages is inf; every entry must be finite"),
        (ring, np.ma.array(messages, mask=messages > 0), "messages: a masked array"),
    ):
        with pytest.raises(ValueError, match=message):
            average(graph, sent)


def test_the_weight_of_an_edge_counts_for_nothing() -> None:
    """Nor one of 0, by which the node would be cut off."""
    graph = nx.path_graph(3)
    graph.edges[0, 1]["weight"] = 0.0
    *_, last = average_by_relaying(graph, np.eye(3))
    np.testing.assert_allclose(last.means, np.full((3, 3), 1 / 3))


def procedure(**given: Any) -> FedAvgProcedure:
    how = {"participation": 0.5, "epochs": 1, "batch": 5, "local_step": "sketch", "precision": "float32"}
    return FedAvgProcedure(**{**how, **given})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("participation", value) for value in (0, -0.1, 1.0001, float("nan"), True)),
        *(("epochs", value) for value in (0, -1, 1.5, True, float("nan"))),
        *(("batch", value) for value in (0, -1, 2.0, True)),
        *(("momentum", value) for value in (-0.1, 1.0, float("nan"))),
    ],
)
def test_procedures(field: str, value: Any) -> None:
    with pytest.raises(WRONG, match=f"{field}="):
        procedure(**{field: value})


def experiment(data: Dataset, **given: Any) -> FedAvgExperiment:
    def perceptron(**how: Any) -> nn.Module:
        return mlp(**how, hidden=(3,))

    deal = given.pop("partition", lambda labels, seed: partition.iid(labels, seed, 2))
    how = {"rounds": 1, "kernels": NUMPY, "seed": 0, "partition": deal, "model": perceptron, "family": None}
    return FedAvgExperiment(**{**how, "data": data, "procedure": procedure(), "rate": 0.1, **given})


def test_experiments() -> None:
    data = synthetic.load(train=20, test=8, classes=2)
    assert experiment(data).run().rounds == [0, 1]
    for field, values in {
        "rate": (0, -1.0, float("nan"), float("inf")),
        "rounds": (0, -1, 1.5),
        "seed": (True, 1.5),
    }.items():
        for value in values:
            with pytest.raises(WRONG, match=f"{field}="):
                experiment(data, **{field: value})
    one = replace(data, test=Split(data.test.images, np.zeros(8, np.int64)))
    with pytest.raises(ValueError, match="all test images have label 0, and the area under a ROC curve needs both"):
        experiment(one)
    empty = experiment(data, partition=lambda labels, seed: [np.arange(0)] * 3)
    with pytest.raises(ValueError, match="3 of 3 clients are without a sample"):
        empty.run()


def test_a_target_before_the_first_evaluation() -> None:
    data = synthetic.load(train=20, test=8)
    assert experiment(data, rounds=2, target=0.0, evaluated=[2]).run().rounds == [2]


def test_networks_deal_checked_parts() -> None:
    data = synthetic.load(train=20, test=8)
    settings = {"data": data, "model": lambda **how: mlp(**how, hidden=(3,)), "batch": 1}
    for part in (np.array([0, -1]), np.array([20]), np.array([1.5]), np.ma.array([1])):
        with pytest.raises(ValueError, match="partition: "):
            Network(NUMPY, 0, partition=lambda labels, seed, part=part: [part], **settings)  # type: ignore[arg-type]
    halves = partial(partition.iid, clients=2)
    with pytest.raises(ValueError, match="batch=11 must be <= 10, the samples of a client"):
        Network(NUMPY, 0, partition=halves, **settings | {"batch": 11})  # type: ignore[arg-type]


def test_too_few_samples_to_hold_some_out() -> None:
    with pytest.raises(ValueError, match="9 training samples must be >= 10 for a choice of learning rates"):
        hold_out(synthetic.load(train=9, test=8), 0)
