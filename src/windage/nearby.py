"""The last step of a decision, where the noise has a grain: to one nearby whose own noise is good.

What the surrogates know of the expectation, F, is smooth. On it lies the decision's own noise e
(``windage.surrogate.grain``). Around the best decision x⁺ by the acquisition value the best one is taken by
the same value, but with the bound on F + e in place of that on F: among points around x⁺, decisions told
nearby, and points around those. First things first: while F(x⁺) is less certain than the noise of a decision
never seen, x⁺ stays. A study that begins with the noise stays where it began.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from windage.combined import MeanBound
from windage.maximize import untaken
from windage.surrogate import kernels
from windage.surrogate.grain import SHARE

WIDTHS, CLOUD = (1.0, 3.0, 8.0), 64
"""The widths of the clouds around x⁺, in lengthscales of the grain, and how many points each has."""
TOLD, LAST = 0.7, 0.2
"""Those of a cloud around decisions told, and around the best of all in the end."""
NEAR = 0.3
"""Decisions told are near where a Matérn-5/2 kernel of the widest cloud's width is above this."""


def best_nearby(acquisition: MeanBound, point: Tensor, waiting: Tensor, seed: int) -> Tensor:
    """The best decision around a point (d) of real numbers, apart from those that wait (n × d)."""
    model = acquisition.posteriors[0].model
    scale, told = model.data.grain, model.data.x
    if not scale or not surer_than_noise(acquisition, point):
        return point
    generator = torch.Generator().manual_seed(seed)

    def cloud(centres: Tensor, width: float) -> Tensor:
        steps = torch.randn(centres.shape, generator=generator, dtype=centres.dtype)
        return (centres + width * scale * steps).clamp(0, 1)

    def best(points: Tensor) -> Tensor:
        values = torch.where(untaken(points, waiting), value(acquisition, points), -torch.inf)
        return points[int(values.argmax())]

    reach = told.new_full((len(point),), WIDTHS[-1] * scale)
    near = kernels.matern52(kernels.scaled_squares(told, point[None], reach))[0][:, 0] > NEAR
    centres = torch.cat([point[None], told[near]])
    some = centres[torch.randint(len(centres), (2 * CLOUD,), generator=generator)]
    around = [cloud(point.expand(CLOUD, -1), width) for width in WIDTHS]
    found = best(torch.cat([centres, *around, cloud(some, TOLD)]))
    return best(torch.cat([found[None], cloud(found.expand(CLOUD, -1), LAST)]))


def surer_than_noise(acquisition: MeanBound, point: Tensor) -> bool:
    """Whether F at a point (d) is better known than the own noise of a decision never seen."""
    model = acquisition.posteriors[0].model
    with torch.no_grad():
        found = [posterior.moments(point[None]) for posterior in acquisition.posteriors]
    logs, noise = model.data.logs, SHARE * model.hyperparameters.noise * model.variance
    deviation = math.sqrt(float(torch.stack([variance.view(-1)[0] for _, variance, _ in found]).mean()))
    if logs is not None:
        deviation /= logs.deviation * float(torch.stack([mean for mean, _, _ in found]).mean() - logs.floor)
    return deviation < math.sqrt(noise)


def value(acquisition: MeanBound, points: Tensor) -> Tensor:
    """The acquisition with the decisions' own noise in its bounds, n × d → n."""
    parts = [_valued(acquisition, part) for part in points.split(acquisition.chunk)]
    return torch.nan_to_num(torch.cat(parts), nan=-torch.inf)


def _valued(acquisition: MeanBound, points: Tensor) -> Tensor:
    means, variances, noisy = _moments(acquisition, points)
    gained = acquisition.bounds(*noisy) - acquisition.bounds(means, _variance(variances))
    return acquisition.combine(means, variances) + gained.mean(0)


def _moments(acquisition: MeanBound, points: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Of F under each surrogate, as the acquisition takes them; and of F with the decisions' own noise."""
    smooth, noisy = [], []
    with torch.no_grad():
        for posterior in acquisition.posteriors:
            found = posterior.moments(points)
            smooth.append(found[:2])
            noisy.append(posterior.with_noise(points, found))
    means, variances = (torch.stack(column) for column in zip(*smooth, strict=True))
    return means, variances, [torch.stack(column) for column in zip(*noisy, strict=True)]


def _variance(variances: Tensor) -> Tensor:
    """K × B, also where a covariance comes with it."""
    return variances if variances.dim() == 2 else variances[:, :, 0]
