"""The nearest training images of each test image: near copies between the parts, and labels that don't fit.

Images are compared by 1 - r, for the correlation r of their pixels, which brightness and contrast don't change. With
pixels of mean 0 and norm 1 it is half the squared distance. Block means of 8 × 8 blocks, scaled to be an orthogonal
projection, never exceed that distance. The nearest images at this coarse scale are compared pixel by pixel.

Cost: O(n m) for n test and m training images, 9 s for MNIST and 17 s for CIFAR-10 on two cores, 500 MB.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.learning.dataset.dataset import Dataset

SIDE = 8  # blocks along each axis of the coarse images
NEAREST = 10  # training images that an image is compared with
NEAR = 0.01  # 1 - r of near copies, in units of its mean over two training images
FEWEST = 16  # values of an image; smaller images are close to each other by chance
QUERIES = 10_000  # training images that are compared with the others
ENTRIES = 2**24  # float32 numbers of a block


@dataclass(frozen=True)
class Neighbourhood:
    """Statistics of the nearest training images of a data set.

    Arguments:
        copies: the number of each test image with a near copy in the training part, and of that copy, int64 (n, 2).
        moved: the share of test labels that seems to be wrong, by how much less the nearest training images have the
            label of a test image than they have the label of a training image; below 0 if training labels seem wrong.
            NaN if there are too few images.
        error: the standard error of `moved`.
    """

    copies: NDArray[np.int64]
    moved: float
    error: float


def compare(data: Dataset) -> Neighbourhood:
    """Compare test images and labels with the nearest training images.

    Two images are near copies if 1 - r is at most NEAR times its mean over two training images. Constant images, and
    images of fewer than FEWEST values, have none: of n points in m dimensions, the nearest is at about n^(-1/m) of the
    typical distance, so that close images are natural in few dimensions. `Dataset.check_disjoint` counts equal images.
    """
    return _KNOWN.of(data.digest, lambda: _compare(data))


_KNOWN = Kept[str, Neighbourhood](4)


def _compare(data: Dataset) -> Neighbourhood:
    train, test = data.train, data.test
    coarse, mean = _coarse(train.images)
    queries = _coarse(test.images)[0]
    near = _nearest(queries, coarse)
    copies = _copies(data, near, queries, coarse, NEAR * (1 - float(mean @ mean)))
    random = seeds.generator(0, data="neighbours")
    some = np.sort(random.choice(len(coarse), min(len(coarse), QUERIES), replace=False))
    own = _nearest(coarse[some], coarse, some)
    return Neighbourhood(copies, *_moved(train.labels, near, test.labels, own, train.labels[some]))


def _coarse(images: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The block means of standardised images, (n, blocks), and the mean standardised image, (pixels,)."""
    blocks, total = [], np.zeros(images[0].size)
    for first in range(0, len(images), step := max(1, ENTRIES // images[0].size)):
        rows = _standardised(images[first : first + step])
        total += rows.sum(axis=0, dtype=np.float64)
        part = rows.reshape(-1, *images.shape[1:])
        for axis in (2, 3):
            length = part.shape[axis]
            edges = np.unique(np.linspace(0, length, min(SIDE, length) + 1).round().astype(int))
            lengths = np.sqrt(np.diff(edges)).astype(np.float32)
            part = np.add.reduceat(part, edges[:-1], axis=axis)
            part /= lengths[:, None] if axis == 2 else lengths
        blocks.append(part.reshape(len(part), -1))
    return np.concatenate(blocks), total / len(images)


def _standardised(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Rows of pixels (n, pixels) with mean 0 and norm 1; constant images are 0."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(norms > 0, norms, 1)
    return rows


def _nearest(
    queries: NDArray[np.float32], coarse: NDArray[np.float32], selves: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """The numbers of the NEAREST rows of `coarse` for each query, (n, NEAREST) or fewer, the nearest first; without the
    query itself if `selves` has its number."""
    known = torch.from_numpy(coarse)
    halves = (known**2).sum(dim=1) / 2
    found, count, step = [], min(NEAREST, len(coarse) - (selves is not None)), max(1, ENTRIES // len(coarse))
    memory = torch.empty(step, len(coarse))  # fresh memory for each product takes three times as long
    for first in range(0, len(queries), step):
        some = torch.from_numpy(queries[first : first + step])
        closeness = torch.mm(some, known.T, out=memory[: len(some)]).sub_(halves)
        if selves is not None:
            closeness[torch.arange(len(closeness)), torch.from_numpy(selves[first : first + step])] = -torch.inf
        found.append(closeness.topk(count).indices)
    return torch.cat(found).numpy()


def _copies(
    data: Dataset,
    near: NDArray[np.int64],
    queries: NDArray[np.float32],
    coarse: NDArray[np.float32],
    most: float,
) -> NDArray[np.int64]:
    """`Neighbourhood.copies`: the pairs with 1 - r <= most. The coarse distance, a lower bound, rules most out."""
    if data.train.images[0].size < FEWEST:
        return np.empty((0, 2), np.int64)
    distances = np.stack([((queries - coarse[column]) ** 2).sum(axis=1) / 2 for column in near.T], axis=1)
    tested, columns = np.nonzero(distances <= most)
    twins = near[tested, columns]
    found = []
    for first in range(0, len(tested), step := max(1, ENTRIES // data.train.images[0].size)):
        part = slice(first, first + step)
        one, other = _standardised(data.test.images[tested[part]]), _standardised(data.train.images[twins[part]])
        found.append((1 - (one * other).sum(axis=1) <= most) & one.any(axis=1))
    kept = np.concatenate([np.zeros(0, bool), *found])
    pairs = np.stack([tested, twins], axis=1)[kept]
    return pairs[np.unique(pairs[:, 0], return_index=True)[1]]


def _moved(
    labels: NDArray[np.int64],
    near: NDArray[np.int64],
    tested: NDArray[np.int64],
    own: NDArray[np.int64],
    sampled: NDArray[np.int64],
) -> tuple[float, float]:
    """`Neighbourhood.moved` and `error`: test images are compared with training images of the same class."""
    agreed, usual = ((labels[at] == its[:, None]).mean(axis=1) for at, its in ((near, tested), (own, sampled)))
    classes = int(max(labels.max(), tested.max())) + 1
    counts = np.bincount(sampled, minlength=classes)
    means = np.bincount(sampled, usual, classes) / np.maximum(counts, 1)
    known = counts[tested] > 0
    expected = means[tested[known]]
    if known.sum() < 2 * NEAREST or not expected.any():
        return np.nan, np.nan
    missing = expected - agreed[known]
    variance = missing.var() / len(missing) + (usual - means[sampled]).var() / len(usual)
    return float(missing.mean() / expected.mean()), float(variance**0.5 / expected.mean())
