"""The leakage that noise of a given ε allows: attacks on noisy messages beside a bound for all attacks."""

import functools
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.message_scene import Scene, draw_scene
from sketchbench.attack.naming import Products, WeighedProducts, inner_products
from sketchbench.attack.square_root import square_root
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, NonNegative, Positive, Probability
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import Row, Value
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import GaussianRelease
from sketchbench.privacy.reconstruction import reconstruction_bound

ACCOUNTANT = "exact"
POOL = 200  # public images for each network; other clients have one each
log = logging.getLogger(__name__)
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Release(Checked):
    """The server's view. With `local` noise each client adds that of its ε; with `distributed` noise each adds a share.
    The attacker knows the other clients' gradients, as the bound assumes, or only their mean over public images."""

    clients: Count = 1  # the summed messages, with one image each; the first is the victim
    placement: Literal["local", "distributed"] = "local"  # of noise
    others: Literal["known", "unknown"] = "known"  # knowledge of the other clients' gradients


@dataclass(frozen=True)
class MessagePrivacy(Checked):
    """Privacy parameters of one client's message in one round."""

    epsilons: NonEmptyList[Positive]  # of each record
    delta: Probability  # δ of each record
    clip: Positive  # the norm to which gradients are clipped
    noise: NonNegative  # added over calibrated noise: 1 for a sound mechanism


@dataclass(frozen=True)
class KnownImages(Checked):
    """The images that the attacker knows."""

    candidates: AtLeastTwo  # test images of the victim's class, of which the victim's is one
    public: AtLeastTwo  # training images for each network, at most, whose gradients give the covariance


class DrawnRelease(NamedTuple):
    """The draws of a release, for any noise."""

    victims: Tensor  # indices of candidates, (T, k)
    times: Tensor | None  # how often others have each gradient of the pool, less its mean, (T, k, POOL); None if known
    normals: Tensor  # the standard normal coordinates of noise in the products with candidates, (T, k, n)
    entries: Tensor | None  # standard normal noise of one message, (T, d); None for sums


@dataclass(frozen=True)
class NoisyLeakage(Checked):
    """Attacks on messages with Gaussian noise, by a server that knows the label, the weights and the key.

    It also knows that the victim's image is one of `candidates` test images of its class, with equal probability. A
    client clips its gradient, and adds noise; a compressor then loses no privacy. The noise is calibrated to ε by the
    exact curve, for a record that is left out: a client has one. An image is found if it is named among the candidates,
    so that a guess finds it with probability κ = 1/candidates. Rows by release (`case`), `epsilon` and `clients`:

    - `found`: the number of trials in which the attack names the victim's candidate; bound: `reconstruction_bound` for
      all attacks. The attack names the most likely candidate: the nearest if the others' gradients are known, else by
      the covariance of public gradients (`attack.naming`).
    - `inverted`: the number of first trials of each network in which the victim's candidate is nearest to the image
      that `StackedAttacks.find_most_likely` makes of the message; for a single client; bound: the same.
    - `retained`: the found share minus κ, over 1 - κ: 0 for a guess, 1 if all are found; bound: `allowed`.

    The column `positive_control` has the number of trials in which the image is found without noise.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`, which must not compress
    compression: Positive  # bytes of the dense float32 update over bytes of the budget
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attacks: StackedAttacks  # for `inverted`
    releases: dict[str, Release]  # by name
    privacy: MessagePrivacy  # of messages
    images: KnownImages
    allowed: Probability  # bound of `retained`
    networks: Count  # with random weights and candidates
    trials: AtLeastTwo  # all trials, in equal numbers for each network, each with its own victim and noise

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % self.networks:
            raise ValueError(f"trials={self.trials} must be a multiple of networks={self.networks}")

    def run(self) -> list[Row]:
        layout = self._shared._scene.networks.layout
        compressor = self.compressor(layout=layout, limit=byte_limit(layout, self.compression))
        if not isinstance(compressor, Plain):
            raise ValueError(f"{type(compressor).__name__} compresses; choose compressor=none: the bound needs it")
        rows = [
            row
            for name, release in self.releases.items()
            for epsilon in self.privacy.epsilons
            for row in self._rows(compressor, name, release, float(epsilon))
        ]
        return [row.replace(compression=self.compression) for row in rows]

    @property
    def _shared(self) -> "NoisyLeakage":
        """The process's first task that differs in noise alone; all share its draws: half of the time."""
        quiet = replace(self.privacy, noise=0.0)
        setting = (
            self._seed,
            self.model,
            self.releases,
            quiet,
            self.images,
            self.networks,
            self.trials,
        )
        return _SHARED.of((repr(setting), self._data.digest), lambda: self)

    @functools.cached_property
    def _drawn(self) -> dict[int, DrawnRelease]:
        return {}

    @functools.cached_property
    def _kept(self) -> dict[tuple[int, float], WeighedProducts]:
        return {}

    @functools.cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @functools.cached_property
    def _seed(self) -> int:
        """The root of victims, networks and noise that were not seen while the attacks were developed."""
        return seeds.key(self.seed, task="noisy leakage", trials="judged anew")

    @functools.cached_property
    def _scene(self) -> Scene:
        return draw_scene(self._data, self.model, self._seed, 1, self.networks)

    @property
    def _each(self) -> int:
        return self.trials // self.networks

    @functools.cached_property
    def _images(self) -> Tensor:
        """The candidates of each network, (T, n, pixels)."""
        random, test, count = seeds.generator(self._seed, data="candidates"), self._data.test, self.images.candidates
        features = torch.tensor(self._data.features(test), dtype=torch.float32)
        chosen = []
        for (label,) in self._scene.labels.tolist():
            same = np.flatnonzero(test.labels == label)
            if len(same) < count:
                raise ValueError(f"candidates={count} must be <= {len(same)}, the images of class {label}")
            chosen.append(random.choice(same, count, replace=False))
        return features[np.stack(chosen)]

    @functools.cached_property
    def _gradients(self) -> Tensor:
        """The clipped gradients of all candidates, (T, n, d)."""
        labels = self._scene.labels[:, :, None].expand(-1, self.images.candidates, -1)
        return self._clipped(self._scene.networks.gradients(self._images[:, :, None], labels))

    @functools.cached_property
    def _products(self) -> Products:
        """The inner products of clipped gradients of candidates, others and further public images."""
        random, train = seeds.generator(self._seed, data="others"), self._data.train
        pools = random.integers(len(train.labels), size=(self.networks, POOL))
        images, labels = self._data.features(train), train.labels
        made = []
        for number, (candidates, pool) in enumerate(zip(self._gradients, pools, strict=True)):
            rest = np.setdiff1d(np.arange(len(labels)), pool)
            further = random.choice(rest, min(self.images.public, len(rest)), replace=False)
            network, chosen = self._scene.networks.of(number), np.concatenate([pool, further])
            seen = torch.tensor(images[chosen], dtype=torch.float32)[None, :, None]
            gradients = self._clipped(network.gradients(seen, torch.tensor(labels[chosen])[None, :, None]))[0]
            made.append(inner_products(candidates, gradients[:POOL], gradients[POOL:]))
        return Products(*map(torch.cat, zip(*made, strict=True)))

    def _clipped(self, updates: Tensor) -> Tensor:
        return updates / (updates.norm(dim=-1, keepdim=True) / self.privacy.clip).clamp(min=1)

    def _rows(self, compressor: Compressor, name: str, release: Release, epsilon: float) -> Iterator[Row]:
        sigma = calibrated_sigma(ACCOUNTANT, GaussianRelease(self.privacy.clip, 1.0), epsilon, self.privacy.delta)
        total = sigma * (release.clients**0.5 if release.placement == "local" else 1)
        bound = reconstruction_bound(GaussianRelease(self.privacy.clip, total), 1 / self.images.candidates)
        at = At(self.kernels, seeds.key(self._seed, release=name, epsilon=repr(epsilon)), 0, self.networks)
        shared, added = self._shared, self.privacy.noise * total
        drawn = shared._draw(release, at.seed)
        victims, entries = drawn.victims, drawn.entries
        found, control = (shared._named(release, drawn, sd) == victims for sd in (added, 0.0))
        columns: dict[str, Value] = {
            "case": name,
            "epsilon": epsilon,
            "delta": self.privacy.delta,
            "clients": release.clients,
            "noise": float(self.privacy.noise),
            "sigma": total,
            "sensitivity": float(self.privacy.clip),
            "accountant": ACCOUNTANT,
        }
        count, known = int(found.sum()), int(control.sum())
        log.info("%s, ε=%g: %d of %d found, bound %.3g", name, epsilon, count, self.trials, bound)
        yield Row("found", bound=bound, **columns, positive_control=known).counted(count, self.trials)
        retained = (found.double().mean(dim=1) - 1 / self.images.candidates) / (1 - 1 / self.images.candidates)
        yield Row("retained", bound=float(self.allowed), **columns).mean(retained.numpy())
        if entries is not None:
            seen = shared._gradients[torch.arange(self.networks), victims[:, 0]] + added * entries
            right = self._inverted(compressor, at, seen) == victims[:, 0]
            yield Row("inverted", bound=bound, **columns).counted(int(right.sum()), self.networks)

    def _draw(self, release: Release, seed: int) -> DrawnRelease:
        if seed not in self._drawn:
            random = seeds.generator(seed, data="trials")
            victims = torch.tensor(random.integers(self.images.candidates, size=(self.networks, self._each)))
            times, others = None, release.clients - 1
            if release.others == "unknown" and others:
                drawn = random.multinomial(others, [1 / POOL] * POOL, size=victims.shape)
                times = torch.tensor(drawn - others / POOL)
            normals = torch.from_numpy(random.standard_normal((*victims.shape, self.images.candidates)))
            size, entries = self._gradients[:, 0].shape, None
            if release.clients == 1:
                entries = torch.tensor(random.standard_normal(size), dtype=torch.float32)
            self._drawn[seed] = DrawnRelease(victims, times, normals, entries)
        return self._drawn[seed]

    def _weighed(self, others: int, variance: float) -> WeighedProducts:
        """`Products.weighed`, once for all that ask: without noise, each ε and each noise does."""
        if (others, variance) not in self._kept:
            self._kept[others, variance] = self._products.weighed(others, variance)
        return self._kept[others, variance]

    def _named(self, release: Release, drawn: DrawnRelease, sd: float) -> Tensor:
        """The candidates (T, k) that the attack names, for noise of this standard deviation in each entry."""
        weighed = self._weighed(0 if drawn.times is None else release.clients - 1, sd**2)
        places = drawn.victims[:, :, None].expand(-1, -1, self.images.candidates)
        products = weighed.candidates.gather(1, places) + sd * (drawn.normals @ _root(weighed.noise))
        return weighed.nearest(products if drawn.times is None else products + drawn.times @ weighed.others)

    def _inverted(self, compressor: Compressor, at: At, seen: Tensor) -> Tensor:
        """The candidates (T,) nearest to the most likely image, given the view of one update, (T, d)."""
        scene = self._shared._scene
        sight = Sight(
            seen=seen,
            predicted=self._clipped,
            measurements=torch.full((len(seen),), seen.shape[1]),
            decoded=lambda: seen,
            at=at,
            clients=slice(0, 1),
            nbytes=compressor.layout.nbytes,
        )
        target = Target(
            [sight], [scene.networks], scene.labels, scene.prior, scene.classes, at.seed, compressor, scene.public
        )
        image = self.attacks.find_most_likely(target, scene.classes.of(scene.labels))
        return torch.cdist(image, self._shared._images)[:, 0].argmin(dim=1)


_SHARED = Kept[tuple[str, str], NoisyLeakage](1)


def _root(matrices: Tensor) -> Tensor:
    """The symmetric square roots of covariance matrices (T, n, n)."""
    values, vectors = torch.linalg.eigh(matrices)
    return vectors * square_root(values.clamp(min=0))[:, None] @ vectors.transpose(1, 2)
