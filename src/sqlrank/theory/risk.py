"""Excess risk: the KL divergence between two Plackett-Luce models (Lemma 1's D)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sqlrank.errors import DataError
from sqlrank.theory.estimate import Estimate, check_samples
from sqlrank.theory.likelihood import Floats, suffix_logsumexp, suffix_mean
from sqlrank.theory.plackett_luce import PlackettLuce, Ranking
from sqlrank.theory.subsets import arrival_log_prob, masks_by_size, subset_logsumexp, summed_exactly


def excess_risk(
    true: ArrayLike,
    estimate: ArrayLike,
    link: str = "sigmoid",
    samples: int = 100,
    seed: int = 0,
    exact: bool | None = None,
) -> Estimate:
    r"""Return :math:`D(X^*, \hat X) = \frac1n \sum_i E \log P_{X^*_i}(Π_i) / P_{\hat X_i}(Π_i)`, Π from the truth.

    Exact for up to 12 items unless `exact` says otherwise. Else unbiased from `samples` rankings per list: along each
    ranking the KL divergences of the single draws are summed, which is never negative and varies less than the
    log-ratio itself.

    >>> from sqlrank.theory import excess_risk
    >>> excess_risk([0.0, 1.0, 2.0], [5.0, 6.0, 7.0], link="identity").value.round(9).tolist()  # same shape
    0.0
    """
    p = PlackettLuce(np.atleast_2d(np.asarray(true, np.float64)), link)
    q = PlackettLuce(np.atleast_2d(np.asarray(estimate, np.float64)), link)
    if p.scores.shape != q.scores.shape:
        raise DataError(f"scores of the shapes {p.scores.shape} and {q.scores.shape} cannot be compared")
    if summed_exactly(p.n_items, exact):
        rows = zip(p.log_weights, q.log_weights, strict=True)
        return Estimate.of(np.array([_exact_divergence(a, b) for a, b in rows])).average()
    check_samples(samples)
    rng = np.random.default_rng(seed)
    draws = [_draw_divergences(p, q, p._race(1, rng)[0]) for _ in range(samples)]
    return Estimate.mean(np.stack(draws)).average()


def _exact_divergence(a: Floats, b: Floats) -> float:
    items = len(a)
    full = (1 << items) - 1
    reached = arrival_log_prob(a, -np.inf, items)
    left_a, left_b = subset_logsumexp(a), subset_logsumexp(b)
    bits = 1 << np.arange(items, dtype=np.int64)
    total = 0.0
    for layer in masks_by_size(items)[:items]:
        remaining = full ^ layer
        there = (remaining[:, None] & bits) != 0
        log_p = np.where(there, a - left_a[remaining, None], -np.inf)
        ratio = np.where(there, (a - b) - (left_a[remaining] - left_b[remaining])[:, None], 0.0)
        total += float(np.exp(reached[layer]) @ (np.exp(log_p) * ratio).sum(axis=1))
    return total


def _draw_divergences(p: PlackettLuce, q: PlackettLuce, order: Ranking) -> Floats:
    a = np.take_along_axis(p.log_weights, order, axis=-1)
    b = np.take_along_axis(q.log_weights, order, axis=-1)
    change = suffix_logsumexp(b) - suffix_logsumexp(a)
    return np.asarray((suffix_mean(a, a - b) + change).sum(axis=-1))
