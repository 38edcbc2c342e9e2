"""Find the compressors that fit a budget of bytes, on the measured frontier nearest to a question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sketchbench.base.parameters import choose
from sketchbench.measure.column import Column
from sketchbench.report.frontier import COST
from sketchbench.report.frontier.cells import SUMS, WAYS, read
from sketchbench.report.table import times

WORD = 4  # bytes of a float32
FRONTIERS = (Path("reports/frontier.csv"), Path("reports/paper/frontier.csv"))
SAMPLED = "sampled"  # the case of clients that are drawn for a round
TOLERANCE = 1.01  # a choice may take so many times the bytes asked for
CLASSIFIER, LANGUAGE = "image_classifier", "language_model"
SIZES = 10.0  # an answer covers networks of up to this many times more or fewer parameters
CHOICES = 3
TOY = "digits"  # data that are too small to represent other data
DEALT = {"iid": "images dealt out at random", "one class": "of one class each", SAMPLED: "of one class each"}  # by case
# The facts of a choice, by their words.
SHOWN = {
    "compressor": "label",
    "share of bytes sent": "share",
    "accuracy": "accuracy",
    "lost by compression": "loss",
    "bytes up": "bytes_up",
    "bytes down": "bytes_down",
    "bytes up and down": "bytes_both",
    "client memory, bytes": "client_bytes",
    "time of a round, over plain": "round_time",
    "rounds to target": "rounds_to_target",
    "bytes to target, up": "target_up",
    "bytes to target, down": "target_down",
    "bytes to target, sum": "target_both",
    "rounds until visible": "rounds_server",
    "the same, of sums": "rounds_sum",
    "messages can be summed": "adds_up",
}
LEAKS = (("rounds_server", "leak_server"), ("rounds_sum", "leak_sum"))  # rounds until visible, and the lead of attacks
# The facts of a choice in JSON, with the ends of intervals.
FACTS = ("method", "compression", "accuracy_low", "accuracy_high", "loss_low", "loss_high", "trials", "reached")


class AdviceError(ValueError):
    """A question that the measurements do not answer; the message says why, and which questions, `instead`, they would
    answer."""

    def __init__(self, why: str, *instead: "Question") -> None:
        super().__init__(why)
        self.instead = instead


class Question(NamedTuple):
    """A question about compressors."""

    nbytes: float  # that a client may send and receive in a round, or only one of both, by `way`
    parameters: int  # of the network
    epsilon: float | None = None  # the privacy that each record needs; None for no privacy
    case: str = "iid"  # how images are dealt out to the clients
    sums: bool = False  # whether the server sees only the sum of the clients' messages
    any_size: bool = False  # whether to use the ratio of bytes for networks of any size
    clients: int | None = None
    taking_part: int | None = None  # clients in a round; fewer than `clients` keep no state
    way: str = "both"  # of WAYS
    model: str = CLASSIFIER  # or LANGUAGE

    @property
    def sampled(self) -> bool:
        """Whether clients are drawn for a round, so that they keep no state."""
        return self.case == SAMPLED or (self.taking_part is not None and self.taking_part < (self.clients or 0))


class Answer(NamedTuple):
    """The answer to a question."""

    choices: pd.DataFrame  # rows of the frontier, the most accurate first
    measured: str  # their measurement, in words
    notes: Sequence[str]  # the reading of the question, and its differences from the measurement


def read_frontiers(paths: Sequence[Path]) -> pd.DataFrame:
    """The rows of sealed frontiers, with the time of a round relative to no compression if it was measured here.

    Raises, in one line, SealError or TableError.
    """
    return pd.concat([read(path).merge(_times(path), "left", [*_CELL]) for path in paths], ignore_index=True)


_CELL: list[str] = [Column.METHOD, Column.COMPRESSION, Column.D]


def _times(path: Path) -> pd.DataFrame:
    """`round_time` by cell, from the times beside a frontier; none in a checkout without a run."""
    place = path.parent / "tables" / f"{COST}.csv"
    table = times.read(place) if place.is_file() else None
    if table is None:
        return pd.DataFrame({name: [] for name in (*_CELL, "round_time")}).astype({Column.METHOD: object})
    rows = table[table[Column.QUANTITY] == "round_time"]
    return rows[[*_CELL, Column.VALUE]].rename(columns={Column.VALUE.value: "round_time"})


def advise(question: Question, frontier: pd.DataFrame) -> Answer:
    """The most accurate compressors that fit, as measured on the nearest network, with clients of this kind. Each is at
    its most accurate measured size that fits, with the weakest sufficient privacy measured, so that the answer is
    measured and not extrapolated.

    Raises AdviceError if the answer would have to go beyond the measurements.
    """
    if question.model == LANGUAGE:
        raise AdviceError(
            "language models were not measured: every network here classifies images; ask with --model "
            f"{CLASSIFIER} --any-size for the ratio of bytes, or measure by sketchbench frontier --folder",
            question._replace(model=CLASSIFIER, any_size=True),
        )
    full = _full(question.parameters, question.way)
    what = {"up": "sent", "down": "received", "both": "sent and received"}[question.way]
    notes = [f"{question.nbytes:g} bytes {what} are 1/{full / question.nbytes:.3g} of the bytes without compression."]
    rows, more = _of_clients(frontier[frontier["accuracy"].notna()], question)
    rows, private = _private(rows, question)
    notes += more + private
    rows = _nearest(rows, question)
    first = rows.iloc[0].to_dict()
    notes += _apart(question, first)
    if question.sums:
        rows = rows[rows["adds_up"].eq(True)]
        notes.append("Only compressors whose messages add up.")
    if rows.empty:
        why = f"no compressor was measured there; {' '.join(notes)} Ask without --sums"
        raise AdviceError(why, question._replace(sums=False))
    fitting = fit(rows, question.nbytes / full, question.way)
    if fitting.empty:
        least = shares(trained(rows), question.way).min()
        raise AdviceError(
            f"{question.nbytes:g} bytes {what} for {question.parameters} parameters are "
            f"1/{full / question.nbytes:.3g} of all bytes, and the smallest measured share is 1/{1 / least:.3g}; "
            f"ask for at least {math.ceil(least * full)} bytes",
            question._replace(nbytes=math.ceil(least * full)),
        )
    choices = fitting.head(CHOICES)
    over = shares(choices, question.way).max() * full / question.nbytes - 1
    if over > 1e-9:
        notes.append(f"A choice may take {over:.2%} more bytes than you allow.")
    level = choices["accuracy_high"].iloc[1:] >= choices["accuracy_low"].iloc[0]
    if level.any():
        which = " and ".join(str(place) for place, same in enumerate(level, 2) if same)
        notes.append(f"The intervals of 1 and {which} overlap, so that the more accurate choice is open.")
    if choices["reached"].notna().all() and choices["rounds_to_target"].isna().all():
        notes.append(_out_of_reach(rows, question, full))
    return Answer(choices, described(first), notes)


def _out_of_reach(rows: pd.DataFrame, question: Question, full: float) -> str:
    """Say that no choice reaches the target, and name the cheapest that does."""
    said = "The median training reaches the target with none of these choices"
    reaching = rows[rows["rounds_to_target"].notna()]
    if reaching.empty:
        return f"{said}, nor with any other measured compressor."
    own = shares(reaching, question.way)
    least = reaching.iloc[int(own.argmin())]
    return f"{said}. {least['label']} at 1/{least['compression']:g} does, with {math.ceil(own.min() * full):,} bytes."


def trained(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of trainings that did not all diverge, which means the accuracy 0."""
    return rows[rows["accuracy"] > 0]


def fit(rows: pd.DataFrame, share: float, way: str = "both") -> pd.DataFrame:
    """The rows of one setting with at most this share of the bytes without compression, or TOLERANCE times that, the
    most accurate first: for each compressor, the most accurate row, and of equals that with the fewest bytes."""
    rows = trained(rows)
    own = shares(rows, way)
    rows = rows.assign(_share=own)[own <= share * TOLERANCE]
    rows = rows.sort_values(["accuracy", "_share"], ascending=[False, True], kind="stable").drop_duplicates("method")
    return rows.drop(columns="_share")


def shares(rows: pd.DataFrame, way: str = "both") -> pd.Series:
    """The bytes of each row divided by the bytes without compression."""
    return rows[WAYS[way]] / _full(rows["d"], way)


def _full(parameters: Any, way: str) -> Any:
    """The bytes of a round without compression."""
    return WORD * parameters * (2 if way == "both" else 1)


def _of_clients(rows: pd.DataFrame, question: Question) -> tuple[pd.DataFrame, list[str]]:
    """The rows measured with the question's kind of clients: with or without state, with or without shared noise."""
    sampled = (rows["taking_part"] < rows["clients"]) | (rows["case"] == SAMPLED)
    rows = rows[sampled == question.sampled]
    if question.sampled:
        if rows.empty:
            case = "iid" if question.case == SAMPLED else question.case
            raise AdviceError(
                "clients that are drawn for a round were not measured; let all clients take part, without --per-round",
                question._replace(taking_part=None, case=case),
            )
        alike = rows[rows["case"] == question.case]
        kind = "; with clients of one class each" if question.case != "one class" else ""
        return (alike, []) if len(alike) else (rows, [f"Few clients take part in a round and keep no state{kind}."])
    shared = question.epsilon is not None and question.sums
    case = question.case + SUMS * shared
    known = rows["case"].drop_duplicates()
    if shared and case not in set(known):
        raise AdviceError(
            f"secure aggregation was not measured for clients={question.case}; leave --sums out, or use --clients iid",
            question._replace(sums=False),
            question._replace(case="iid"),
        )
    try:
        choose("clients", question.case, [name for name in known if not name.endswith(SUMS)])
    except ValueError as error:
        raise AdviceError(str(error), *(question._replace(case=one) for one in known if SUMS not in one)) from None
    return rows[rows["case"] == case], []


def _private(rows: pd.DataFrame, question: Question) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the largest ε that is at most the requested ε."""
    epsilon = question.epsilon
    if epsilon is None:
        return rows[rows["epsilon"].isna()], []
    known = sorted(rows["epsilon"].dropna().unique())
    kept = [value for value in known if value <= epsilon]
    if not known:
        everyone = " with --per-round equal to --number" if question.sampled else ""
        raise AdviceError(
            f"privacy was not measured for such clients; leave out --epsilon, or use --clients iid{everyone}",
            question._replace(epsilon=None),
            question._replace(case="iid", taking_part=question.clients),
        )
    if not kept:
        raise AdviceError(
            f"epsilon={epsilon:g} is below {known[0]:g}, the smallest measured ε; ask with --epsilon {known[0]:g}",
            question._replace(epsilon=float(known[0])),
        )
    return rows[rows["epsilon"] == kept[-1]], [f"Measured at ε = {kept[-1]:g}."] if kept[-1] != epsilon else []


def _nearest(rows: pd.DataFrame, question: Question) -> pd.DataFrame:
    """The rows of the network of the nearest size, by ratio, on one data set."""
    apart = np.abs(np.log(rows["d"].astype(float) / question.parameters))
    if len(rows) and (question.any_size or apart.min() <= math.log(SIZES)):
        nearest = rows[apart == apart.min()]
        data = nearest["data"].astype(object).fillna("")
        return nearest[data == data.iloc[0]]
    sizes = ", ".join(f"{size:,.0f}" for size in sorted(rows["d"].unique()))
    raise AdviceError(
        f"networks of {sizes or 'no'} parameters were measured, and {question.parameters} are more than {SIZES:g} "
        "times away; add --any-size to use the ratio of bytes alone",
        question._replace(any_size=True),
    )


def described(row: Mapping[Any, Any]) -> str:
    """The measurement of a row: `MNIST, 199,210 parameters, 10 of 1,000 clients, without state`."""
    data = "data unnamed" if pd.isna(row["data"]) else f"{row['data']}{' (a toy)' if row['data'] == TOY else ''}"
    clients = clients_of(row)
    noise = "noise shared under secure aggregation" if row["case"].endswith(SUMS) else "noise at each client"
    private = "without privacy" if pd.isna(row["epsilon"]) else f"ε = {row['epsilon']:g} with {noise}"
    return f"{data}, {row['d']:,.0f} parameters, {clients}, {private}"


def clients_of(row: Mapping[Any, Any]) -> str:
    """The number of clients, their images, and whether they keep state, in words."""
    case = row["case"].removesuffix(SUMS)
    kind = DEALT.get(case, case)
    if pd.isna(row["clients"]):
        return kind
    if row["taking_part"] < row["clients"]:
        return f"{row['taking_part']:,.0f} of {row['clients']:,.0f} clients, {kind}, without state"
    return f"{row['clients']:,.0f} clients, {kind}"


def _apart(question: Question, row: Mapping[Any, Any]) -> Iterator[str]:
    """The differences between a question and the measurement of a row, in sentences."""
    if (factor := question.parameters / row["d"]) != 1:
        far = "" if 1 / SIZES <= factor <= SIZES else ", so that only the ratio of bytes is comparable"
        yield f"Your network has {factor:.3g} times as many parameters{far}."
        yield (
            "Bytes and memory below are scaled to your network in proportion, though keys, norms and scales stay as "
            "they are, and PowerSGD's factors grow with the layers' sides; accuracies and rounds are those measured."
        )
        if far:
            yield "No language model and no transformer was measured."
    if pd.notna(row["rounds"]):
        yield f"Trained by {row['rounds']:.0f} rounds of SGD without momentum, with one local step a round."
    if pd.notna(row["spent"]):
        yield f"ε is that of one training; with the trainings that chose the learning rate it is {row['spent']:.3g}."
    elif question.epsilon is not None:
        yield "ε is that of one training, without those that chose the learning rate."
    asked = (question.taking_part or question.clients, question.clients)
    there = (row["taking_part"], row["clients"])
    if question.clients and asked != there and not pd.isna(row["clients"]):
        measured = f"{there[0]:,.0f} of {there[1]:,.0f}"
        yield f"You have {asked[0]:,} of {asked[1]:,} clients in a round; the measurement has {measured}."


def _scaled(choices: pd.DataFrame, question: Question) -> pd.DataFrame:
    """The choices with the bytes and the memory of the question's network, in proportion to its parameters."""
    factor = question.parameters / choices["d"].astype(float)
    counted = [*WAYS.values(), *(f"target_{way}" for way in WAYS)]
    scaled = {name: (choices[name].astype(float) * factor).round() for name in counted}
    return choices.assign(**scaled, client_bytes=choices["client_memory"] * WORD * question.parameters)


def table(question: Question, answer: Answer) -> list[list[str]]:
    """The choices as text: a line for each fact, with its words and the value of each choice."""
    rows = [_shown(row) for row in _scaled(answer.choices, question).to_dict("records")]
    lines = [[words, *(row[name] for row in rows)] for words, name in SHOWN.items()]
    return [["", *map(str, range(1, len(rows) + 1))], *lines]


def _shown(row: Mapping[Any, Any]) -> dict[str, str]:
    """The facts of a choice, in words."""
    facts = {name: "-" if pd.isna(row.get(name)) else f"{row[name]:,.0f}" for name in SHOWN.values() if name != "label"}
    facts |= {"label": row["label"], "share": f"1/{row['compression']:g}"}
    facts |= {name: _interval(row, name) for name in ("accuracy", "loss")}
    facts["adds_up"] = {True: "yes", False: "no"}.get(row["adds_up"], "-")
    if not pd.isna(row.get("round_time")):
        facts["round_time"] = f"{row['round_time']:.2g}"
    if not pd.isna(row["reached"]):
        rounds = facts["rounds_to_target"] if not pd.isna(row["rounds_to_target"]) else "not reached"
        facts["rounds_to_target"] = f"{rounds} ({row['reached']:.0f} of {row['trials']:.0f})"
    facts |= {name: leak_of(row, name, lead) for name, lead in LEAKS}
    return facts


def attacked(rows: Any, lead: str) -> Any:
    """Whether attacks, with their lead in the column `lead`, were on messages such as those of a row, or of each row of
    a table: they were on messages without noise, and say nothing about messages with noise."""
    return pd.notna(rows[lead]) & pd.isna(rows["epsilon"])


def leak_of(row: Mapping[Any, Any], rounds: str, lead: str) -> str:
    """The rounds until an image is visible, in words."""
    if not attacked(row, lead):
        return "not measured"
    return "not found" if pd.isna(row[rounds]) else f"{row[rounds]:,.0f}"


def _interval(row: Mapping[Any, Any], name: str) -> str:
    low, high = (row[f"{name}_{end}"] for end in ("low", "high"))
    return f"{row[name]:.3f}" + ("" if pd.isna(low) else f" ({low:.3f} to {high:.3f})")


def to_json(question: Question, answer: Answer) -> dict[str, Any]:
    """The answer for JSON: the question, the measurement, their differences, and the choices; null for no value."""
    row = answer.choices.iloc[0].to_dict()
    names = [name for name in dict.fromkeys([*FACTS, *SHOWN.values(), "command"]) if name in {*row, "client_bytes"}]
    about = ("data", "d", "case", "epsilon", "clients", "taking_part")
    found = _scaled(answer.choices, question)
    frame = found.assign(**{rounds: found[rounds].where(attacked(found, lead)) for rounds, lead in LEAKS})
    choices = [{name: _plain(one[name]) for name in names} for one in frame.to_dict("records")]
    return {
        "question": question._asdict(),
        "measured": {"words": answer.measured, **{name: _plain(row[name]) for name in about}},
        "times_the_parameters": question.parameters / row["d"],
        "notes": list(answer.notes),
        "choices": choices,
    }


def _plain(value: Any) -> Any:
    """The JSON value: None for NaN, and whole numbers as integers."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value
