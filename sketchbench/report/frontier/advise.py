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
LEAKS = ("leak_server", "rounds_server", "rounds_sum")
SHOWN = ("label", "bytes_up", "bytes_down", "accuracy", "interval", "loss", *LEAKS, "adds_up")
FORMATS = {"bytes_up": ".0f", "bytes_down": ".0f", "leak_server": "+.1f", "rounds_server": ".0f", "rounds_sum": ".0f"}


class AdviceError(ValueError):
    """A question that the measurements do not answer; the message says why, and what they would answer."""


class Answer(NamedTuple):
    """The rows of the frontier that answer a question, the most accurate first, and notes on how it was read."""

    measured: pd.DataFrame
    notes: Sequence[str]


class Question(NamedTuple):
    """A question about compressors."""

    nbytes: float  # that a client may send in a round
    parameters: int  # of the network
    epsilon: float | None = None  # the privacy that each record must have at least; None for none
    case: str = "iid"  # how images are dealt out to the clients
    sums: bool = False  # whether the server may only see the sum of the clients' messages
    any_size: bool = False  # whether the ratio of bytes alone counts, for networks of any size


def advise(question: Question, frontier: pd.DataFrame) -> Answer:
    """The compressors that fit, each at the largest of its measured sizes that does, with the weakest privacy measured
    that is enough: both make the answer one that is kept, not one hoped for.

    Raises AdviceError where the answer would have to go beyond the measurements.
    """
    full = WORD * question.parameters
    notes = [f"{question.nbytes:g} bytes are 1/{full / question.nbytes:.3g} of an update in float32."]
    rows, note = _private(frontier[frontier["case"] == question.case], question.epsilon)
    notes += note
    rows = rows[rows["accuracy"].notna()]
    shares = rows["bytes_up"] / (WORD * rows["d"])
    fits = shares <= question.nbytes / full * (1 + 1e-9)
    if not fits.any():
        least = float(shares.min())
        raise AdviceError(
            f"{question.nbytes:g} bytes for {question.parameters} parameters are 1/{full / question.nbytes:.0f} of "
            f"all, and the least that was measured is 1/{1 / least:.0f}: at least {math.ceil(least * full)} bytes can "
            f"be spoken of"
        )
    rows = rows[fits].sort_values("compression").drop_duplicates(["method", "d"])
    near = rows["d"].between(question.parameters / SIZES, question.parameters * SIZES)
    sizes = ", ".join(map(str, sorted(set(rows["d"].dropna().astype(int)))))
    if near.any():
        rows = rows[near]
    elif question.any_size:
        notes.append(f"Measured on {sizes} parameters only, not near {question.parameters}.")
    else:
        raise AdviceError(
            f"networks of {sizes or 'no'} parameters were measured, and {question.parameters} are more than {SIZES:g} "
            f"times away; add --any-size to take the ratio of bytes as all that counts"
        )
    if question.sums:
        rows = rows[rows["adds_up"].eq(True)]
        notes.append("Only compressors whose messages add up.")
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


def table(answer: Answer) -> list[dict[str, str]]:
    """The answer's rows, as people read them."""
    rows = answer.measured.reindex(columns=answer.measured.columns.union(pd.Index(SHOWN)))
    ends = zip(rows["accuracy_low"], rows["accuracy_high"], strict=True)
    rows = rows.assign(interval=["-" if pd.isna(low) else f"{low:.3f} to {high:.3f}" for low, high in ends])
    return [{name: _text(name, row[name]) for name in SHOWN} for row in rows.to_dict("records")]


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "-"
    if name == "adds_up":
        return "yes" if value else "no"
    return f"{value:{FORMATS.get(name, '.3f')}}"
