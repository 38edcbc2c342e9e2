"""The most likely of some candidates behind a sum of gradients, by the covariance of public gradients.

In a sum the other clients' gradients are noise whose covariance an attacker can learn from public images. The noise is
small in most directions. An attacker who weighs directions by the inverse covariance names the victim's candidate in
sums in which an attacker who assumes isotropic noise does not.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sketchbench.attack.door import check_axes

RIDGE = 0.01  # variance in directions that public gradients don't have, over the mean variance of an entry


class Products(NamedTuple):
    """Inner products of gradients in T networks: of n candidates, m gradients that others draw from, and N public
    gradients less their mean; float64."""

    candidates: Tensor  # of candidates with each other, (T, n, n)
    others: Tensor  # of others' gradients with candidates, (T, m, n)
    public: Tensor  # of public gradients with candidates, (T, N, n)
    public_others: Tensor  # of public gradients with others', (T, N, m)
    public_public: Tensor  # (T, N, N)
    ridge: Tensor  # of the covariance of a single gradient, (T,)

    def weighed(self, others: int, variance: float) -> "WeighedProducts":
        """The inner products a ↦ aᵀ(C + λI)⁻¹b λ for the covariance C of the sum of `others` gradients and λ the
        `variance` of further noise in each entry, plus the ridge. O(N³) a network."""
        if not others:
            return WeighedProducts(self.candidates, self.others, self.candidates)
        count = self.public_public.shape[1]
        noise = (variance / others + self.ridge) * count
        kernel = self.public_public + noise[:, None, None] * torch.eye(count, dtype=torch.float64)
        weights = torch.linalg.solve(kernel, self.public)  # Woodbury's identity
        kept, left = self.public.transpose(1, 2) @ weights, self.public_others.transpose(1, 2) @ weights
        twice = weights.transpose(1, 2) @ self.public_public @ weights
        return WeighedProducts(self.candidates - kept, self.others - left, self.candidates - 2 * kept + twice)


class WeighedProducts(NamedTuple):
    """Weighed inner products, by which the nearest candidate is the most likely one."""

    candidates: Tensor  # of candidates with each other, (T, n, n)
    others: Tensor  # of others' gradients with candidates, (T, m, n)
    noise: Tensor  # the covariance of the products of candidates with noise of variance 1 in each entry, (T, n, n)

    def nearest(self, products: Tensor) -> Tensor:
        """The most likely candidates (T, k), by the weighed products (T, k, n) of views with candidates."""
        return (self.candidates.diagonal(dim1=1, dim2=2)[:, None] - 2 * products).argmin(dim=2)


def inner_products(candidates: Tensor, others: Tensor, public: Tensor) -> Products:
    """Inner products of gradients in one network, from (n, d), (m, d) and (N, d)."""
    for name, x in (("candidates", candidates), ("others", others), ("public", public)):
        check_axes(name, x, "gradients", candidates.shape[1])
    public = public - public.mean(dim=0)
    g, o, a = (x.double() for x in (candidates, others, public))
    ridge = RIDGE * a.square().mean()
    return Products(*(x[None] for x in (g @ g.T, o @ g.T, a @ g.T, a @ o.T, a @ a.T, ridge)))
