"""Iterative sketching (song2023 Algorithm 1): clients send sketches of their local progress."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sketchbench.kernels import Array
from sketchbench.objective.problem import Problem
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

Desketch = Literal["same", "paper"]


class LocalStep(NamedTuple):
    """Of all N clients of T_r trials, (T_r, N, d): the weights u of a local step, and the gradients there."""

    weights: Array
    gradients: Array


class Round(NamedTuple):
    """What can be seen at the start of round t = 0, 1, ..., T; of so many trials, T_r.

    w: (T_r, d), the weights that all clients start from. local: (T_r, d), the mean over clients and local
    steps of the weights at which the round before took its gradients (w itself at t = 0). path: these local
    steps, where they are kept. bytes_up, bytes_down: what a client has sent and received so far. messages:
    (T_r, N, b), what the clients sent in the round before, and operators, one per trial, with which they
    sketched; None at t = 0.
    """

    t: int
    w: Array
    local: Array
    bytes_up: int
    bytes_down: int
    messages: Array | None = None
    operators: Sketch | None = None
    path: tuple[LocalStep, ...] = ()


@dataclass(frozen=True)
class IterativeSketching:
    """K local gradient steps of length `local_rate` per round; the server averages the sketches of the
    clients' changes, times `global_rate`, and sends the average to all, who desketch it.

    family: of the sketch, with Identity for none: then this is local gradient descent. fresh: draw an
    operator per round, as the paper assumes; False keeps the first. desketch: `same` uses the operator
    that sketched; `paper` that of the next round, as line 9 is printed.
    """

    family: Family
    local_rate: float
    local_steps: int = 1
    global_rate: float = 1.0
    fresh: bool = True
    desketch: Desketch = "same"

    def __post_init__(self) -> None:
        for name, value in (("local_rate", self.local_rate), ("global_rate", self.global_rate)):
            if not 0 < value < float("inf"):
                raise ValueError(f"{name}={value} must be > 0 and finite")
        if self.local_steps < 1:
            raise ValueError(f"local_steps={self.local_steps} must be >= 1")
        if self.desketch not in get_args(Desketch):
            known = ", ".join(get_args(Desketch))
            raise ValueError(f"desketch={self.desketch} is unknown; choose one of {known}")

    def run(
        self,
        objective: Problem,
        key: int,
        *,
        trials: int,
        rounds: int,
        gradients: Callable[[Array], Array] | None = None,
        keep_path: bool = False,
    ) -> Iterator[Round]:
        """Rounds 0 to `rounds` of so many independent trials, which differ in their sketches only.

        key: 64 bits, as from `seeds.key`. gradients: what local steps follow at the clients' weights
        (trials, clients, d) instead of `objective.gradients`, such as noisy ones. keep_path: of the local steps,
        with `local_steps` times the memory. Raises ValueError where family and objective don't fit. Memory:
        O(trials clients d), and that of a stack of `trials` operators.
        """
        if self.family.d != objective.d:
            raise ValueError(f"the sketch's d={self.family.d} must be the objective's, {objective.d}")
        if trials < 1 or rounds < 0:
            raise ValueError(f"trials={trials} must be >= 1, and rounds={rounds} >= 0")
        gradients = gradients or objective.gradients
        kernels = objective.kernels
        xp = kernels.xp
        w = xp.repeat(kernels.asarray(objective.start)[None], trials, axis=0)
        path: list[LocalStep] = []
        local, up, down = w, 0, 0
        messages: Array | None = None
        operators: Sketch | None = None
        following: Sketch | None = None  # the operators of the next round, where they are drawn already
        for t in range(rounds + 1):
            yield Round(t, w, local, up, down, messages, operators, tuple(path))
            if t == rounds:
                return
            shape = (trials, objective.clients, objective.d)
            u = xp.broadcast_to(w[:, None], shape)
            local, path = xp.zeros_like(w), []
            for _ in range(self.local_steps):
                local += u.mean(axis=1) / self.local_steps
                slopes = gradients(u)
                if keep_path:
                    path.append(LocalStep(u, slopes))
                u = u - self.local_rate * slopes
            operators = following or self._operators(key, t, trials, objective)
            following = None if self.fresh else operators
            messages = operators.sketch(u - w[:, None], check_finite=False)
            answer = self.global_rate * messages.mean(axis=1)
            up += messages[0, 0].nbytes
            down += answer[0].nbytes
            desketching = operators
            if self.desketch == "paper":
                following = following or self._operators(key, t + 1, trials, objective)
                desketching = following
            w = w + desketching.desketch(answer, check_finite=False)

    def _operators(self, key: int, t: int, trials: int, objective: Problem) -> Sketch:
        """The operators of round t, one per trial."""
        first = t * trials if self.fresh else 0
        return self.family.draw(key, operators=trials, first=first, kernels=objective.kernels)
