"""The columns of rows and tables: name, type, meaning and unit of each. Add new columns here. A run's signature omits
this module (see `run.signature`): it changes no number."""

from enum import StrEnum
from typing import Any

from sketchbench.base.parameters import did_you_mean

CONTROLS = "control/"  # prefix of the names of negative controls
TRIALS_THERE = "trials there"  # quantity of the table's extra row when planned trials are missing


class Column(StrEnum):
    """A column: its name, the type of its values, its meaning and its unit ("" for none). The columns from CASE to
    SHARE are the axes, which distinguish comparisons of one method; comparisons' names list their values in order."""

    meaning: str
    unit: str
    kind: type

    def __new__(cls, name: str, kind: type, meaning: str, unit: str = "") -> "Column":
        member = str.__new__(cls, name)
        member._value_ = name
        member.kind, member.meaning, member.unit = kind, meaning, unit
        return member

    # the method (written by the table, from the plan)
    METHOD = "method", str, "compared config: sketch, recovery or compressor; `any` if none is compared"
    LABEL = "label", str, "the method's display name"
    # the quantity
    QUANTITY = "quantity", str, "measured quantity, defined in the task's documentation"
    # the axes
    CASE = "case", str, "case of the task: a pair of vectors, a theorem, an algorithm or a view"
    LEMMA = "lemma", str, "the paper's number of the lemma or theorem with the bound"
    EPSILON = "epsilon", float, "ε for which the noise is calibrated, or of a single mechanism in a lemma"
    DELTA = "delta", float, "failure probability δ", "probability"
    STEPS = "steps", int, "number of composed private steps", "count"
    BATCH = "batch", int, "samples in a client's batch", "count"
    D = "d", int, "dimension of the sketched vectors", "count"
    B = "b", int, "sketch size", "count"
    S = "s", int, "nonzeros per column of a sparse embedding", "count"
    K = "k", int, "nonzeros of a vector, or coordinates of a support", "count"
    NODES = "nodes", int, "number of nodes of the graph", "count"
    SEED = "seed", int, "root of all randomness of a run"
    COMPRESSION = "compression", float, "ratio d/b, or an update's bytes over the bytes that a client may send"
    AMOUNT = "amount", float, "norm of the noise or tail added to the signal", "as the signal"
    CHANNEL_NOISE = "channel_noise", float, "standard deviation of noise in each received entry", "as the entry"
    MOMENTUM = "momentum", float, "factor of the last mean message that the server adds to the next"
    LOCAL_STEPS = "local_steps", int, "local steps in a round", "count"
    HETEROGENEITY = "heterogeneity", float, "spread of the clients' minimisers (a parameter of the objective)"
    PARTICIPATION = "participation", float, "share of the clients in a round", "share"
    ROUND = "round", int, "number of rounds before the measurement", "count"
    APPLICATIONS = "applications", int, "largest number of applications of Φ and Φᵀ by a decoder", "count"
    SHARE = "share", float, "share of images with the property in a batch", "share"
    # further settings
    ATTACK = "attack", str, "config of the attack"
    KNOWS = "knows", str, "knowledge of the attack beside the network, the compressor and the labels"
    MODEL = "model", str, "config of the network"
    READING = "reading", str, "interpretation of an ambiguous statement of the paper"
    RANGE = "range", str, "range of the settings: whether the lemma is proven there, or the size of ε"
    SAMPLING = "sampling", str, "sampling of batches: full, poisson, without_replacement or with_replacement"
    NEIGHBOURS = "neighbours", str, "neighbouring data sets: replace_one or add_remove"
    ACCOUNTANT = "accountant", str, "accountant that computed ε"
    ROUNDS = "rounds", int, "rounds of a whole run", "count"
    RECORDS = "records", int, "number of records of a client", "count"
    CLIENTS = "clients", int, "number of clients", "count"
    NOISE = "noise", float, "noise in training relative to the accounted noise, or in every entry of a signal"
    SIGMA = "sigma", float, "standard deviation of the noise in each coordinate", "as the gradient"
    SENSITIVITY = "sensitivity", float, "largest distance of the releases of neighbouring data sets", "as the gradient"
    THRESHOLD = "threshold", float, "level above which trials are counted", "as the quantity"
    SUPPORT = "support", str, "coordinates that a recovery may make nonzero: `true` or `padded`"
    LENGTH = "length", int, "number of entries of a vector", "count"
    UNIT = "unit", float, "unit of the signal"
    DIAMETER = "diameter", int, "diameter of the graph", "count"
    MEASUREMENTS = "measurements", str, "whether measurements are fewer than pixels, or more"
    OBSERVED = "observed", int, "numbers in the attacker's observation", "count"
    PIXELS = "pixels", int, "numbers in an image: channels times pixels", "count"
    FALSE_POSITIVES = "false_positives", float, "false-positive rate: share of class 0 that is classified as 1", "share"
    BYTES_UP = "bytes_up", int, "bytes sent so far by the senders that the task names", "bytes"
    BYTES_DOWN = "bytes_down", int, "bytes received so far by the receivers that the task names", "bytes"
    BYTES_SEEN = "bytes_seen", int, "bytes of the attacker's observation", "bytes"
    # results
    STATUS = "status", str, "`finite`, or the kind of failure, such as `diverged`"
    REASON = "reason", str, "reason of the failure, in words"
    EXACT = "exact", float, "true value, from theory, that `mean` estimates", "as the quantity"
    BOUND = "bound", float, "the claim's limit for the quantity", "as the quantity"
    TRIALS = "trials", int, "independent trials behind the row", "count"
    PLANNED = "planned", int, "planned number of trials, if some are missing (written by the table)", "count"
    MEAN = "mean", float, "mean over the trials", "as the quantity"
    SD = "sd", float, "standard deviation over the trials (divisor trials - 1)", "as the quantity"
    SKEWNESS = "skewness", float, "skewness over the trials; 0 if all are equal"
    MINIMUM = "minimum", float, "smallest value of a trial", "as the quantity"
    MAXIMUM = "maximum", float, "largest value of a trial", "as the quantity"
    COUNT = "count", int, "trials in which the event happened", "trials"
    OPTIMISER_FAILED = (
        "optimiser_failed",
        int,
        "trials in which no attack's answer fits the messages as well as the victim's images do",
        "trials",
    )
    POSITIVE_CONTROL = (
        "positive_control",
        int,
        "trials in which the attack or the training succeeds without the defence",
        "trials",
    )
    VALUE = "value", float, "number without randomness, such as a count of operations", "as the quantity"
    CLAIMED = "claimed", float, "ε that the lemma claims"
    EXACT_EPSILON = "exact_epsilon", float, "true ε, or an upper bound of it"
    HITS = "hits", int, "runs with the canary in which the attack guesses that it is there", "trials"
    FALSE_ALARMS = "false_alarms", int, "runs without the canary in which the attack guesses that it is there", "trials"
    SHIFT = "shift", float, "difference of the mean statistic with and without the canary", "standard deviations"
    # pictures
    TRIAL = "trial", int, "number of the trial in the picture"
    SHAPE = "shape", str, "channels x height x width of the picture"
    PICTURE = "picture", str, "pixels as bytes in base64"


COLUMNS: dict[str, Column] = {column.value: column for column in Column}
_ORDER = list(Column)
AXES = _ORDER[_ORDER.index(Column.CASE) : _ORDER.index(Column.SHARE) + 1]


def check_value(name: str, value: Any) -> None:
    """Raise ValueError for an unlisted column, TypeError for another type than the column's (an int may be a float)."""
    if name not in COLUMNS:
        meant = did_you_mean(name, COLUMNS)
        raise ValueError(f"column {name} is unknown; add it, with its meaning, to {__name__}.Column{meant}")
    kind = COLUMNS[name].kind
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise TypeError(f"column {name} must hold {kind.__name__}, not {value!r} ({type(value).__name__})")
