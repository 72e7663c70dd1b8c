"""Links and the Plackett-Luce likelihood of many lists at once, in float64.

Everything here works on `y = g(x) = log phi(x)`, arranged along the last axis in the order of the lists, best first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqlrank.errors import ConfigError

Floats = NDArray[np.float64]

SAFE_SPREAD = 500.0  # exp of differences up to this loses nothing that matters to underflow


def log_weights(scores: ArrayLike, link: str) -> Floats:
    """Return g(x): the sigmoid (the paper's, weights in (1, e)) or the identity (softmax)."""
    x = np.asarray(scores, np.float64)
    if link == "identity":
        return x
    if link == "sigmoid":
        return 0.5 * (1.0 + np.tanh(0.5 * x))
    raise ConfigError(f"link is {link!r}; it must be 'sigmoid' or 'identity'")


def link_slope(y: Floats, link: str) -> Floats:
    """Return g'(x) from y = g(x)."""
    return y * (1.0 - y) if link == "sigmoid" else np.ones_like(y)


def suffix_logsumexp(y: Floats) -> Floats:
    """Return log S_t = log of the sum over l >= t of exp(y_l)."""
    if y.shape[-1] == 0:
        return y.copy()
    top = y.max(axis=-1, keepdims=True)
    if float(np.max(top - y.min(axis=-1, keepdims=True), initial=0.0)) < SAFE_SPREAD:
        return np.asarray(np.log(np.cumsum(np.exp(y - top)[..., ::-1], axis=-1)[..., ::-1]) + top)
    return np.asarray(np.logaddexp.accumulate(y[..., ::-1], axis=-1)[..., ::-1])


def suffix_mean(y: Floats, values: Floats) -> Floats:
    """Return, at every position t, the mean of `values` over l >= t with weights exp(y_l).

    A recurrence of convex combinations: stable for any scores.
    """
    sums = suffix_logsumexp(y)
    first = np.exp(y - sums)
    out = np.empty_like(values)
    running = np.zeros(values.shape[:-1])
    for t in range(values.shape[-1] - 1, -1, -1):
        running = first[..., t] * values[..., t] + (1.0 - first[..., t]) * running
        out[..., t] = running
    return out


def list_log_prob(y: Floats, k: int | None = None) -> Floats:
    """Return the sum over t <= k of y_t - log S_t, for every list."""
    stop = y.shape[-1] if k is None else min(k, y.shape[-1])
    return np.asarray((y - suffix_logsumexp(y))[..., :stop].sum(axis=-1))


def nll_and_gradient(y: Floats) -> tuple[float, Floats]:
    """Return the full lists' negative log-likelihood, summed, and its gradient in y.

    The gradient is ``exp(y_l) * (sum over t <= l of 1/S_t) - 1``.
    """
    log_sums = suffix_logsumexp(y)
    value = float((log_sums - y).sum())
    if float(np.ptp(y)) < SAFE_SPREAD:
        shift = y.max()
        inverse = np.cumsum(np.exp(shift - log_sums), axis=-1)
        return value, np.asarray(np.exp(y - shift) * inverse - 1.0)
    return value, np.asarray(np.exp(y + np.logaddexp.accumulate(-log_sums, axis=-1)) - 1.0)
