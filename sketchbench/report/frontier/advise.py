"""Which compressors fit a budget of bytes, by the measured frontier."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

WORD = 4  # bytes of a float32
FRONTIERS = (Path("reports/frontier.csv"), Path("reports/paper/frontier.csv"))
CASES = ("iid", "one class")
SIZES = 10.0  # times more or fewer parameters than measured that an answer still speaks of
SHOWN = ("label", "bytes_up", "bytes_down", "accuracy", "interval", "loss", "leak_server", "adds_up")


class AdviceError(ValueError):
    """A question that the measurements do not answer; the message says why, and what they would answer."""


class Answer(NamedTuple):
    """The answer to a question.

    Arguments:
        measured: the rows of the frontier that answer, the most accurate first.
        notes: how the question was read, in sentences.
    """

    measured: pd.DataFrame
    notes: Sequence[str]


class Question(NamedTuple):
    """A question about compressors.

    Arguments:
        nbytes: the bytes that a client may send in a round.
        parameters: of the network.
        epsilon: the privacy that each record must have at least; None for none.
        case: how images are dealt out to the clients.
        sums: whether the server may only see the sum of the clients' messages.
        any_size: whether networks of any size are spoken of by the ratio of bytes alone.
    """

    nbytes: float
    parameters: int
    epsilon: float | None = None
    case: str = "iid"
    sums: bool = False
    any_size: bool = False


def advise(question: Question, frontier: pd.DataFrame) -> Answer:
    """The compressors that fit, each at the largest of its measured sizes that does, with the weakest privacy measured
    that is enough: both make the answer one that is kept, not one hoped for.

    Raises:
        AdviceError: where it would have to go beyond what was measured.
    """
    share = question.nbytes / (WORD * question.parameters)
    notes = [f"{question.nbytes:g} bytes are 1/{1 / share:.3g} of an update in float32."]
    rows, note = _private(frontier[frontier["case"] == question.case], question.epsilon)
    notes += note
    rows = rows[rows["accuracy"].notna()]
    shares = rows["bytes_up"] / (WORD * rows["d"])
    fits = shares <= share * (1 + 1e-9)
    if not fits.any():
        least = float(shares.min())
        raise AdviceError(
            f"{question.nbytes:g} bytes for {question.parameters} parameters are 1/{1 / share:.0f} of all, and the "
            f"least that was measured is 1/{1 / least:.0f}: at least "
            f"{math.ceil(least * WORD * question.parameters)} bytes can be spoken of"
        )
    rows = rows[fits].sort_values("compression").drop_duplicates(["method", "d"])
    sizes = sorted({int(d) for d in rows["d"].dropna()})
    near = [d for d in sizes if d / SIZES <= question.parameters <= d * SIZES]
    if not near and not question.any_size:
        raise AdviceError(
            f"networks of {', '.join(map(str, sizes)) or 'no'} parameters were measured, and {question.parameters} are "
            f"more than {SIZES:g} times away; add --any-size to take the ratio of bytes as all that counts"
        )
    if not near:
        notes.append(f"Measured on {', '.join(map(str, sizes))} parameters only, not near {question.parameters}.")
    elif len(near) < len(sizes):
        rows = rows[rows["d"].isin(near)]
    if question.sums:
        rows = rows[rows["adds_up"].eq(True)]
        notes.append("Only those whose messages add up.")
    if rows.empty:
        raise AdviceError(f"no compressor was measured there; {' '.join(notes)}")
    return Answer(rows.sort_values("accuracy", ascending=False), notes)


def _private(rows: pd.DataFrame, epsilon: float | None) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the largest ε that is not above the one that is asked for."""
    if epsilon is None:
        return rows[rows["epsilon"].isna()], []
    known = sorted(rows["epsilon"].dropna().unique())
    kept = [value for value in known if value <= epsilon]
    if not known:
        raise AdviceError("privacy was not measured for clients like these; leave --epsilon out, or take --clients iid")
    if not kept:
        raise AdviceError(f"epsilon={epsilon:g} is below {known[0]:g}, the smallest that was measured")
    return rows[rows["epsilon"] == kept[-1]], [f"Measured at ε = {kept[-1]:g}."]


def table(answer: Answer) -> list[dict[str, Any]]:
    """The answer's rows, as people read them."""
    lines = []
    for row in answer.measured.to_dict("records"):
        cells = {name: row.get(name) for name in SHOWN if name != "interval"}
        cells["interval"] = f"{row['accuracy_low']:.3f} to {row['accuracy_high']:.3f}"
        lines.append({name: _text(name, cells[name]) for name in SHOWN})
    return lines


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "-"
    if name == "adds_up":
        return "yes" if value else "no"
    return f"{value:.0f}" if name.startswith("bytes") else f"{value:.3f}" if name != "leak_server" else f"{value:+.1f}"
