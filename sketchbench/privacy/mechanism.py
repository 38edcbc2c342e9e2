"""Mechanisms as data: descriptions of everything that is released about the records, which accountants interpret. A
mechanism has no ε or δ. Two data sets are *neighbours* if they differ in one record: one record is replaced by another
(`replace_one`), or one data set has a record more (`add_remove`)."""

import math
from dataclasses import dataclass, field, replace

from sketchbench.base.parameters import Checked, Count, Positive, checked
from sketchbench.privacy.sampling import Neighbours, Sampling


@dataclass(frozen=True)
class GaussianRelease(Checked):
    """The release of a vector plus N(0, σ² I) noise. The sensitivity is the largest ℓ2 distance of the vectors of
    neighbouring data sets; `sigma`, in the same unit, is the noise's standard deviation in each coordinate."""

    sensitivity: Positive
    sigma: Positive


@dataclass(frozen=True)
class SampledGaussian(Checked):
    """A Gaussian release of the mean over a random batch of the records. The sensitivity of `mechanism`, the release on
    a batch, is for a record that is in the batch once. For random batches `neighbours` must be `sampling.neighbours`,
    for which amplification by this sampling is proven."""

    mechanism: GaussianRelease
    sampling: Sampling
    neighbours: Neighbours

    def __post_init__(self) -> None:
        super().__post_init__()
        proven = self.sampling.neighbours
        if self.sampling.kind != "full" and self.neighbours != proven:
            raise ValueError(
                f"neighbours={self.neighbours} with sampling={self.sampling.kind}: amplification by this sampling is "
                f"known for neighbours={proven} only; use neighbours={proven}, or another sampling"
            )


@dataclass(frozen=True)
class Composed(Checked):
    """The same mechanism several times on the same data, with independent noise and batches. A later release may depend
    on the answers of earlier ones (adaptive composition)."""

    mechanism: "Mechanism"
    times: Count


@dataclass(frozen=True)
class Parallel:
    """One mechanism per client, each on the client's own records (parallel composition). Raises ValueError if two
    clients share a record, which would be released twice.
    `mechanisms`: one for each client; `records`: numbers of each client's records in the data set."""

    mechanisms: tuple["Mechanism", ...]
    records: tuple[frozenset[int], ...] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.mechanisms) != len(self.records) or not self.mechanisms:
            raise ValueError(
                f"{len(self.mechanisms)} mechanisms and {len(self.records)} sets of records must be as many, and at "
                "least one; give each client a mechanism and its records"
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
    """A function of a release, such as its sketch, that does not use the data again; its privacy is the release's.
    `mechanism`: the release; `by`: description of the function, such as the name of a sketch."""

    mechanism: "Mechanism"
    by: str


Mechanism = GaussianRelease | SampledGaussian | Composed | Parallel | PostProcessed


@dataclass(frozen=True)
class Steps:
    """All releases that one record takes part in: repetitions of one Gaussian release; `sampled` is the same on random
    batches, None for full batches. `times` are repetitions by each composition, the outermost first, such as (T, K)."""

    gaussian: GaussianRelease
    sampled: SampledGaussian | None
    times: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of releases."""
        return math.prod(self.times)

    @property
    def rate(self) -> float:
        """The share of the records in a batch; 1 for full batches."""
        return self.sampled.sampling.rate if self.sampled else 1.0

    @property
    def multiplier(self) -> float:
        """σ over the sensitivity."""
        return self.gaussian.sigma / self.gaussian.sensitivity


def steps(mechanism: Mechanism) -> frozenset[Steps]:
    """The releases that one record takes part in, one element for each kind of client. A record belongs to one client,
    so clients are alternatives. Post-processing changes nothing."""
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


@checked
def mean_sensitivity(bound: Positive, batch: Count, neighbours: Neighbours) -> float:
    """The ℓ2 sensitivity of the mean over a batch of vectors of norm at most ℓ = `bound`: 2ℓ/batch if a record is
    replaced, since two vectors may be opposite; ℓ/batch if a record is added or removed, since the divisor stays."""
    return (2 if neighbours == "replace_one" else 1) * bound / batch


def private_training(
    step: SampledGaussian, *, local_steps: int, rounds: int, records: tuple[frozenset[int], ...], sketch: str
) -> Mechanism:
    """Everything that private iterative sketching releases to the server (song2023 Algorithm 2): T rounds of K local
    steps, the same `step` for all clients; `records` are the numbers of each client's records. A sketch is
    post-processing."""
    clients = Parallel((Composed(step, local_steps),) * len(records), records)
    return PostProcessed(Composed(clients, rounds), sketch)


def mean_step(bound: float, sigma: float, sampling: Sampling, neighbours: Neighbours) -> SampledGaussian:
    """The release of one local step: the mean over a batch of gradients of ℓ2 norm at most `bound` > 0, plus noise with
    the standard deviation `sigma` > 0 in each coordinate of the mean."""
    sensitivity = mean_sensitivity(bound, sampling.batch, neighbours)
    return SampledGaussian(GaussianRelease(sensitivity, sigma), sampling, neighbours)
