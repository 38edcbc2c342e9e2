"""What enters a round of a compressor, and what leaves it: wrong arrays are refused by name, updates of all sizes are
compressed alike, and what is zero, constant, or no number leaves nothing behind."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import compressing
import numpy as np
import pytest
from compressing import CLIENTS, LAYOUT, SEED, TRIALS, Floats, exchanged, fitting, made, updates
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.packing import from_bits, pack, to_bits, unpack
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.kernels import Kernels
from sketchbench.sketch.family import SizeError
from sketchbench.sketch.recovery.fiht import FIHT

EVERY = pytest.mark.parametrize("name", compressing.NAMES)
END = np.finfo(np.float32)
D = LAYOUT.d


def masked(x: Floats) -> Any:
    return np.ma.masked_array(x, mask=x > 1)


WRONG: dict[str, tuple[Callable[[Floats], Any], type[Exception], str]] = {
    "float64": (lambda x: x.astype("float64"), TypeError, r"updates of dtype float64 must be float32; convert with"),
    "float16": (lambda x: x.astype("float16"), TypeError, r"float16 must be float32"),
    "integers": (lambda x: x.astype("int32"), TypeError, r"int32 must be float32"),
    "objects": (lambda x: x.astype(object), TypeError, r"object must be float32"),
    "other bytes": (lambda x: x.astype(">f4"), TypeError, r">f4 must be float32"),
    "masked": (masked, TypeError, r"without a mask, not numpy\.ma\S*MaskedArray; see kernels.asarray"),
    "a list": (lambda x: x.tolist(), TypeError, r"must be an array of numpy without a mask, not builtins.list"),
    "too long": (lambda x: np.tile(x, 2), ValueError, rf"\(3, 2, {2 * D}\) must have the shape .* {D} entries"),
    "too short": (lambda x: x[..., 1:], ValueError, rf"{D - 1}\) must have the shape"),
    "other trials": (lambda x: x[:2], ValueError, r"\(2, 2, .* the shape \(3 trials, 1 or more clients"),
    "no clients": (lambda x: x[:, :0], ValueError, r"\(3, 0, .* 1 or more clients"),
    "one axis less": (lambda x: x[0], ValueError, r"must have the shape"),
    "nan": (lambda x: x * np.float32("nan"), ValueError, r"entry \(0, 0, 0\) of the updates is nan; every entry must"),
    "infinite": (lambda x: np.where(x > 1, np.float32("inf"), x), ValueError, r"of the updates is inf; every entry"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("name", ["none", "top_k", "power_sgd", "fetch_sgd"])
def test_wrong_updates_are_refused_by_name(name: str, case: str, reference: Kernels) -> None:
    change, error, text = WRONG[case]
    compressor = fitting(name)[-1]
    memory = compressor.begin(TRIALS, CLIENTS, reference)
    with pytest.raises(error, match=text) as caught:
        compressor.exchange(change(updates(1)), memory, At(reference, SEED, 0, TRIALS))
    assert len(str(caught.value).splitlines()) == 1


@EVERY
def test_a_memory_of_others_is_refused(name: str, reference: Kernels) -> None:
    compressor, at = fitting(name)[-1], At(reference, SEED, 1, TRIALS)
    x = updates(1)
    sound = exchanged(compressor, reference, [x])[0][0].memory
    for trials, clients in ((TRIALS, CLIENTS + 1), (TRIALS + 1, CLIENTS)):
        other = exchanged(compressor, reference, [updates(1, trials, clients)])[0][0].memory
        if [one.shape for one in door.arrays(tuple(other))] != [one.shape for one in door.arrays(tuple(sound))]:
            with pytest.raises(ValueError, match=r"memory .*(must|needs)"):
                compressor.exchange(x, other, at)
    unlike = Memory(None if sound.clients is not None else 0 * x, sound.server)
    with pytest.raises(ValueError, match=r"part of the clients, unlike that of .*; make it with `begin`"):
        compressor.exchange(x, unlike, at)
    with pytest.raises(TypeError, match=r"must be a Memory, from `begin`"):
        compressor.exchange(x, None, at)  # type: ignore[arg-type]
    for array in door.arrays(tuple(sound)):

        def spoil(one: Any, bad: Any = array) -> Any:
            return one * np.float32("nan") if one is bad else one

        with pytest.raises(ValueError, match=r"memory.* is nan; every entry must be finite"):
            compressor.exchange(x, Memory(*door.replace(tuple(sound), spoil)), at)


@pytest.mark.parametrize(("number", "trials", "error"), [(-1, 3, ValueError), (0, 0, ValueError), (0.5, 3, TypeError)])
def test_rounds_have_numbers(number: Any, trials: int, error: type[Exception], reference: Kernels) -> None:
    compressor = made("top_k", 2)
    with pytest.raises(error, match=r"(round|trials)=\S+ must be (>= [01]|an integer)"):
        compressor.exchange(
            updates(1), compressor.begin(TRIALS, CLIENTS, reference), At(reference, SEED, number, trials)
        )


@pytest.mark.parametrize(
    ("layout", "limit", "error", "text"),
    [
        (Layout(()), 40, SizeError, "has no entries to compress"),
        (Layout(((0, 3), (2, 0))), 40, SizeError, "has no entries to compress"),
        (Layout(((3,), (-1, 2))), 40, ValueError, r"shape \(-1, 2\) in a layout must have no length below 0"),
        (Layout(((2.0, 3),)), 40, TypeError, "a Layout of shapes, which are tuples of integers"),  # type: ignore
        (Layout(7), 40, TypeError, "must be a Layout of shapes"),  # type: ignore
        (((2, 3),), 40, TypeError, "must be a Layout of shapes"),
        (Layout(((2, 3),)), 0, ValueError, "limit=0 must be >= 1"),
        (Layout(((2, 3),)), 24.0, TypeError, "limit=24.0 must be an integer"),
        (Layout(((2, 3),)), True, TypeError, "limit=True must be an integer"),
    ],
)
def test_layouts_and_limits_are_checked(layout: Any, limit: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Plain(layout, limit)


@pytest.mark.parametrize("compression", [0, -1.0, float("nan"), float("inf")])
def test_compressions_are_checked(compression: float) -> None:
    with pytest.raises(ValueError, match=r"compression=.* must be > 0 and finite"):
        byte_limit(LAYOUT, compression)


FORMS: dict[str, Callable[[Floats], Floats]] = {
    "every other entry": lambda x: np.repeat(x, 2, axis=2)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1],
    "by column": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0),
}


@EVERY
def test_any_strides_give_the_same_and_nothing_is_written(name: str, reference: Kernels) -> None:
    compressor, rounds = fitting(name)[-1], [updates(1), updates(2)]
    plain, _ = exchanged(compressor, reference, rounds)
    for form in FORMS.values():
        memory, steps = compressor.begin(TRIALS, CLIENTS, reference), []
        for number, x in enumerate(rounds):
            other = form(x)
            for array in (other, *door.arrays(tuple(memory))):
                array.flags.writeable = False
            done = compressor.exchange(other, memory, At(reference, SEED, number, TRIALS))
            memory = done.memory
            steps.append(done.step)
        np.testing.assert_array_equal(steps, [one.step for one in plain])


Event = tuple[str, int]
EVENTS = st.tuples(
    st.sampled_from(
        ["normal", "zero", "one zero", "constant", "rank one", "denormal", "huge", "nan", "inf", "one nan"]
    ),
    st.integers(0, 3),
)
REFUSED = ("nan", "inf", "one nan")


def of(event: Event) -> Floats:
    """The updates of an event."""
    kind, number = event
    x = updates(number)
    if kind == "zero":
        return 0 * x
    if kind == "constant":
        return np.full_like(x, number - 1)
    if kind == "rank one":
        for table in LAYOUT.tables:
            part = table.of(x)
            x[..., table.start : table.stop] = (part[..., :1] * part[..., :1, :]).reshape(*x.shape[:2], -1)
    if kind == "denormal":
        return x * END.smallest_subnormal * np.float32(9)
    if kind == "huge":
        return x * np.float32(END.max / 32)
    if kind in ("nan", "inf"):
        return np.full_like(x, np.float32(kind))
    if kind == "one zero":
        x[:, number % CLIENTS] = 0
    if kind == "one nan":
        x[-1, -1, number] = np.float32("nan")
    return x


class Played(NamedTuple):
    """The events that were taken, their steps, and the memory after them."""

    taken: list[Event]
    steps: list[Floats]
    memory: Memory


def play(compressor: Compressor, events: list[Event], kernels: Kernels) -> Played:
    """Play events, of which some must be refused, and huge ones may be where sums exceed float32."""
    memory = compressor.begin(TRIALS, CLIENTS, kernels)
    taken: list[Event] = []
    steps: list[Floats] = []
    for event in events:
        x, at = of(event), At(kernels, SEED, len(steps), TRIALS)
        before = [array.copy() for array in door.arrays(tuple(memory))]
        refused = ""
        try:
            done = compressor.exchange(x, memory, at)
        except (ValueError, OverflowError) as error:
            refused = str(error)
        for old, new in zip(before, door.arrays(tuple(memory)), strict=True):
            np.testing.assert_array_equal(old, new)
        if event[0] in REFUSED:
            assert re.search("of the updates is .* every entry must be finite", refused)
        elif refused:
            assert "huge" in {kind for kind, _ in (*taken, event)}
            assert re.search("where float32 ends|exceed float32", refused)
        else:
            taken.append(event)
            steps.append(done.step)
            memory = done.memory
    return Played(taken, steps, memory)


@EVERY
@examples(6)
@given(events=st.lists(EVENTS, min_size=2, max_size=5), which=st.integers(0, 9))
def test_nothing_poisons_the_memory(name: str, events: list[Event], which: int, reference: Kernels) -> None:
    """What is refused might never have happened; all else is finite, and nothing of it is lost or doubled."""
    several = fitting(name)
    compressor = several[which % len(several)]
    taken, steps, memory = play(compressor, events, reference)
    without = play(compressor, taken, reference)
    assert without.taken == taken
    pairs = zip(
        [*steps, *door.arrays(tuple(memory))], [*without.steps, *door.arrays(tuple(without.memory))], strict=True
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
        assert np.isfinite(one).all()
    kept: Any = memory.clients
    if compressor.feedback == "client" and not traits.conserves(compressor) and steps:  # EF21 keeps minus its estimates
        size = max(1.0, *(float(abs(of(event)).max()) for event in taken))
        np.testing.assert_allclose(steps[-1], -kept.mean(axis=1, dtype="float64"), atol=1e-5 * size)
    elif compressor.feedback == "client":
        total = sum((of(event).mean(axis=1, dtype="float64") for event in taken), np.zeros((TRIALS, D)))
        sent = sum(steps, np.zeros((TRIALS, D))) + kept.mean(axis=1, dtype="float64")
        size = max((float(abs(of(event)).max()) for event in taken), default=0.0)
        np.testing.assert_allclose(sent, total, atol=1e-4 * max(1.0, size))
    if taken and taken[0][0] == "zero":
        assert not steps[0].any()


EXACT = -100  # the exponent of updates whose sums and products all are normal numbers
TIES = (
    "count_sketch_feedback",
    "fetch_sgd",
    "fiht",
    "fiht_shuffled",
    "fiht_signs",
)  # what is kept depends on the last bit, where medians are equal


@EVERY
@examples(10)
@given(exponent=st.integers(END.minexp, END.maxexp), which=st.integers(0, 9))
def test_updates_of_all_sizes_are_compressed_alike(name: str, exponent: int, which: int, reference: Kernels) -> None:
    """Bit for bit in powers of two, down to sums that are subnormal; up to those that exceed float32, which is said."""
    several = fitting(name)
    compressor = several[which % len(several)]
    if not traits.scales(compressor):  # as printed, it stops at a norm in the units of the update
        assert name.startswith("fiht")
        fixed = partial(FIHT, support="padded", iterations=5)
        compressor = replace(compressor, recovery=fixed)  # type: ignore[call-arg]
        assert traits.scales(compressor)
    rounds = [updates(number) / np.float32(8) for number in range(3)]  # below 1
    plain, _ = exchanged(compressor, reference, rounds)
    scaled = [np.ldexp(x, exponent).astype("float32") for x in rounds]
    try:
        found, _ = exchanged(compressor, reference, scaled)
    except OverflowError as error:
        assert exponent > 110
        assert "where float32 ends" in str(error) or "exceed float32" in str(error)  # noqa: PT017
        return
    except ValueError as error:
        assert exponent > 110
        assert name == "discrete_srht"
        assert "hold no sum" in str(error)  # noqa: PT017
        return
    least = np.ldexp(1.0, -126 - exponent) if name == "natural" else 0.0  # smaller entries become it, or 0
    for one, other in zip(plain, found, strict=True):
        step = np.ldexp(other.step.astype("float64"), -exponent)
        if exponent >= EXACT:
            np.testing.assert_array_equal(step, one.step)
        elif name not in TIES:
            assert np.linalg.norm(step - one.step) <= 1e-4 * np.linalg.norm(one.step) + least * step.size**0.5
        assert (one.bytes_up, one.bytes_down) == (other.bytes_up, other.bytes_down)


LAYER = Layout(((20, 30),))


def corner(kind: str) -> Floats:
    """An update of one layer: zero; of rank one in the first five rows and columns; or normal in the others."""
    x = np.zeros((1, 1, 20, 30), dtype=np.float32)
    if kind == "other":
        x[..., 5:, 5:] = updates(1, 1, 1, 15 * 25).reshape(15, 25)
    if kind == "rank one":
        x[..., :5, :5] = np.outer(*np.random.default_rng(0).standard_normal((2, 5)))  # which rounding does not spare
    return x.reshape(1, 1, -1)


@pytest.mark.parametrize("first", ["zero", "rank one"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_power_sgd_starts_again_where_a_factor_vanished(first: str, rank: int, kernels: Kernels) -> None:
    """What comes later in other rows and columns is sent as from a start with it, also beside what was sent before."""
    compressor = PowerSGD(LAYER, 4 * rank * 50)
    assert compressor.rank == rank
    before = [] if first == "zero" and rank == 1 else [corner(first)] * 3
    rounds = [*before, *[corner("other") + corner(first if rank > 1 else "zero")] * 6]
    done, _ = exchanged(compressor, kernels, [corner("zero"), *rounds])
    sent = sum(kernels.to_numpy(one.step) for one in done).reshape(20, 30)
    wanted = sum(rounds).reshape(20, 30)
    assert np.linalg.norm(sent[5:, 5:]) >= 0.3 * np.linalg.norm(wanted[5:, 5:])


def test_an_overflow_of_the_memory_is_said(reference: Kernels) -> None:
    compressor = made("top_k", 16)
    x = np.full((TRIALS, 1, D), 0.45 * END.max, dtype=np.float32)
    _, memory, _ = exchanged(compressor, reference, [x, x])[0][1][:3]
    with pytest.raises(
        OverflowError, match=r"of the updates plus the memory is inf, which TopK made of finite updates"
    ):
        compressor.exchange(x, memory, At(reference, SEED, 2, TRIALS))


def test_packing_refuses_what_it_cannot_pack() -> None:
    digits = np.array([0, 1, 2], dtype=np.uint8)
    with pytest.raises(ValueError, match="base=4 must be 2 or 3"):
        pack(np, digits, 4)
    with pytest.raises(ValueError, match="digit 2 must be below the base, 2"):
        pack(np, digits, 2)
    with pytest.raises(TypeError, match="digits of dtype int64 must be uint8"):
        pack(np, digits.astype("int64"), 3)
    with pytest.raises(ValueError, match="count=6 must be from 0 to 5"):
        unpack(np, pack(np, digits, 3), 3, 6)
    with pytest.raises(ValueError, match="width=17 must be from 1 to 16"):
        to_bits(np, digits.astype("uint16"), 17)
    with pytest.raises(ValueError, match="number 2 must be below 2"):
        to_bits(np, digits.astype("uint16"), 1)
    with pytest.raises(ValueError, match="5 bits must be a multiple of width=3"):
        from_bits(np, np.ones(5, dtype=np.uint8), 3)
