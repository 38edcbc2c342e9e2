"""Mechanisms as data: what is released about the records, for accountants to interpret.

A mechanism knows nothing of ε and δ. Two data sets are neighbours if they differ in one record:
replaced by another (`replace_one`), or there and not there (`add_remove`).
"""

import math
from dataclasses import dataclass, field, replace

from sketchbench.parameters import Checked, Count, Positive
from sketchbench.privacy.sampling import Neighbours, Sampling


@dataclass(frozen=True)
class GaussianRelease(Checked):
    """A vector plus N(0, σ² I); neighbours' vectors are at most `sensitivity` apart (ℓ2 norm)."""

    sensitivity: Positive
    sigma: Positive


@dataclass(frozen=True)
class SampledGaussian(Checked):
    """A Gaussian release of the mean over a batch; its sensitivity is for a record in the batch once."""

    mechanism: GaussianRelease
    sampling: Sampling
    neighbours: Neighbours

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.sampling.neighbours
        if self.sampling.kind != "full" and self.neighbours != known:
            raise ValueError(
                f"neighbours={self.neighbours} with sampling={self.sampling.kind}: amplification by it is "
                f"known for neighbours={known}; use those, or another sampling"
            )


@dataclass(frozen=True)
class Composed(Checked):
    """The same release so many times on the same data, each with noise and a batch of its own; a later
    one may depend on the answers of earlier ones."""

    mechanism: "Mechanism"
    times: Count


@dataclass(frozen=True)
class Parallel:
    """One release per client, each about the client's own records.

    records: for each client, the numbers of its records in the data set. Raises ValueError where two
    clients share one: it would be released twice, and the largest ε of a client would be too small.
    """

    mechanisms: tuple["Mechanism", ...]
    records: tuple[frozenset[int], ...] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.mechanisms) != len(self.records) or not self.mechanisms:
            raise ValueError(
                f"{len(self.mechanisms)} mechanisms and {len(self.records)} sets of records must be "
                "as many, one of each for every client"
            )
        owner: dict[int, int] = {}
        for client, own in enumerate(self.records):
            for record in own:
                if record in owner:
                    raise ValueError(
                        f"clients {owner[record]} and {client} share record {record}; parallel "
                        "composition needs disjoint data: give each record to one client"
                    )
                owner[record] = client


@dataclass(frozen=True)
class PostProcessed:
    """Whatever is made of a release without looking at the data again, such as its sketch."""

    mechanism: "Mechanism"
    by: str


Mechanism = GaussianRelease | SampledGaussian | Composed | Parallel | PostProcessed


@dataclass(frozen=True)
class Steps:
    """All releases that one record takes part in: a Gaussian one, perhaps on sampled batches, repeated.

    times: of each composition around it, the outermost first, such as (T, K).
    """

    gaussian: GaussianRelease
    sampled: SampledGaussian | None
    times: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return math.prod(self.times)

    @property
    def multiplier(self) -> float:
        """σ over the sensitivity."""
        return self.gaussian.sigma / self.gaussian.sensitivity


def steps(mechanism: Mechanism) -> frozenset[Steps]:
    """What any one record can take part in: one element, or several where clients differ.

    Disjoint clients are alternatives, since a record is with one of them; what is post-processed
    is what was released before.
    """
    match mechanism:
        case GaussianRelease():
            return frozenset({Steps(mechanism, None)})
        case SampledGaussian(inner, sampling):
            sampled = None if sampling.kind == "full" else mechanism
            return frozenset({Steps(inner, sampled)})
        case Composed(inner, times):
            return frozenset(replace(s, times=(times, *s.times)) for s in steps(inner))
        case Parallel(mechanisms):
            return frozenset().union(*map(steps, set(mechanisms)))
        case PostProcessed(inner):
            return steps(inner)
        case _:
            raise TypeError(f"mechanism={mechanism!r} must be a mechanism of this module")


def with_sigma(mechanism: Mechanism, sigma: float) -> Mechanism:
    """The same mechanism with another σ in every Gaussian release."""
    match mechanism:
        case GaussianRelease():
            return replace(mechanism, sigma=sigma)
        case SampledGaussian(inner):
            return replace(mechanism, mechanism=replace(inner, sigma=sigma))
        case Parallel(mechanisms):
            changed = {inner: with_sigma(inner, sigma) for inner in set(mechanisms)}
            return replace(mechanism, mechanisms=tuple(changed[inner] for inner in mechanisms))
        case Composed(inner) | PostProcessed(inner):
            return replace(mechanism, mechanism=with_sigma(inner, sigma))


def mean_sensitivity(bound: float, batch: int, neighbours: Neighbours) -> float:
    """How far apart the means over neighbouring batches are, for vectors of norm at most `bound`.

    2ℓ/|batch| where a record is replaced, since both vectors may have norm ℓ and opposite directions;
    ℓ/|batch| where it is there or not (the divisor stays).
    """
    return (2 if neighbours == "replace_one" else 1) * bound / batch


def private_training(
    step: SampledGaussian,
    *,
    local_steps: int,
    rounds: int,
    records: tuple[frozenset[int], ...],
    sketch: str,
) -> Mechanism:
    """What private iterative sketching releases (song2023 Algorithm 2), to a server that sees it all.

    T rounds of K steps on the own records of every client, all with the same noise, as sketches.
    """
    clients = Parallel((Composed(step, local_steps),) * len(records), records)
    return PostProcessed(Composed(clients, rounds), sketch)


def mean_step(bound: float, sigma: float, sampling: Sampling, neighbours: Neighbours) -> SampledGaussian:
    """The mean of gradients of norm at most `bound` over a batch, plus noise: one local step."""
    sensitivity = mean_sensitivity(bound, sampling.batch, neighbours)
    return SampledGaussian(GaussianRelease(sensitivity, sigma), sampling, neighbours)
