"""The dictionary of columns: everything that may stand in a row of a task or a table, with its type, meaning and unit.

Whoever adds a column adds it here. Nothing here changes a number, so this module is no part of a run's signature (see
`run.signature`): meanings and units can be reworded, and columns added, without making any run again.
"""

from enum import StrEnum
from typing import Any

from sketchbench.parameters import did_you_mean

CONTROLS = "control/"  # begins the names of the methods that are broken on purpose
TRIALS_THERE = "trials there"  # the quantity of a row that the table adds where trials that are runs are missing


class Column(StrEnum):
    """A column of a row or table: its name, the type of its values, its meaning, and its unit ("" where it has none).

    The columns from CASE to SHARE are the axes: what tells two comparisons of one method apart, in the order in which
    a comparison is named after them.
    """

    meaning: str
    unit: str
    kind: type

    def __new__(cls, name: str, kind: type, meaning: str, unit: str = "") -> "Column":
        member = str.__new__(cls, name)
        member._value_ = name
        member.kind, member.meaning, member.unit = kind, meaning, unit
        return member

    # what was compared (written by the table, from the plan)
    METHOD = "method", str, "config that is compared: a sketch, a recovery or a compressor; `any` where none is"
    LABEL = "label", str, "the method's name for people"
    # what was measured
    QUANTITY = "quantity", str, "what the row is about, as the task's documentation defines it"
    # the axes
    CASE = "case", str, "which of the task's cases: a pair of vectors, a theorem, an algorithm, a view"
    LEMMA = "lemma", str, "lemma or theorem that the bound is from, by its number in the paper"
    EPSILON = "epsilon", float, "ε that the noise is calibrated to, or that a lemma starts from"
    DELTA = "delta", float, "failure probability δ", "probability"
    STEPS = "steps", int, "private steps that are composed", "count"
    BATCH = "batch", int, "samples of a client's batch", "count"
    D = "d", int, "dimension of the vectors that are sketched", "count"
    B = "b", int, "sketch size", "count"
    S = "s", int, "nonzeros per column of a sparse embedding", "count"
    K = "k", int, "nonzeros of a vector, or coordinates of a support", "count"
    NODES = "nodes", int, "nodes of a graph", "count"
    SEED = "seed", int, "root of all randomness of a run"
    COMPRESSION = (
        "compression",
        float,
        "what there is over what is sent: d/b, or the bytes of an update over those allowed",
    )
    AMOUNT = "amount", float, "norm of the noise or tail that was added", "as the signal"
    CHANNEL_NOISE = "channel_noise", float, "standard deviation of each received entry", "as the entry"
    LOCAL_STEPS = "local_steps", int, "local steps of a round", "count"
    HETEROGENEITY = "heterogeneity", float, "how far apart the clients' minimisers are"
    PARTICIPATION = "participation", float, "share of the clients in a round", "share"
    ROUND = "round", int, "number of rounds before the measurement", "count"
    APPLICATIONS = "applications", int, "times that a decoder may apply Φ or Φᵀ, at most", "count"
    SHARE = "share", float, "share of a batch's images that have the property", "share"
    # further settings and facts
    ATTACK = "attack", str, "config of the attack"
    READING = "reading", str, "which reading of the paper's words"
    RANGE = "range", str, "whether the values are those that a lemma is proven for"
    SAMPLING = "sampling", str, "how batches are drawn"
    NEIGHBOURS = "neighbours", str, "which data sets count as neighbours"
    ACCOUNTANT = "accountant", str, "what accounted for ε"
    ROUNDS = "rounds", int, "rounds of a run, from start to end", "count"
    RECORDS = "records", int, "records of a client", "count"
    CLIENTS = "clients", int, "number of clients", "count"
    NOISE = "noise", float, "noise in training, relative to what was accounted for"
    SIGMA = "sigma", float, "standard deviation of the noise in each coordinate", "as the gradient"
    SENSITIVITY = "sensitivity", float, "distance of neighbours' releases, at most", "as the gradient"
    THRESHOLD = "threshold", float, "the level whose exceedances were counted", "as the quantity"
    SUPPORT = "support", str, "where a recovery may choose entries"
    LENGTH = "length", int, "entries of a vector", "count"
    UNIT = "unit", float, "unit that the signal is measured in"
    DIAMETER = "diameter", int, "diameter of the graph", "count"
    MEASUREMENTS = "measurements", str, "whether there are fewer of them than pixels, or more"
    OBSERVED = "observed", int, "numbers that the attacker sees", "count"
    PIXELS = "pixels", int, "numbers of an image", "count"
    FALSE_POSITIVES = "false_positives", float, "share of class 0 taken for class 1", "share"
    BYTES_UP = "bytes_up", int, "sent so far, by those whom the task names", "bytes"
    BYTES_DOWN = "bytes_down", int, "received so far, by those whom the task names", "bytes"
    BYTES_SEEN = "bytes_seen", int, "of what the attacker sees", "bytes"
    # what came out
    STATUS = "status", str, "`finite`, or why there is no number"
    REASON = "reason", str, "why there is no number, in words"
    EXACT = "exact", float, "the value that was derived, of what `mean` estimates", "as the quantity"
    BOUND = "bound", float, "the value that the claim allows", "as the quantity"
    TRIALS = "trials", int, "independent trials behind the row", "count"
    PLANNED = "planned", int, "trials that were planned, where some are not there yet (written by the table)", "count"
    MEAN = "mean", float, "mean over the trials", "as the quantity"
    SD = "sd", float, "standard deviation over the trials (divisor trials - 1)", "as the quantity"
    SKEWNESS = "skewness", float, "skewness over the trials; 0 where nothing varies"
    MINIMUM = "minimum", float, "least of the trials", "as the quantity"
    MAXIMUM = "maximum", float, "largest of the trials", "as the quantity"
    COUNT = "count", int, "trials in which the event happened", "trials"
    POSITIVE_CONTROL = (
        "positive_control",
        int,
        "trials in which the attack, or training, succeeds without defence",
        "trials",
    )
    VALUE = "value", float, "a number without randomness", "as the quantity"
    CLAIMED = "claimed", float, "ε that the lemma claims"
    EXACT_EPSILON = "exact_epsilon", float, "ε that is true, or an upper limit of it"
    HITS = "hits", int, "runs with the canary that the attack recognises as such", "trials"
    FALSE_ALARMS = "false_alarms", int, "runs without the canary that the attack takes for runs with it", "trials"
    SHIFT = "shift", float, "distance of the two worlds' mean statistics", "standard deviations"
    # pictures
    TRIAL = "trial", int, "which trial is shown"
    SHAPE = "shape", str, "channels x height x width of the picture"
    PICTURE = "picture", str, "pixels as bytes in base64"


COLUMNS: dict[str, Column] = {column.value: column for column in Column}
_ORDER = list(Column)
AXES = _ORDER[_ORDER.index(Column.CASE) : _ORDER.index(Column.SHARE) + 1]


def check_value(name: str, value: Any) -> None:
    """Check that a value may stand in a column.

    Raises:
        ValueError: for a column that `Column` does not list.
        TypeError: for a value that is not of the column's type; an int will do for a float.
    """
    if name not in COLUMNS:
        meant = did_you_mean(name, COLUMNS)
        raise ValueError(f"column {name} is unknown; add it, with its meaning, to {__name__}.Column{meant}")
    kind = COLUMNS[name].kind
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise TypeError(f"column {name} must hold {kind.__name__}, not {value!r} ({type(value).__name__})")
