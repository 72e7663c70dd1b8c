"""Probabilities of rankings with ties, summed over all orders that agree with the levels.

By the race of Theorem 1 and its memorylessness the probability is a product over the levels: each level's items ring
before everything below. For one level with weights w_j above a rest of weight R that is

    integral over t of  R exp(-R t)  prod_j (1 - exp(-w_j t))  dt .
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import ConfigError
from sqlrank.theory.likelihood import Floats, list_log_prob
from sqlrank.theory.subsets import EXACT_ITEMS, MOST_ITEMS, arrival_log_prob, masks_by_size, subset_logsumexp

DEPTH = 42.0  # nats below the peak at which the integrand is cut: exp(-42) = 6e-19


def level_log_prob(y: Floats, rest: float, count: int | None = None, method: str = "auto") -> float:
    """Return log P(the first `count` draws, all by default, come from the level with log-weights y).

    `rest` is the log of the total weight below the level; -inf where there is nothing below.
    """
    need = len(y) if count is None else count
    if rest == -np.inf or need == 0:
        return 0.0
    if method not in ("auto", "subsets", "quadrature"):
        raise ConfigError(f"method is {method!r}; it must be 'auto', 'subsets' or 'quadrature'")
    if method == "subsets" or (method == "auto" and len(y) <= EXACT_ITEMS):
        return subset_log_prob(y, rest, need)
    return quadrature_log_prob(y, rest, need)


def subset_log_prob(y: Floats, rest: float, count: int) -> float:
    """Return :func:`level_log_prob` by dynamic programming over subsets: exact, 2^items work."""
    if len(y) > MOST_ITEMS:
        raise ConfigError(f"a level of {len(y)} items has too many subsets; use the quadrature")
    reached = arrival_log_prob(y, rest, count)[masks_by_size(len(y))[count]]
    return float(np.logaddexp.reduce(reached))


def quadrature_log_prob(y: Floats, rest: float, count: int) -> float:
    """Return :func:`level_log_prob` by the trapezoidal rule in s = log(R t).

    The integrand is analytic around the real axis and falls off at both ends, where the trapezoidal rule converges
    exponentially. It is unimodal in s with its peak in [0, log(1 + items)]: below 0 it rises, above it falls, no
    slower than a gamma density of items + 1, whose tail is `DEPTH` below the peak 12 standard deviations on.
    """
    z = y - rest
    end = len(y) + 12.0 * np.sqrt(len(y)) + 2.0 * DEPTH + 40.0
    coarse = np.linspace(-DEPTH - 4.0, np.log(end), 400)
    height = _log_integrand(coarse, z, count)
    inside = np.flatnonzero(height > height.max() - DEPTH)
    low, high = coarse[max(0, inside[0] - 1)], coarse[min(len(coarse) - 1, inside[-1] + 1)]
    points, previous = 64, np.inf
    while True:
        s = np.linspace(low, high, points + 1)
        value = float(np.logaddexp.reduce(_log_integrand(s, z, count)) + np.log(s[1] - s[0]))
        if abs(value - previous) <= 1e-14 * max(1.0, abs(value)) or points >= 1 << 14:
            return min(value, 0.0)
        points, previous = 2 * points, value


def _log_integrand(s: Floats, z: Floats, count: int) -> Floats:
    """Return log of exp(s - e^s) P(at least `count` clocks of rates exp(z) rang by e^s)."""
    time = np.exp(s)
    rate = np.exp(np.clip(z[:, None] + s, -700.0, 700.0))
    rang = np.where(rate > 1e-290, np.log(-np.expm1(-rate)), z[:, None] + s)
    if count == len(z):
        return np.asarray(s - time + rang.sum(axis=0))
    exactly = np.full((count + 1, len(s)), -np.inf)  # the last row collects "count or more"
    exactly[0] = 0.0
    for hit, miss in zip(rang, -rate, strict=True):
        moved = np.logaddexp(exactly[1:] + miss, exactly[:-1] + hit)
        moved[-1] = np.logaddexp(exactly[-1], exactly[-2] + hit)
        exactly[0] += miss
        exactly[1:] = moved
    return np.asarray(s - time + exactly[-1])


def split_levels(levels: Floats) -> list[NDArray[np.int64]]:
    """Return the positions of each level's items, best level first; NaN belongs to none."""
    rated = np.flatnonzero(~np.isnan(levels))
    order = rated[np.argsort(-levels[rated], kind="stable")]
    sorted_levels = levels[order]
    cuts = (
        np.flatnonzero(sorted_levels[1:] != sorted_levels[:-1]) + 1
    )  # a difference of infinities is not a number
    return [part for part in np.split(order, cuts) if len(part)]


def log_prob_levels(y: Floats, levels: Floats, k: int | None = None, method: str = "auto") -> float:
    """Return the log-probability of one list's levels; with k, of its first k positions agreeing with them."""
    parts = split_levels(levels)
    total, left = 0.0, sum(map(len, parts)) if k is None else k
    for part, rest in zip(parts, _weights_below(y, parts), strict=True):
        total += level_log_prob(y[part], rest, min(len(part), left), method)
        left -= min(len(part), left)
    return total


def _weights_below(y: Floats, parts: list[NDArray[np.int64]]) -> list[float]:
    below, out = -np.inf, []
    for part in reversed(parts):
        out.append(float(below))
        below = np.logaddexp(below, np.logaddexp.reduce(y[part]))
    return out[::-1]


def log_factorial(n: int) -> float:
    """Return log n!."""
    from math import lgamma

    return lgamma(n + 1.0)


def jensen_bound_levels(
    y: Floats, levels: Floats, samples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return one list's Jensen bound, log N + mean log P, and its standard error (0 where it is exact)."""
    parts = split_levels(levels)
    value, variance = 0.0, 0.0
    for part, rest in zip(parts, _weights_below(y, parts), strict=True):
        value += log_factorial(len(part))
        mean, error = _mean_log_prob(y[part], rest, samples, rng)
        value, variance = value + mean, variance + error**2
    return value, float(np.sqrt(variance))


def _mean_log_prob(y: Floats, rest: float, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean over all orders of one level of log P(this order, before the rest)."""
    if len(y) <= EXACT_ITEMS:
        sums = subset_logsumexp(y, rest)
        # In a random order the items still to come are, at each size, a uniform subset of that size.
        steps = sum(float(sums[masks].mean()) for masks in masks_by_size(len(y))[1:])
        return float(y.sum()) - steps, 0.0
    shuffled = rng.permuted(np.broadcast_to(y, (samples, len(y))), axis=1)
    with_rest = np.concatenate([shuffled, np.full((samples, 1), rest)], axis=1)
    # Without a rest the column would only repeat -inf.
    draws = list_log_prob(shuffled) if rest == -np.inf else list_log_prob(with_rest, len(y))
    return float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(samples))
