"""What holds of every config in conf/compressor."""

import compressing
import numpy as np
import pytest
import torch
from compressing import LAYOUT, SEED, TRIALS, Floats, exchanged, fitting, made, single, updates
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench import kernels as backends
from sketchbench.attack.lens import SeenMessage, lens
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.packing import from_bits, pack, packed_nbytes, to_bits, unpack
from sketchbench.compressor.quantised import Quantised
from sketchbench.kernels import Kernels
from sketchbench.sketch.family import SizeError

EVERY = pytest.mark.parametrize("name", compressing.NAMES)
ROUNDING = {"fiht_signs": 1e-3}  # FIHT from 22 rows enlarges it to 3e-4, and with other signs to 8e-5
REFUSED = {"none": 2, "float16": 4, "int8": 7, "sketched_layers": 7, "count_sketch_feedback": 64, "fetch_sgd": 64}
SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=4).map(tuple), min_size=1, max_size=5)
COUNTS = st.tuples(st.integers(1, 3), st.integers(1, 3))  # trials and clients


@EVERY
def test_both_backends_give_the_same(name: str) -> None:
    """To rounding, of nearly sparse updates: of others, it decides where FIHT ends."""
    rounds = [updates(number) ** 5 for number in range(3)]
    for compressor in fitting(name):
        plain, fast = (exchanged(compressor, backends.load(each), rounds)[0] for each in ("numpy", "numba"))
        for one, other in zip(plain, fast, strict=True):
            assert (one.bytes_up, one.bytes_down) == (other.bytes_up, other.bytes_down)
            assert np.linalg.norm(one.step - other.step) <= ROUNDING.get(name, 1e-4) * np.linalg.norm(one.step)


@EVERY
@examples(12)
@given(shapes=SHAPES, compression=st.floats(1, 40), bytes_=st.none() | st.integers(1, 60), counts=COUNTS)
def test_any_network(
    name: str,
    shapes: list[tuple[int, ...]],
    compression: float,
    bytes_: int | None,
    counts: tuple[int, int],
    reference: Kernels,
) -> None:
    """Steps are float32 of the right shape, messages fit, and what doesn't fit is refused in one line; so are networks
    without entries. Shapes are all that torch has: of numbers, vectors, filters, and with a length of 0."""
    layout = Layout(tuple(shapes))
    try:
        limit = byte_limit(layout, compression) if bytes_ is None else bytes_
        compressor = compressing.maker(name)(layout=layout, limit=limit)
    except SizeError as error:
        lines = str(error).splitlines()
    else:
        lines = [_exchanged(compressor, updates(1, *counts, layout.d), reference)]
    assert len(lines) == 1


def _exchanged(compressor: Compressor, x: Floats, kernels: Kernels) -> str:
    """Check three rounds, the second of zeros; the name of the class."""
    trials, clients, d = x.shape
    done, at = exchanged(compressor, kernels, [x, 0 * x, x])
    for one in done:
        assert one.step.shape == (trials, d)
        assert one.step.dtype == np.float32
        assert np.isfinite(one.step).all()
        assert one.bytes_up <= compressor.limit
        assert all(part.shape[:2] == (trials, clients) for sent in one.messages for part in sent.parts.values())
    message, replies = single(compressor, x[:, 0], at)
    assert compressor.decode(message, at, replies).shape == (trials, 1, d)
    return type(compressor).__name__


@EVERY
def test_the_mean_message_of_a_linear_compressor_is_that_of_the_mean_update(name: str, reference: Kernels) -> None:
    """Messages add up, and no client remembers anything."""
    x = updates(3)
    for compressor in fitting(name):
        if not compressor.linear:
            continue
        assert compressor.adds_up
        assert compressor.feedback != "client"
        (each,), _ = exchanged(compressor, reference, [x])
        (of_mean,), _ = exchanged(compressor, reference, [x.mean(axis=1, keepdims=True)])
        for one, other in zip(each.messages, of_mean.messages, strict=True):
            for part, mean in zip(one.mean().parts.values(), other.parts.values(), strict=True):
                np.testing.assert_allclose(part, mean, rtol=0, atol=1e-5 * (1 + abs(mean).max()))


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    assert REFUSED[name] == 64 or fitting(name)
    with pytest.raises(SizeError, match=r"needs|nonzeros per column need"):
        made(name, REFUSED[name])


@EVERY
def test_a_trial_that_diverges_leaves_the_others_alone(name: str, reference: Kernels) -> None:
    for compressor in fitting(name)[:2]:
        sound = updates(3)
        wild = sound.copy()
        wild[1] *= 1e30
        diverged = np.array([False, True, False])
        steps = []
        for x in (sound, wild):
            (done,), _ = exchanged(compressor, reference, [x])
            memory = done.memory.forget(diverged, reference)
            steps.append(exchanged(compressor, reference, [sound], memory)[0][0].step)
        np.testing.assert_array_equal(*steps)


@EVERY
def test_the_lens_shows_what_is_sent(name: str, reference: Kernels) -> None:
    """The differentiable map gives what was seen; of a quantised update, what is left of it."""
    for compressor in fitting(name):
        at = At(reference, SEED, 5, TRIALS)
        x = updates(4)[:, 0]
        message, replies = single(compressor, x, at)
        seen, sent = lens(compressor, SeenMessage(message, at, replies))
        variable = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        found = sent(variable)
        if isinstance(compressor, Quantised):
            decoded = compressor.decode(message, at, replies)[:, 0]
            np.testing.assert_array_equal(seen, decoded)
        elif isinstance(compressor, DiscreteSRHT):
            step = float(replies[0].content.max()) / (compressor.family.b / compressor.family.n) ** 0.5
            assert float(abs(found.detach() - seen).max()) <= step * 1.01  # entries are rounded to one of two integers
        else:
            np.testing.assert_allclose(found.detach(), seen, rtol=1e-4, atol=1e-4)
        found.square().sum().backward()
        assert variable.grad is not None
        assert 0 < float(variable.grad.norm()) < np.inf


@EVERY
def test_what_travels_has_the_size_that_is_said(name: str, reference: Kernels) -> None:
    """Every part as bytes."""
    for compressor in fitting(name):
        (done,), _ = exchanged(compressor, reference, [updates(6)])
        sent = sum(len(part[2, 1].tobytes()) for message in done.messages for part in message.parts.values())
        assert sent == done.bytes_up <= compressor.limit
        assert done.bytes_down > 0


@given(data=st.data(), base=st.sampled_from([2, 3]), count=st.integers(1, 40))
def test_digits_come_back(data: st.DataObject, base: int, count: int) -> None:
    digits = np.array(data.draw(st.lists(st.integers(0, base - 1), min_size=count, max_size=count)), dtype=np.uint8)
    sent = pack(np, digits, base)
    assert sent.shape == (packed_nbytes(count, base),)
    np.testing.assert_array_equal(unpack(np, sent, base, count), digits)


@given(data=st.data(), width=st.integers(3, 16))
def test_numbers_come_back(data: st.DataObject, width: int) -> None:
    numbers = np.array(data.draw(st.lists(st.integers(0, 2**width - 1), min_size=1)), dtype=np.uint16)
    np.testing.assert_array_equal(from_bits(np, to_bits(np, numbers, width), width), numbers)


def test_a_key_counts_once_where_it_stays(reference: Kernels) -> None:
    x = [updates(number) for number in range(2)]
    fresh, kept = (exchanged(made(name, 2), reference, x)[0] for name in ("srht", "power_sgd"))
    assert fresh[0].bytes_down == fresh[1].bytes_down == LAYOUT.nbytes // 2 + 8 + 8  # entries, allowance, key
    assert kept[0].bytes_down == kept[1].bytes_down + 8
