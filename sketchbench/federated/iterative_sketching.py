"""Iterative sketching (song2023 Algorithm 1): clients send sketches of the changes by their local steps."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sketchbench.base.parameters import Checked, Count, Natural, Positive, checked
from sketchbench.federated.conditions import check_objective
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.problem import Problem
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

Desketching = Literal["same", "paper"]


class LocalStep(NamedTuple):
    """The weights of all N clients before a local step, and the gradients there, each (T_r, N, d)."""

    weights: Array
    gradients: Array


class Round(NamedTuple):
    """The state after t = 0, 1, ..., T rounds, in T_r trials.

    Arguments:
        w: (T_r, d), the weights from which all clients start the next round.
        local: (T_r, d), the mean of the weights at which the last round took its gradients, over clients and local
            steps; w itself at t = 0. None from t = 1 on in a run that does not average.
        bytes_up, bytes_down: bytes that a client has sent and received so far.
        messages: (T_r, N, b), the clients' sketches in the last round; None at t = 0.
        operators: of these sketches, one per trial; None at t = 0.
        path: the local steps of the last round, if the run keeps them.
    """

    t: int
    w: Array
    local: Array | None
    bytes_up: int
    bytes_down: int
    messages: Array | None = None
    operators: Sketch | None = None
    path: tuple[LocalStep, ...] = ()


@dataclass(frozen=True)
class IterativeSketching(Checked):
    """K local gradient steps per round; each client sends a sketch of its change of the weights. The server sends back
    the average, which all clients desketch.

    Arguments:
        family: of the sketch; Identity gives local gradient descent.
        local_rate: the step size η of a local step.
        local_steps: K.
        global_rate: the factor of the average.
        fresh: whether each round draws a new operator, as the paper assumes; False keeps the first.
        desketch: `same` desketches with the operator that sketched; `paper` with the next round's, as printed in line
            9.
    """

    family: Family
    local_rate: Positive
    local_steps: Count = 1
    global_rate: Positive = 1.0
    fresh: bool = True
    desketch: Desketching = "same"

    @checked
    def run(
        self,
        objective: Problem,
        key: int,
        *,
        trials: Count,
        rounds: Natural,
        gradients: Callable[[Array], Array] | None = None,
        keep_path: bool = False,
        average: bool = True,
    ) -> Iterator[Round]:
        """Return the states after 0 to T rounds of independent trials, which differ in their sketches only. Memory:
        O(trials clients d), and that of a stack of `trials` operators.

        Arguments:
            objective: of d weights.
            key: 64 bits, as from `seeds.key`, from which the sketches are drawn.
            trials: T_r.
            rounds: T.
            gradients: maps the clients' weights (T_r, N, d) to the gradients of local steps, such as noisy ones; by
                default `objective.gradients`.
            keep_path: whether rounds keep their local steps, which takes K times the memory.
            average: whether rounds have the mean of their local weights, which takes a tenth of the time.

        Raises ValueError if the sizes of family and objective differ, or the objective starts from no finite weights;
        in a round, for gradients of another shape than the weights.
        """
        check_objective(objective, self.family.d)
        return self._rounds(objective, key, trials, rounds, gradients or objective.gradients, keep_path, average)

    def _rounds(
        self,
        objective: Problem,
        key: int,
        trials: int,
        rounds: int,
        gradients: Callable[[Array], Array],
        keep_path: bool,
        average: bool,
    ) -> Iterator[Round]:
        kernels = objective.kernels
        w = kernels.xp.repeat(kernels.asarray(objective.start)[None], trials, axis=0)
        at = Round(0, w, w, 0, 0)
        yield at
        for sketching, desketching in itertools.islice(self._operators(key, trials, kernels), rounds):
            weights = kernels.xp.broadcast_to(at.w[:, None], (trials, objective.clients, objective.d))
            local, path = kernels.xp.zeros_like(at.w) if average else None, []
            for _ in range(self.local_steps):
                step = LocalStep(weights, gradients(weights))
                if step.gradients.shape != weights.shape:
                    raise ValueError(f"gradients {step.gradients.shape} must have the weights' shape {weights.shape}")
                if local is not None:
                    local += weights.sum(axis=1) / objective.clients / self.local_steps  # half the time of `mean`
                weights = weights - self.local_rate * step.gradients
                path += [step] if keep_path else []
            messages = sketching.sketch(weights - at.w[:, None], check_finite=False)
            answer = self.global_rate * (messages.sum(axis=1) / objective.clients)
            w = at.w + desketching.desketch(answer, check_finite=False)
            up, down = at.bytes_up + messages[0, 0].nbytes, at.bytes_down + answer[0].nbytes
            at = Round(at.t + 1, w, local, up, down, messages, sketching, tuple(path))
            yield at

    def _operators(self, key: int, trials: int, kernels: Kernels) -> Iterator[tuple[Sketch, Sketch]]:
        """Each round's stack of operators that sketch and stack that desketch, one operator per trial."""
        stacks = (self.family.draw(key, operators=trials, first=t * trials, kernels=kernels) for t in itertools.count())
        if not self.fresh:
            first = next(stacks)
            return itertools.repeat((first, first))
        if self.desketch == "paper":
            return itertools.pairwise(stacks)
        return ((operators, operators) for operators in stacks)
