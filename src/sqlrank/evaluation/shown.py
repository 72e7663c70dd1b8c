"""How often each item is shown: for the metrics of all lists together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sqlrank.evaluation.names import Metric
from sqlrank.models.lists import ItemLists


class ShownItems:
    """Counts, for each cut-off, of the lists that hold each item; blocks of lists are added as they come.

    Counts are integers, so the order of the blocks does not matter.
    """

    def __init__(self, cutoffs: Iterable[int], n_candidates: int, n_codes: int) -> None:
        self._n_candidates = n_candidates
        self._n_codes = n_codes
        self._counts = {k: np.zeros(n_codes, np.int64) for k in cutoffs}

    def add(self, lists: ItemLists) -> None:
        """Count the items of more lists."""
        if not self._counts:
            return
        places = np.arange(len(lists.indices)) - np.repeat(lists.indptr[:-1], lists.lengths)
        for k, counts in self._counts.items():
            counts += np.bincount(lists.indices[places < k], minlength=self._n_codes)

    def value(self, metric: Metric) -> float:
        """Return coverage@k or gini@k (defined in `sqlrank.evaluation.metrics`)."""
        counts = self._counts[metric.k or 0]
        if metric.kind == "coverage":
            return int(np.count_nonzero(counts)) / self._n_candidates
        return _gini(counts[counts > 0], self._n_candidates)


def _gini(counts: NDArray[np.int64], n: int) -> float:
    """Return the Gini index of n counts of which only the positive ones are given."""
    total = int(counts.sum())
    if total == 0:
        return float("nan")
    places = np.arange(n - len(counts) + 1, n + 1)
    return int(((2 * places - n - 1) * np.sort(counts)).sum()) / (n * total)
