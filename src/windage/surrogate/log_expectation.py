"""The posterior of the expectation where the GP is of log outcomes (``windage.surrogate.log_scale``).

With g ~ GP and w_m the weights of M nodes, F(x) = floor + Σ_m w_m e^{g(x, c_m)}. About the posterior mean μ
of g it is linear with weights v_m = w_m e^{μ_m}, which are each decision's own:

    median of F = floor + Σ_m v_m,     σ_F² = Var[Σ_m v_m g_m],

and the law of F is log-normal above the floor: log(F - floor) has the deviation σ_F / Σ_m v_m.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windage.surrogate.model import ProductGP
from windage.surrogate.posterior import CHUNK, ExpectationPosterior, LookPosterior, Saved, clarity


class LogExpectationPosterior(ExpectationPosterior):
    """The median and the variance of F, B each, and the way back to the decisions."""

    def __init__(self, model: ProductGP, nodes: Tensor, weights: Tensor) -> None:
        assert model.data.logs is not None
        self._see(model, nodes)
        self.weights, self.logs = weights, model.data.logs
        self.scale = self.logs.deviation**2 * model.variance
        self.chunk = max(1, CHUNK // max(len(nodes), len(model.data.y)))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Median, variance, and what ``pull_back`` needs."""
        k, h = self.side.forward(x)
        v = self.weights * self.logs.above(self.model.mean + (k * self.model.alpha) @ self.kc.mT)  # B × M
        z, spread = v @ self.kc, v @ self.between
        seen = k * z
        solved = seen @ self.model.precision
        variance = self.scale * (torch.linalg.vecdot(spread, v) - torch.linalg.vecdot(solved, seen))
        return self.logs.floor + v.sum(1), variance.clamp_min(0), ((x, h, k, v, z, spread, solved), None)

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂median and ∂/∂variance, B each → B × Dx."""
        x, h, *_, spread, solved = saved[0]
        pull = (2 * self.scale * grad_variance)[:, None]
        return self.side.backward(
            x, h, self._grad_k(saved, grad_mean[:, None] + pull * spread, -pull * solved)
        )

    def _joined(
        self, mean: Tensor, variance: Tensor, noise: Tensor, own: Tensor, covariance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """floor + (F - floor)·e^e, from the moments of both, B each; ``noise`` is ē as the GP sees it."""
        before = mean - self.logs.floor
        above = before * (self.logs.deviation * noise).exp()
        relative = variance / before.square() + own + 2 * covariance / before
        return self.logs.floor + above, above.square() * relative

    def _grad_k(self, saved: Saved, grad_v: Tensor, grad_seen: Tensor) -> Tensor:
        """∂/∂kx, B × t, from ∂/∂v (B × M) and ∂/∂(kx∘z) (B × t), where z and v follow from kx."""
        _, _, k, v, z, _, _ = saved[0]
        grad_g = v * (grad_v + (grad_seen * k) @ self.kc.mT)
        return (self.logs.deviation * grad_g) @ self.kc * self.model.alpha + grad_seen * z


class LogLookPosterior(LogExpectationPosterior):
    """F beside F at the best decision told so far, as ``LookPosterior``."""

    def __init__(self, model: ProductGP, nodes: Tensor, weights: Tensor) -> None:
        super().__init__(model, nodes, weights)
        told, _, ((_, _, _, v, _, spread, solved), _) = super().moments(model.data.x)
        self.best = best = int(told.argmax())
        self.best_mean = float(told[best])
        self.v, self.spread, self.solved = v[best], spread[best], solved[best]
        self.clarity = clarity(self.between, weights)

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Median, variance with covariance, and what ``pull_back`` needs."""
        median, variance, saved = super().moments(x)
        _, _, k, v, z, _, _ = saved[0]
        covariance = self.scale * (k[:, self.best] * (v @ self.spread) - (k * z) @ self.solved)
        return median, torch.stack([variance, covariance], dim=1), saved

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂median, B, and ∂/∂(variance, covariance), B × 2 → B × Dx."""
        x, h, k, v, _, spread, solved = saved[0]
        own, shared = (self.scale * grad_variance)[:, :, None].unbind(1)
        there = k[:, self.best, None]
        grad_v = grad_mean[:, None] + 2 * own * spread + shared * there * self.spread
        grad_k = self._grad_k(saved, grad_v, -2 * own * solved - shared * self.solved)
        grad_k[:, self.best] += shared[:, 0] * (v @ self.spread)
        return self.side.backward(x, h, grad_k)


def expectation(model: ProductGP, nodes: Tensor, weights: Tensor) -> ExpectationPosterior:
    """The posterior of the expectation, on whichever scale the model sees the outcomes."""
    kind = ExpectationPosterior if model.data.logs is None else LogExpectationPosterior
    return kind(model, nodes, weights)


def look(model: ProductGP, nodes: Tensor, weights: Tensor) -> LookPosterior | LogLookPosterior:
    """The same beside the best decision told so far."""
    kind = LookPosterior if model.data.logs is None else LogLookPosterior
    return kind(model, nodes, weights)
