"""The information in the order of a message's numbers, without the key."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sketchbench.attack.compressed_message import VICTIM, WatchedRounds
from sketchbench.attack.message_scene import Scene, draw_scene, pixels
from sketchbench.attack.row_order import OrderAttack, public_numbers
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Natural, Positive
from sketchbench.compressor.compressor import At, MakeCompressor
from sketchbench.compressor.message import byte_limit
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import MakeDataset
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.task.inversion.inversion import picture_columns

CLIENTS = 2  # the victim, and another one
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeakageOrder(Checked):
    """Attacks by an eavesdropper without the key on a client's first message; see `row_order.OrderAttack`.

    The message is of a single test image with a known label, at random weights. The attacker knows the weights, the
    training images, and all numbers that a message may have in their public order, as if a transform had no signs. Rows
    by `case`:

    - `eavesdropper`: `lead`, mean PSNR minus that of the mean image of the class, in dB; bound: 0. `beyond`, the same
      minus `least`; bound: 0. `hidden` and `visible`: the number of trials with a lead below `least`, or not below;
      bound: 1/2. `given_away`: the number with a lead above `certain`. `picture`: the images of the first trials.
    - `class mean`: its `psnr`, in dB. `original`: `picture`.
    - `gradient`: `loss`, the share of ‖x‖² of a client's update that its decoded message loses.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`
    compression: Positive  # bytes of the dense float32 update over bytes of the budget
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attack: OrderAttack
    least: Positive  # the lead from which on an image counts as visible, in dB
    certain: Positive  # the lead that no guess has, in dB
    pictures: Natural  # the number of trials whose images are kept
    trials: AtLeastTwo  # each with a network and an image

    def run(self) -> list[Row]:
        scene = draw_scene(self.dataset(), self.model, self._judged, CLIENTS, self.trials)
        return [row.replace(compression=self.compression) for row in self._rows(scene)]

    @property
    def _judged(self) -> int:
        """The root of victims, networks and keys that were not seen while the attack was developed."""
        return seeds.key(self.seed, task="leakage order", trials="judged")

    def _rows(self, scene: Scene) -> Iterator[Row]:
        layout = scene.networks.layout
        compressor = self.compressor(layout=layout, limit=byte_limit(layout, self.compression))
        at = At(self.kernels, self._judged, 0, self.trials)
        updates = scene.updates(scene.networks)
        sight = WatchedRounds(compressor, at, lambda _: self.kernels.asarray(updates)).sights("server", 1)[0]
        labels, numbers = scene.labels[:, VICTIM], public_numbers(compressor, at)

        def possible(images: Tensor) -> Tensor:
            return numbers(scene.networks.gradients(images[:, None, None], labels[:, None, None])[:, 0])

        images = scene.classes.of(labels)
        found = pixels(self.attack.run(sight.seen, possible, images, scene.prior.mean.numel(), self._judged))
        guesses = scene.psnrs(pixels(scene.classes.means[labels]), slice(None))
        leads = scene.psnrs(found, slice(None)) - guesses
        columns: dict[str, Value] = {
            "case": "eavesdropper",
            "round": 1,
            "bytes_seen": sight.nbytes,
            "observed": sight.seen.shape[1],
            "pixels": found.shape[1],
        }
        visible = int((leads >= self.least).sum())
        log.info("lead %.1f dB; %d of %d visible", leads.mean(), visible, self.trials)
        yield Row("psnr", case="class mean").mean(guesses)
        yield Row("lead", bound=0.0, **columns).mean(leads)
        yield Row("beyond", bound=0.0, **columns).mean(leads - self.least)
        yield Row("hidden", bound=MEDIAN, **columns).counted(self.trials - visible, self.trials)
        yield Row("visible", bound=MEDIAN, **columns).counted(visible, self.trials)
        yield Row("given_away", **columns).exceedances(leads, self.certain)
        truth = torch.from_numpy(updates[:, VICTIM])
        lost = (sight.decoded() - truth).square().sum(dim=1) / truth.square().sum(dim=1)
        yield Row("loss", case="gradient").mean(lost.numpy())
        for trial in range(self.pictures):
            for case, image in (("original", pixels(scene.images[:, VICTIM])), ("eavesdropper", found)):
                psnr = float(scene.psnrs(image, slice(None))[trial])
                shown = picture_columns(image[trial].reshape(scene.data.shape))
                yield Row("picture", case=case, trial=trial, **shown).number(psnr)
