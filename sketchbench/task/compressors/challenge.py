"""A challenge: somebody's attack on messages beside ours, on victims that are drawn anew."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from torch import Tensor

from sketchbench.attack.door import check_tensor
from sketchbench.attack.lens import Unseen
from sketchbench.attack.stacked_inversion import CLASS_MEAN, KNOWS, Kind, StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.base.parameters import choose
from sketchbench.task.compressors.leakage_limits import LeakageLimits

Find = Callable[[Target], Tensor]
OWN = "yours"


class Score(NamedTuple):
    """The result of an attack under a condition."""

    condition: str
    attack: str
    knows: str  # beside the network, the compressor and the labels
    lead: float  # mean PSNR minus that of the class mean, in dB
    visible: int  # trials with a lead of at least `least`
    trials: int


@dataclass(frozen=True, kw_only=True)
class Beside(StackedAttacks):
    """Our attacks, and `own`, which returns images (T, n, pixels) in [0, 1] for a target."""

    own: Find

    def run(self, target: Target) -> dict[Kind, Tensor]:
        """As of our attacks. Raises TypeError or ValueError for images of another shape."""
        found = self.own(target)
        check_tensor("the attack's images", found, *target.labels.shape, target.pixels)
        images: dict[Kind, Tensor] = super().run(target)
        return {**images, OWN: found.detach().float()}  # type: ignore[dict-item]  # a kind of its own


class Challenge(LeakageLimits):
    """The attacks of `LeakageLimits` beside another one. All trials are judged, and no attack is chosen."""

    def beside(self, find: Find) -> "Challenge":
        """The challenge with this attack."""
        return replace(self, attacks=Beside(**vars(self.attacks), own=find))

    def scores(self, only: Collection[str] = ()) -> Iterator[Score]:
        """The scores under these conditions, by default under all, the best attack first; empty if no attack reads the
        messages. Raises ValueError for an unknown condition."""
        for name in only:
            choose("condition", name, self.conditions)
        for name in only or self.conditions:
            try:
                leads = self._attack(name, self.conditions[name]).leads
            except Unseen:
                continue
            scores = [
                Score(name, kind, KNOWS.get(kind, ""), float(one.mean()), int((one >= self.least).sum()), len(one))
                for kind, one in leads.items()
                if kind != CLASS_MEAN
            ]
            yield from sorted(scores, key=lambda score: (score.visible, score.lead), reverse=True)
