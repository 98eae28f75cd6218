"""Gaussian process over candidates, each given as graphs, one for each level of its hierarchy.

    K = Σₗ softmax(a)ₗ Kₗ        y ~ N(0, K + σ² 1)        Kₗ: Weisfeiler–Lehman kernel of level l
    μ(x) = k(x)ᵀ (K + σ² 1)⁻¹ y        s²(x) = 1 − k(x)ᵀ (K + σ² 1)⁻¹ k(x)

Scores are standardised to y.  The weights a and the noise σ² maximise log p(y), and together with
them so does the depth h of the full graph's kernel, for the first 200 candidates.  As σ² ≥ 10⁻⁵ and
Kₗ has no negative eigenvalues and ones on the diagonal, Cholesky factors always exist in double
precision.

The kernel is a plain sum of known matrices, so that torch.distributions has the likelihood and
torch.linalg the posterior; a library of Gaussian processes would add a layer and a dependency.
Schrodi et al. 2023, arXiv:2211.01842; RECIPES 6.4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from sciops.grammars.labelled_graph import LabelledGraph

from .candidates import KERNELS
from .wl_kernel import ColourTable, products

FIRST_H, INNER_H = 1, 2  # of the coarsest level, and of the others but the full graph
FULL_H = range(5)  # of the full graph: the likeliest
LOGITS = (-5.0, 5.0)  # bounds of a
NOISE = (1e-5, 0.5)  # bounds of σ²
FIRST_NOISE = 1e-3
STEPS = 20  # of L-BFGS-B, at most
ENOUGH = 200  # candidates to choose h by

Levels = Sequence[
    LabelledGraph
]  # of one candidate, from coarse to fine; the last is the full graph


@dataclass(frozen=True)
class Hyperparameters:
    """depths: h of each level; weights: of each level, their sum is 1; noise: σ²"""

    depths: tuple[int, ...]
    weights: tuple[float, ...]
    noise: float


class GaussianProcess:
    """The posterior of scores, given those of some candidates.

    targets: standardised scores, (candidate,); centre, scale: score = centre + scale · target
    """

    def __init__(
        self,
        hyperparameters: Hyperparameters,
        candidates: Sequence[Levels],
        targets: np.ndarray,
        centre: float,
        scale: float,
        table: ColourTable | None = None,
    ):
        self.hyperparameters = hyperparameters
        self.candidates, self.targets = list(candidates), np.asarray(targets, float)
        self.centre, self.scale = centre, scale
        self._table = table or ColourTable()
        self._features = self._features_of(self.candidates)
        covariance = self._kernel(self._features)
        covariance.diagonal().add_(hyperparameters.noise)
        self._factor = torch.linalg.cholesky(covariance)
        y = torch.from_numpy(self.targets)[:, None]
        self._solution = torch.cholesky_solve(y, self._factor)  # (K + σ² 1)⁻¹ y

    def _features_of(self, candidates: Sequence[Levels]) -> list:
        depths = self.hyperparameters.depths
        levels = by_level(candidates, len(depths))
        return [self._table.features(g, h) for g, h in zip(levels, depths, strict=True)]

    def _kernel(self, features: list) -> Tensor:
        """k of candidates and those with a score, (candidate, candidate with score)."""
        weights = self.hyperparameters.weights
        parts = zip(weights, features, self._features, strict=True)
        return torch.from_numpy(sum(w * products(f, mine) for w, f, mine in parts))

    def predict(self, candidates: Sequence[Levels]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the scores, (candidate,); the latter at least the noise's.

        It is that of the score without noise.
        """
        cross = self._kernel(self._features_of(candidates))
        mean = (cross @ self._solution)[:, 0]
        part = torch.linalg.solve_triangular(self._factor, cross.mT, upper=False)
        variance = (1 - part.square().sum(0)).clamp(min=self.hyperparameters.noise)
        return self.centre + self.scale * mean.numpy(), self.scale * variance.sqrt().numpy()

    def hallucinate(self, candidates: Sequence[Levels]) -> "GaussianProcess":
        """As if candidates had been scored, with the mean: no mean changes, deviations shrink."""
        if not candidates:
            return self
        imagined = (self.predict(candidates)[0] - self.centre) / self.scale
        return GaussianProcess(
            self.hyperparameters,
            [*self.candidates, *candidates],
            np.concatenate([self.targets, imagined]),
            self.centre,
            self.scale,
            self._table,
        )


def by_level(candidates: Sequence[Levels], count: int) -> list[list[LabelledGraph]]:
    """Graphs (level, candidate); short candidates repeat the full graph, long ones skip to it."""
    if not all(candidates):
        raise ValueError("a candidate has no graph; give at least the full graph of each")
    return [[c[min(i, len(c) - 1)] for c in candidates] for i in range(count - 1)] + [
        [c[-1] for c in candidates]
    ]


def fit_gaussian_process(
    candidates: Sequence[Levels], scores: Sequence[float], kernel: str = "hierarchical"
) -> GaussianProcess:
    """The posterior with the likeliest hyperparameters.

    kernel: "hierarchical" for all levels, "flat" for the full graph only
    """
    _check(candidates, scores, kernel)
    values = np.asarray(scores, float)
    centre, scale = float(values.mean()), float(values.std())
    if scale <= 1e-12 * np.abs(values).max():
        scale = 1.0  # all scores are equal
    targets = torch.from_numpy((values - centre) / scale)
    count = max(map(len, candidates)) if kernel == "hierarchical" else 1
    table = ColourTable()
    *inner, full = by_level(candidates, count)
    depths = [FIRST_H, *[INNER_H] * len(inner)][: len(inner)]
    parts = [_gram(table, graphs, h) for graphs, h in zip(inner, depths, strict=True)]
    trials = {h: torch.stack([*parts, _gram(table, full, h)]) for h in FULL_H}
    first = slice(ENOUGH)
    h = max(FULL_H, key=lambda h: _likeliest(trials[h][:, first, first], targets[first])[0])
    _, weights, noise = _likeliest(trials[h], targets)
    found = Hyperparameters((*depths, h), weights, noise)
    return GaussianProcess(found, candidates, targets.numpy(), centre, scale, table)


def _gram(table: ColourTable, graphs: Sequence[LabelledGraph], h: int) -> Tensor:
    features = table.features(graphs, h)
    return torch.from_numpy(products(features, features))


def log_likelihood(kernels: Tensor, y: Tensor, logits: Tensor, log_noise: Tensor) -> Tensor:
    """log p(y), with kernels (level, n, n), y (n,), logits a (level,) and log σ²."""
    covariance = torch.einsum("l,lij->ij", torch.softmax(logits, 0), kernels)
    covariance = covariance + log_noise.exp() * torch.eye(len(y), dtype=y.dtype)
    factor = torch.linalg.cholesky(covariance)
    normal = torch.distributions.MultivariateNormal(torch.zeros_like(y), scale_tril=factor)
    return normal.log_prob(y)


def _likeliest(kernels: Tensor, y: Tensor) -> tuple[float, tuple[float, ...], float]:
    """log p(y), weights and noise, from equal weights by L-BFGS-B within the bounds."""

    def negative(point: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.tensor(point, requires_grad=True)
        value = -log_likelihood(kernels, y, at[:-1], at[-1])
        value.backward()
        return value.item(), at.grad.numpy()

    first = np.array([0.0] * len(kernels) + [math.log(FIRST_NOISE)])
    bounds = [LOGITS] * len(kernels) + [tuple(map(math.log, NOISE))]
    options = {"maxiter": STEPS}
    found = minimize(negative, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    weights = torch.softmax(torch.from_numpy(found.x[:-1]), 0)
    return -found.fun, tuple(weights.tolist()), math.exp(found.x[-1])


def _check(candidates: Sequence[Levels], scores: Sequence[float], kernel: str) -> None:
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is not known; choose one of {', '.join(KERNELS)}")
    if len(candidates) != len(scores) or not len(scores):
        raise ValueError(
            f"{len(candidates)} candidates and {len(scores)} scores; give one score for each of "
            "at least one candidate"
        )
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite numbers; leave out candidates that failed")
