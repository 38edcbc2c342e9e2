"""The memory of error feedback alone: does a compressor return what it has held back?"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive
from sketchbench.federated import compressors
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import MakeDataset
from sketchbench.learning.model.networks import MakeModel
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, initial_weights, perceptron
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.recovery.recovery import best
from sketchbench.sketch.scattered import Scattered
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.task.sketches import trials
from sketchbench.theory.compressed_sensing import feedback_limit

log = logging.getLogger(__name__)
Case = Literal["top_k", "fiht", "count_sketch", "count_sketch_linear"]


class MemoryArm(NamedTuple):
    """A compressor: its case, the compression d/b, the entries of a step, and the rows of a CountSketch."""

    case: Case
    compression: float
    k: int
    rows: int | None = None


@dataclass(frozen=True)
class Arms(Checked):
    """The compressors of a map.

    With k entries of a step: `tables` and `linear` (CountSketches of `rows` rows, redrawn in each trial, with
    independent hashes, or with 2-wise independent buckets and 4-wise independent signs for every row), CountSketches of
    `other_rows` at compression 1, and `fiht` (whose rows are one draw for all trials). With `few` entries: `few_tables`
    and `few_fiht`. With both: the largest entries themselves. The other fields are lists of compressions d/b.
    """

    k: Count
    few: Count
    rows: Count
    other_rows: list[Count]
    tables: list[Positive]
    linear: list[Positive]
    fiht: list[Positive]
    few_tables: list[Positive]
    few_fiht: list[Positive]

    def all(self) -> Iterator[MemoryArm]:
        yield MemoryArm("top_k", 1.0, self.k)
        yield MemoryArm("top_k", 1.0, self.few)
        yield from (MemoryArm("count_sketch", float(c), self.k, self.rows) for c in self.tables)
        yield from (MemoryArm("count_sketch_linear", float(c), self.k, self.rows) for c in self.linear)
        yield from (MemoryArm("count_sketch", 1.0, self.k, rows) for rows in self.other_rows)
        yield from (MemoryArm("fiht", float(c), self.k) for c in self.fiht)
        yield from (MemoryArm("count_sketch", float(c), self.few, self.rows) for c in self.few_tables)
        yield from (MemoryArm("fiht", float(c), self.few) for c in self.few_fiht)


class MemoryCompressor(NamedTuple):
    """`send` encodes gradients (T, d) at the clients; `keep` subtracts the step's message from memory + message."""

    send: Callable[[Array], Array]
    keep: Callable[[Array], Array]


@dataclass
class ArmMemory:
    """The memories of an arm's trials. `kept` is 0 before the first round, and in trials that are over. A trial is
    over, and not followed further, after the round in which the memory exceeded the limit."""

    compressor: MemoryCompressor  # of the arm
    limit: float  # largest memory of a contraction, over the largest message
    trials: int
    kept: Array | float = 0.0  # the memories (T, ...)
    message: NDArray[np.float64] = field(init=False)  # the norm of the largest message so far, (T,)
    largest: NDArray[np.float64] = field(init=False)  # the largest memory over the largest message then, (T,)
    over: NDArray[np.int64] = field(init=False)  # the round in which a trial was over; 0 if none, (T,)

    def __post_init__(self) -> None:
        self.message, self.largest = np.zeros(self.trials), np.zeros(self.trials)
        self.over = np.zeros(self.trials, dtype=np.int64)

    def add(self, t: int, gradients: Array, kernels: Kernels) -> NDArray[np.float64]:
        """Pass through round t; return the memories over the largest messages, (T,)."""
        message = self.compressor.send(gradients)
        self.kept = self.compressor.keep(message + self.kept)
        self.message = np.maximum(self.message, _norms(message, kernels))
        ratio = _norms(self.kept, kernels) / self.message
        followed = self.over == 0
        self.largest = np.where(followed, np.maximum(self.largest, ratio), self.largest)
        self.over[followed & (ratio > self.limit)] = t
        self.kept[self.over > 0] = 0
        return ratio


@dataclass(frozen=True)
class FeedbackMemory(Checked):
    """Error feedback along plain trainings: ε ← z - ΦΔ with z = ε + ηΦg(t), and Δ recovered from z.

    The server recovers as in tang2021 Algorithm 1. Weights follow SGD without compression, so that all arms meet the
    same gradients, of `trials` perceptrons with independent batches.

    If each step took at least as much as the K largest entries of a vector, ‖z - ΦΔ‖² <= (1 - K/d)‖z‖², the memory
    would never exceed `theory.compressed_sensing.feedback_limit` times the largest message so far. If it does, the
    compressor holds back more than any such contraction, and the trial is over.

    Rows, by arm (`case`, `compression`, `s`, `k`):

    `memory`: mean of ‖ε(t)‖ over the largest message so far, at about `points` rounds; `diverged` once a trial is over.
    `largest`: the number of trials in which this ratio exceeds the limit (bound), and the largest ratio of all rounds.
    `beyond`, `within`: the number of trials that exceed the limit or not; bound: 1/2, for a probability.
    `over`: mean of the round in which the limit is exceeded, if all trials exceed it.
    """

    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    batch: Count  # samples of a gradient, drawn with replacement
    rate: Positive  # learning rate η
    rounds: Count
    trials: AtLeastTwo
    arms: Arms  # the compressors
    points: Count  # about how many rounds have rows

    def run(self) -> list[Row]:
        data = self.dataset()
        network = perceptron(self.kernels, self.model, data.shape, data.classes)
        start = initial_weights(lambda: self.model(shape=data.shape, classes=data.classes), self._seeds())
        arms = {arm: self._memory(arm, network.d) for arm in self.arms.all()}
        shown = trials.shown_rounds(self.rounds, self.points)
        rows = []
        inputs, labels = data.features(data.train).astype(np.float32), data.train.labels
        for t, gradients in self._gradients(network, start, inputs, labels):
            for arm, memory in arms.items():
                if memory.over.all():
                    continue
                ratio = memory.add(t, gradients, self.kernels)
                if t in shown or memory.over.max() == t:
                    rows.append(self._shown(_row("memory", arm, network.d).replace(round=t), ratio, memory))
            if t in shown:
                log.info("round %d of %d", t, self.rounds)
        ends = [row for arm, memory in arms.items() for row in _ends(arm, memory, network.d)]
        return [row for row in rows if row is not None] + ends

    def _seeds(self) -> list[int]:
        return [seeds.key(self.seed, data="feedback memory", trial=i) for i in range(self.trials)]

    def _gradients(
        self, network: StackedPerceptron, w: Array, inputs: Array, labels: Array
    ) -> Iterator[tuple[int, Array]]:
        """The rounds 1, 2, ... with ηg(t) of all trials, float64 (T, d)."""
        asarray = self.kernels.asarray
        w, inputs, labels = asarray(w), asarray(inputs), asarray(labels)
        random = seeds.generator(self.seed, data="feedback memory batches", trials=self.trials)
        shares = asarray(np.full((self.trials, 1, self.batch), 1 / self.batch, dtype=np.float32))
        for t in range(1, self.rounds + 1):
            drawn = asarray(random.integers(len(labels), size=(self.trials, 1, self.batch)))
            step = network.gradients(w, Batches(inputs[drawn], labels[drawn], shares))[:, 0]
            step = step.astype("float64") * self.rate
            w = (w - step).astype("float32")
            yield t, step

    def _memory(self, arm: MemoryArm, d: int) -> ArmMemory:
        return ArmMemory(self._compressor(arm, d), feedback_limit(arm.k / d), self.trials)

    def _compressor(self, arm: MemoryArm, d: int) -> MemoryCompressor:
        if arm.case == "top_k":
            return MemoryCompressor(lambda g: g, lambda z: z - best(self.kernels, z, arm.k))
        if arm.rows is None:
            recovery, whole = compressors.fiht(d, arm.k, arm.compression)
            sketch = whole.draw(seeds.key(self.seed, task="feedback memory", family=repr(whole)), kernels=self.kernels)

            def send(g: Array) -> Array:
                return sketch.sketch(g, check_finite=False)

            return MemoryCompressor(send, lambda z: z - send(recovery.recover(sketch, z).x))
        hashing: Literal["rows", "full"] = "rows" if arm.case == "count_sketch_linear" else "full"
        cells = arm.rows * max(1, round(d / (arm.rows * arm.compression)))
        family = BlockSparseEmbedding(d, cells, s=arm.rows, hashing=hashing)
        key = seeds.key(self.seed, task="feedback memory", family=repr(family))
        stack = family.draw(key, operators=self.trials, kernels=self.kernels)
        assert isinstance(stack, Scattered)

        def send_table(g: Array) -> Array:
            return stack.sketch(g[:, None], check_finite=False)[:, 0]

        def keep_table(z: Array) -> Array:
            step: Array = best(self.kernels, stack.median(z[:, None])[:, 0], arm.k)
            return z - send_table(step)

        return MemoryCompressor(send_table, keep_table)

    def _shown(self, row: Row, ratio: NDArray[np.float64], memory: ArmMemory) -> Row | None:
        """The row of a round; None after the first round in which a trial was over."""
        ended = memory.over[memory.over > 0]
        if not ended.size:
            return row.replace(status="finite").mean(ratio)
        if row["round"] != ended.min():
            return None
        return row.without_number("diverged", "the memory of a trial is beyond what a contraction holds", self.trials)


def _row(quantity: str, arm: MemoryArm, d: int) -> Row:
    return Row(quantity, case=arm.case, compression=arm.compression, s=arm.rows, k=arm.k, d=d)


def _ends(arm: MemoryArm, memory: ArmMemory, d: int) -> Iterator[Row]:
    count, trials_ = int((memory.over > 0).sum()), memory.trials
    yield _row("largest", arm, d).exceedances(memory.largest, memory.limit)
    yield _row("beyond", arm, d).replace(bound=MEDIAN).counted(count, trials_)
    yield _row("within", arm, d).replace(bound=MEDIAN).counted(trials_ - count, trials_)
    if count == trials_:
        yield _row("over", arm, d).mean(memory.over.astype(float))


def _norms(vectors: Array, kernels: Kernels) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(kernels.to_numpy(vectors), axis=-1))
