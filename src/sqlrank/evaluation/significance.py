"""Is one model better than another, or was it luck in the choice of users? The paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import ConfigError

__all__ = ["Difference", "paired_bootstrap"]

_CELLS_PER_BLOCK = 1 << 22  # of the resamples x users matrix


@dataclass(frozen=True)
class Difference:
    """The mean difference per user, and the interval that holds it with the given confidence."""

    value: float
    low: float
    high: float
    users: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    differences: NDArray[np.float64], *, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> list[Difference]:
    """Intervals of the means of the columns of `differences`: one row per user, one column per comparison.

    Users are drawn with replacement, as many as there are, `resamples` times; the same draws serve all columns.
    The interval is cut from the distribution of the resampled means (percentiles). NaN: the user has no number in
    this comparison, and counts neither in the sum nor in the number of users.

    What varies is which users the test happened to have; the variation over seeds is another matter.

    >>> paired_bootstrap(np.full((50, 1), 0.25))
    [Difference(value=0.25, low=0.25, high=0.25, users=50)]
    """
    table = np.asarray(differences, np.float64)
    if table.ndim != 2:
        raise ConfigError(f"differences have {table.ndim} dimensions; give one row per user, one column each")
    if resamples < 1 or not 0 < confidence < 1:
        raise ConfigError(f"resamples is {resamples} and confidence {confidence}; give >= 1 and a share")
    known = ~np.isnan(table)
    means = _resampled_means(np.where(known, table, 0.0), known, resamples, seed)
    tail = (1 - confidence) / 2
    return [_difference(table[known[:, c], c], means[:, c], tail) for c in range(table.shape[1])]


def _difference(values: NDArray[np.float64], means: NDArray[np.float64], tail: float) -> Difference:
    drawn = means[~np.isnan(means)]
    if not len(values) or not len(drawn):
        return Difference(np.nan, np.nan, np.nan, len(values))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Difference(float(values.mean()), float(low), float(high), len(values))


def _resampled_means(
    values: NDArray[np.float64], known: NDArray[np.bool_], resamples: int, seed: int
) -> NDArray[np.float64]:
    """One row per resample. Rows are counted first: a resample is then a product of two matrices."""
    n_users, n_columns = values.shape
    if n_users == 0:
        return np.full((resamples, n_columns), np.nan)
    random = np.random.default_rng(seed)
    stacked = np.hstack([values, known.astype(np.float64)])
    block = max(1, _CELLS_PER_BLOCK // n_users)
    parts: list[NDArray[Any]] = []
    for begin in range(0, resamples, block):
        rows = min(block, resamples - begin)
        drawn = random.integers(0, n_users, (rows, n_users))
        drawn += np.arange(rows)[:, None] * n_users
        counts = np.bincount(drawn.ravel(), minlength=rows * n_users).reshape(rows, n_users)
        parts.append(_product(counts.astype(np.float64), stacked))
    sums = np.vstack(parts)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = sums[:, :n_columns] / sums[:, n_columns:]
    return means


def _product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    from sqlrank._blas import single_threaded_blas

    with single_threaded_blas():  # the same bits on any machine's number of threads
        product: NDArray[np.float64] = left @ right
        return product
