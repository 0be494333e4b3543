"""The ensemble of GPs of one study: it owns their fits, decides when to refit, and is what is saved.

Which kernel and which hyper-parameters are right is uncertain too. The posterior over both is that of
``LogPosterior``: kernels weigh as their log posteriors say, and the hyper-parameters θ of a kernel are normal
about its fit (Laplace's approximation), with the inverse Hessian that the fit has learnt on its way as
covariance: rough, and free.

The hyper-parameters of the last fit stay while a new fit would add next to nothing to the log posterior
(½ gᵀHg, with the gradient of all observations and the inverse Hessian of the last fit). The inverse
covariance is then that of the last fit, extended by the observations since: O(t²) in place of O(t³).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from windage.dataset import Dataset
from windage.gp.factor import Covariance, Factor
from windage.gp.fit import fit
from windage.gp.kernels import KernelName
from windage.gp.likelihood import LogPosterior
from windage.gp.mixtures import Mixtures
from windage.gp.model import ProductGP
from windage.gp.records import Hyperparameters, SurrogateName, Training
from windage.space import Array

DECIDED = 500
"""Observations after which the fit of the likeliest kernel stands for all, to so many of them: by then its
hyper-parameters are clear, and one GP keeps an ask quick."""
COLD_UNTIL, GROWTH = 30, 1.1
"""A fit also starts from the priors' modes up to so many observations, and then each time they grew by so
much, so that a bad optimum is left again."""
NEWTON_GAIN = 0.01
"""In log posterior: hyper-parameters stay while a fit would add less."""
MOST_NEW = 32
"""Observations by which an inverse is extended at most."""


class Key(NamedTuple):
    """Which GP of an ensemble."""

    joint: bool
    """Whether on (x, c), or on x alone."""
    kernel: KernelName


@dataclass(frozen=True)
class Fit:
    """The hyper-parameters found with the first ``count`` observations: what is saved."""

    count: int
    hyperparameters: Hyperparameters


@dataclass(frozen=True)
class _Fitted:
    """A GP of all observations of a dataset, with the fit it came from."""

    data: Dataset
    fit: Fit
    model: ProductGP
    base: Factor | None = None
    """The factor of the first ``fit.count`` observations, where the model's is that one extended."""


@dataclass
class Ensemble:
    """The GPs of one study. Only ``fits`` is its state; the rest saves work.

    Everything follows from the observations and the last fits, so a restored study continues to the last bit.
    """

    kernels: tuple[KernelName, ...]
    members: int
    """How many GPs to draw from the posterior of kernels and hyper-parameters; 0: one a kernel, as fitted."""
    seed: int
    fits: dict[Key, Fit] = field(default_factory=dict)
    surrogate: SurrogateName | None = None
    _fitted: dict[Key, _Fitted] = field(default_factory=dict, repr=False)
    _drawn: dict[bool, tuple[Dataset, list[ProductGP]]] = field(default_factory=dict, repr=False)

    def models(self, data: Dataset, joint: bool, keep: bool = False) -> list[ProductGP]:
        """The GPs that follow all observations: on (x, c), or on x alone.

        ``keep``: the next fits start from these. Only an ask does that, so that a prediction changes nothing.
        """
        decided = self.members > 0 and len(data) > DECIDED
        kernels = self._likeliest(joint) if decided else self.kernels
        keys = [Key(joint, kernel) for kernel in kernels]
        fitted = [self._follow(data, key) for key in keys]
        if keep:
            self.fits.update(zip(keys, (found.fit for found in fitted), strict=True))
        drawn = self._drawn.get(joint)
        if drawn is None or drawn[0] is not data:
            models = [found.model for found in fitted]
            if decided:
                models = [max(models, key=lambda model: model.hyperparameters.log_posterior)]
            elif self.members:
                models = draw(models, self.members, self.seed)
            drawn = self._drawn[joint] = data, models
        return drawn[1]

    def _likeliest(self, joint: bool) -> tuple[KernelName, ...]:
        """The kernel of the best last fit, per observation; all of them where one was never fitted.

        Once decided it stays: only its fit goes on, so those of fewer observations no longer compare.
        """
        found = {k: self.fits[Key(joint, k)] for k in self.kernels if Key(joint, k) in self.fits}
        if len(found) < len(self.kernels):
            return self.kernels
        latest = max(fit.count for fit in found.values())
        if latest > DECIDED:
            found = {k: fit for k, fit in found.items() if fit.count == latest}
        return (max(found, key=lambda k: found[k].hyperparameters.log_posterior / found[k].count),)

    def _follow(self, data: Dataset, key: Key) -> _Fitted:
        """The GP of the data: with the last fit's hyper-parameters, or fitted anew where that pays."""
        before = self._fitted.get(key)
        if before is None or before.data is not data:
            training = Training.of(data, *key, member=self.members > 0, surrogate=self.surrogate)
            last = self.fits.get(key)
            if last is not None and len(last.hyperparameters.c) != training.c.shape[1]:
                last = None  # a context was seen for the first time since
            self._fitted[key] = follow(data, training, last, before)
        return self._fitted[key]


def follow(data: Dataset, training: Training, last: Fit | None, before: _Fitted | None) -> _Fitted:
    """The GP of the data, given the last fit and, to save work, the GP before."""
    t = len(training.y)
    if t > DECIDED:
        return _decided(data, training, last, before)
    if last is not None and last.count == t:
        return _Fitted(data, last, ProductGP(training, last.hyperparameters))
    cold = last is None or t <= COLD_UNTIL or _mark(last.count) != _mark(t)
    if last is not None and not cold and 0 < t - last.count <= MOST_NEW:
        kept = _kept(data, training, last, before)
        if kept is not None:
            return kept
    hyper = fit(training, None if last is None else last.hyperparameters, cold)
    return _Fitted(data, Fit(t, hyper), ProductGP(training, hyper))


def _decided(data: Dataset, training: Training, last: Fit | None, before: _Fitted | None) -> _Fitted:
    """The GP of many observations, with hyper-parameters of ``DECIDED`` of them, spread evenly.

    They are fitted again when the observations grew by a tenth. The mean follows all observations.
    """
    t = len(training.y)
    if last is None or _mark(last.count) != _mark(t):
        rows = np.linspace(0, t - 1, DECIDED).astype(np.intp)
        part = replace(training, x=training.x[rows], c=training.c[rows], y=training.y[rows])
        last, before = Fit(t, fit(part, None if last is None else last.hyperparameters)), None
    hyper = last.hyperparameters
    covariance = Covariance(training.kernel, np.array(hyper.x), np.array(hyper.c), hyper.noise)
    base = _base(training, last, before)
    base = base or covariance.factor(training.x[: last.count], training.c[: last.count])
    factor = covariance.factor(training.x, training.c, base)
    now = replace(hyper, mean=profiled_mean(factor, training.y))
    return _Fitted(data, last, ProductGP(training, now, factor), base)


def profiled_mean(factor: Factor, y: Array) -> float:
    """The likeliest constant mean, 1ᵀK⁻¹y / 1ᵀK⁻¹1."""
    ones = factor.inverse.sum(axis=1)
    return float(ones @ y / ones.sum())


def _mark(count: int) -> int:
    return int(math.log(count) / math.log(GROWTH))


def _kept(data: Dataset, training: Training, last: Fit, before: _Fitted | None) -> _Fitted | None:
    """The last fit's hyper-parameters on all observations; None where a fit would add more."""
    target, hyper = LogPosterior(training), last.hyperparameters
    theta = target.theta(hyper)
    covariance = Covariance(training.kernel, np.array(hyper.x), np.array(hyper.c), hyper.noise)
    base = _base(training, last, before)
    base = base or covariance.factor(training.x[: last.count], training.c[: last.count])
    factor = covariance.factor(training.x, training.c, base)
    found = target(theta, factor)
    if target.newton_gain(theta, found.gradient, hyper) > NEWTON_GAIN:
        return None
    now = replace(hyper, mean=found.mean, log_posterior=found.value)
    return _Fitted(data, last, ProductGP(training, now, factor), base)


def _base(training: Training, last: Fit, before: _Fitted | None) -> Factor | None:
    """The factor of the first ``last.count`` observations, if the GP before holds it.

    What a context that was not seen may have been changes with each one that is.
    """
    if before is None or before.fit != last:
        return None
    old, count = before.model.data, last.count
    if isinstance(old.c, Mixtures) or isinstance(training.c, Mixtures):
        return None
    same = np.array_equal(old.x[:count], training.x[:count])
    same &= np.array_equal(old.c[:count], training.c[:count])
    return (before.base or before.model.factor) if same else None


def draw(fitted: Sequence[ProductGP], count: int, seed: int) -> list[ProductGP]:
    """``count`` GPs, equally likely: of each kernel its share, the fitted one first, then draws around it.

    Shares are rounded, and draws come in opposite pairs: what is random is the spread of the ensemble,
    hardly its mean, so that decisions vary little from ask to ask.
    """
    generator = np.random.default_rng(seed)
    weights = kernel_weights(fitted)
    marks = (0.5 + np.arange(count)) / count
    shares = np.bincount(np.searchsorted(weights.cumsum()[:-1], marks), minlength=len(weights))
    found = []
    for model, share in zip(fitted, shares, strict=True):
        if share:
            found += [model, *_draws(model, int(share) - 1, generator)]
    return found


def kernel_weights(fitted: Sequence[ProductGP]) -> Array:
    """How likely each kernel is, from the log posteriors of the fits."""
    found = np.array([model.hyperparameters.log_posterior for model in fitted])
    weights = np.exp(found - found.max())
    return np.asarray(weights / weights.sum())


def _draws(model: ProductGP, count: int, generator: np.random.Generator) -> list[ProductGP]:
    """GPs with hyper-parameters from Laplace's approximation, within their bounds."""
    if not count:
        return []
    target = LogPosterior(model.data)
    theta = target.theta(model.hyperparameters)
    spread = laplace(model.hyperparameters, len(theta))
    normal = generator.standard_normal(((count + 1) // 2, len(theta))) @ spread.T
    thetas = theta + np.stack([normal, -normal], axis=1).reshape(-1, len(theta))[:count]
    return [_with(model, target, point) for point in np.clip(thetas, *target.bounds)]


def laplace(hyper: Hyperparameters, size: int) -> Array:
    """S such that θ + S·normal is Laplace's approximation of the posterior about a fit of so many θ.

    Where the fit has learnt no curvature, it is 0: there is nothing to draw from.
    """
    covariance = np.array(hyper.inverse_hessian) if hyper.inverse_hessian else np.zeros((size, size))
    variances, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(directions * np.sqrt(np.maximum(variances, 0)))


def _with(model: ProductGP, target: LogPosterior, theta: Array) -> ProductGP:
    """The GP with other hyper-parameters; its mean is profiled out again."""
    data = model.data
    hyper = target.at(theta)
    covariance = Covariance(data.kernel, np.array(hyper.x), np.array(hyper.c), hyper.noise)
    factor = covariance.factor(data.x, data.c)
    return ProductGP(data, replace(hyper, mean=profiled_mean(factor, data.y)), factor)
