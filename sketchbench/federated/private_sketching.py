"""Private iterative sketching (song2023 Algorithm 2): noise at each local step, sketches on the wire."""

from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.kernels import Array
from sketchbench.objective.empirical import EmpiricalRisk
from sketchbench.privacy.mechanism import Mechanism, mean_step, private_training
from sketchbench.privacy.sampling import Neighbours, Sampling


@dataclass(frozen=True)
class PrivateSketching:
    """Iterative sketching whose local steps follow the mean gradient over a batch plus N(0, σ² I).

    sampling: of each client's batches. sigma: σ; 0 for no noise. bound: ℓ, which no record's gradient
    exceeds: longer ones are clipped to it. The noise is of float64 and NumPy's generators: good for
    measuring, not for protecting real people.
    """

    algorithm: IterativeSketching
    sampling: Sampling
    sigma: float
    bound: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < float("inf"):
            raise ValueError(f"sigma={self.sigma} must be >= 0 and finite")
        if not 0 < self.bound < float("inf"):
            raise ValueError(
                f"bound={self.bound} must be > 0 and finite: without a bound on gradients no noise is enough"
            )

    def run(self, objective: EmpiricalRisk, seed: int, key: int, *, trials: int, rounds: int) -> Iterator[Round]:
        """Rounds 0 to `rounds` of independent trials, which differ in batches, noise and sketches.

        seed, key: of batches and noise, and of the sketches. Runs that differ in σ alone see the same
        batches, sketches and (scaled) noise. Raises ValueError where the sampling is not for as
        many records as a client of the objective has.
        """
        self._check(objective)
        batches = seeds.generator(seed, part="batches")
        noise = seeds.generator(seed, part="noise")
        kernels = objective.kernels

        def gradients(u: Array) -> Array:
            shares = self.sampling.draw(batches, u.shape[:-1]) / self.sampling.batch
            mean = objective.batch_gradients(u, kernels.asarray(shares), self.bound)
            return mean + kernels.asarray(self.sigma * noise.standard_normal(u.shape))

        return self.algorithm.run(objective, key, trials=trials, rounds=rounds, gradients=gradients)

    def mechanism(self, objective: EmpiricalRisk, rounds: int, neighbours: Neighbours) -> Mechanism:
        """What so many rounds release about the records of all clients.

        The server's knowledge: every client's sketches. Raises ValueError where clients share records,
        or where nothing is known of such batches for these neighbours.
        """
        self._check(objective)
        return private_training(
            mean_step(self.bound, self.sigma, self.sampling, neighbours),
            local_steps=self.algorithm.local_steps,
            rounds=rounds,
            records=tuple(frozenset(own.tolist()) for own in objective.records),
            sketch=repr(self.algorithm.family),
        )

    def _check(self, objective: EmpiricalRisk) -> None:
        count = objective.records.shape[1]
        if self.sampling.records != count:
            raise ValueError(f"the sampling is from {self.sampling.records} records, and a client has {count}")
