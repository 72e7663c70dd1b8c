"""Dynamic programs over the subsets of a few items, vectorised over all subsets of one size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import ConfigError
from sqlrank.theory.likelihood import Floats

EXACT_ITEMS = 12
MOST_ITEMS = 20


def summed_exactly(items: int, exact: bool | None) -> bool:
    """Whether to sum over all subsets: for few items unless `exact` says otherwise; never for too many."""
    if exact and items > MOST_ITEMS:
        raise ConfigError(f"{items} items have too many subsets for exact=True; {MOST_ITEMS} is the most")
    return items <= EXACT_ITEMS if exact is None else exact


@lru_cache(maxsize=MOST_ITEMS + 1)
def masks_by_size(items: int) -> list[NDArray[np.int64]]:
    """Return all subsets as bit masks, grouped by size."""
    masks = np.arange(1 << items, dtype=np.int64)
    size = np.zeros(1 << items, np.int64)
    for item in range(items):
        size += (masks >> item) & 1
    return [masks[size == s] for s in range(items + 1)]


def subset_logsumexp(y: Floats, base: float = -np.inf) -> Floats:
    """Return log(exp(base) + sum of exp(y) over the subset), for every subset."""
    sums = np.array([base])
    for value in y:
        sums = np.concatenate([sums, np.logaddexp(sums, value)])
    return sums


def arrival_log_prob(y: Floats, rest: float, steps: int) -> Floats:
    """Return log P(the first draws are exactly this subset of the items, in any order), for sizes up to `steps`.

    `rest` is the log of the weight of all other items. ``f(D) = sum over i in D of f(D - i) w_i / (left before i)``.
    """
    items = len(y)
    full = (1 << items) - 1
    left = subset_logsumexp(y, rest)  # the weight not yet drawn, by the subset not yet drawn
    value = np.full(1 << items, -np.inf)
    value[0] = 0.0
    for layer in masks_by_size(items)[1 : steps + 1]:
        for item in range(items):
            after = layer[(layer >> item) & 1 == 1]
            before = after ^ (1 << item)
            value[after] = np.logaddexp(value[after], value[before] + y[item] - left[full ^ before])
    return value


def expected_over_prefixes(y: Floats, step: Callable[[Floats], Floats], k: int | None = None) -> float:
    """Return the expectation of the sum, over the draws, of `step(p)` summed over the items still there.

    `p` are the items' probabilities in that draw: a matrix of subsets by items, zero for items already drawn.
    """
    items = len(y)
    full = (1 << items) - 1
    reached = arrival_log_prob(y, -np.inf, items)
    left = subset_logsumexp(y)
    bits = 1 << np.arange(items, dtype=np.int64)
    total = 0.0
    for layer in masks_by_size(items)[: min(items, k or items)]:
        remaining = full ^ layer
        there = (remaining[:, None] & bits) != 0
        p = np.where(there, np.exp(np.where(there, y - left[remaining, None], 0.0)), 0.0)
        total += float(np.exp(reached[layer]) @ step(p).sum(axis=1))
    return total
