"""Images flipped and turned at random."""

import numpy as np

from sketchbench import seeds
from sketchbench.dataset.dataset import Split


def turned(split: Split, seed: int, degrees: float = 36.0) -> Split:
    """Every image mirrored with probability 1/2, and turned about its centre by an angle uniform up to so
    many degrees each way; what comes in from outside is its reflection.

    tang2021 Appendix C.2 has flips and rotations without a range; a tenth of a full turn is that of its
    published code. O(n) images, about 0.3 ms each of 3 × 32 × 32 pixels.
    """
    from scipy.ndimage import rotate  # 0.2 s that few tasks need

    random = seeds.generator(seed, data="augmentation")
    mirrored = random.random(len(split.labels)) < 0.5
    angles = random.uniform(-degrees, degrees, len(split.labels))
    images = np.empty_like(split.images)
    for i, image in enumerate(split.images):
        own = image[..., ::-1] if mirrored[i] else image
        rotate(own, angles[i], axes=(1, 2), reshape=False, output=images[i], order=1, mode="reflect")
    return Split(images, split.labels)
