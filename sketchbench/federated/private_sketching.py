"""Private iterative sketching (song2023 Algorithm 2): iterative sketching with noise in each local step."""

from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, NonNegative, Positive
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.kernels import Array
from sketchbench.learning.objective.empirical import EmpiricalRisk
from sketchbench.privacy.mechanism import Mechanism, mean_step, private_training
from sketchbench.privacy.sampling import Neighbours, Sampling


@dataclass(frozen=True)
class PrivateSketching(Checked):
    """Iterative sketching with local steps along the mean gradient of a batch plus N(0, σ² I). The noise consists of
    float64 numbers from NumPy's generators: good for measuring, not for protecting real people. `bound`: ℓ, the norm to
    which a record's gradient is clipped; finite, as no noise hides unbounded gradients."""

    algorithm: IterativeSketching  # iterative sketching, with its rates
    sampling: Sampling  # of each client's batches
    sigma: NonNegative  # σ; 0 for no noise
    bound: Positive

    def run(self, objective: EmpiricalRisk, seed: int, key: int, *, trials: int, rounds: int) -> Iterator[Round]:
        """Run independent trials, which differ in batches, noise and sketches.

        Runs that differ in σ alone have the same batches, sketches and (scaled) noise. Raises ValueError if the
        sampling has another number of records than a client of the objective.

        Arguments:
            seed: of batches and noise.
            key, trials, rounds: as for `IterativeSketching.run`.
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
        """The mechanism that these rounds apply to all clients' records; its output is every client's sketches, which
        the server sees. Raises ValueError if clients share records, or no sensitivity is known for these batches and
        neighbours."""
        self._check(objective)
        return private_training(
            mean_step(self.bound, self.sigma, self.sampling, neighbours),
            local_steps=self.algorithm.local_steps,
            rounds=rounds,
            records=tuple(frozenset(records.tolist()) for records in objective.records),
            sketch=repr(self.algorithm.family),
        )

    def _check(self, objective: EmpiricalRisk) -> None:
        count = objective.records.shape[1]
        if self.sampling.records != count:
            raise ValueError(f"sampling.records={self.sampling.records} must be {count}, the records of a client")
