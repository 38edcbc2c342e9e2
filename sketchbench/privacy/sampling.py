"""How a batch is drawn: the same object draws the batches and tells the accountant about them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.parameters import Checked, Count

Kind = Literal["full", "poisson", "without_replacement", "with_replacement"]
Neighbours = Literal["replace_one", "add_remove"]


@dataclass(frozen=True)
class Sampling(Checked):
    """A batch of `batch` of a client's `records` records, drawn anew for every release.

    full: all of them. poisson: each record by itself, with probability batch/records, so that `batch`
    is the expected size. without_replacement: so many different ones. with_replacement: so many
    independent ones, a record perhaps more than once. Raises ValueError for sizes that can't be, TypeError
    for what is no integer.
    """

    kind: Kind
    batch: Count
    records: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.batch <= self.records:
            raise ValueError(f"batch={self.batch} must satisfy 1 <= batch <= {self.records}, the records of a client")
        if self.kind == "full" and self.batch != self.records:
            raise ValueError(
                f"sampling=full takes all records, so batch={self.batch} must be {self.records}; "
                "name another sampling for smaller batches"
            )

    @property
    def neighbours(self) -> Neighbours:
        """Those for which an amplification by this sampling is known; any for full batches."""
        return "add_remove" if self.kind == "poisson" else "replace_one"

    @property
    def rate(self) -> float:
        """The expected share of the records in a batch."""
        return self.batch / self.records

    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """How often each record is in the batch, for independent batches: (*shape, records).

        A batch's mean divides by `batch`, also where its true size is random: dividing by the true
        size would give away how many records there are. O(records) for each batch.
        """
        every = (*shape, self.records)
        match self.kind:
            case "full":
                return np.ones(every)
            case "poisson":
                return (random.random(every) < self.rate).astype(np.float64)
            case "without_replacement":
                places = np.broadcast_to(np.arange(self.records), every)
                return (random.permuted(places, axis=-1) < self.batch).astype(np.float64)
            case "with_replacement":
                shares = np.full(self.records, 1 / self.records)
                return random.multinomial(self.batch, shares, size=shape).astype(np.float64)
