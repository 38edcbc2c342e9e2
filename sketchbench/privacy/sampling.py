"""Sampling of batches: the same object draws batches in training and describes them to the accountant."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count

Kind = Literal["full", "poisson", "without_replacement", "with_replacement"]
Neighbours = Literal["replace_one", "add_remove"]


@dataclass(frozen=True)
class Sampling(Checked):
    """The sampling of batches of a client's records, a new batch for every release. `full`: all records. `poisson`:
    every record independently, with probability batch/records; `batch` is the expected size. `without_replacement`: a
    uniform set of records. `with_replacement`: independent uniform records, with repeats. Raises ValueError unless 1 <=
    batch <= records, or for a smaller full batch; TypeError for a size that is not an integer."""

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
        """The neighbouring relation for which amplification by this sampling is proven; full batches allow both."""
        return "add_remove" if self.kind == "poisson" else "replace_one"

    @property
    def rate(self) -> float:
        """batch/records, the expected share of the records in a batch."""
        return self.batch / self.records

    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw independent batches: the number of times that each record is in each batch, (*shape, records).
        O(records) for each batch. The mean over a batch divides by `batch`, even if its true size is random: dividing
        by the true size would reveal the number of records. Raises ValueError for a negative length in `shape`."""
        if any(length < 0 for length in shape):
            raise ValueError(f"shape={shape} of batches must have no length below 0")
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
