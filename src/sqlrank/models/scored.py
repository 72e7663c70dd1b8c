"""``ScoreModel``: models that score all items for a block of users, by whatever rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank.models.base import Recommender
from sqlrank.models.lists import ItemLists
from sqlrank.models.ranked import RankedLists
from sqlrank.models.requests import Filters, Histories
from sqlrank.models.topk import select_top

__all__ = ["ScoreModel"]

_BLOCK_FLOATS = 1 << 24  # 64 MB of scores at a time, whatever the number of users


class ScoreModel(Recommender):
    """A subclass implements ``_score_block``; lists, filters and ties are handled here, block by block.

    ``_fold_in`` of such a model returns the scores of all items, one row per history. An item with the score NaN or
    -inf is never listed.
    """

    @abstractmethod
    def _score_block(self, users: NDArray[np.int32], threads: int | None) -> NDArray[np.float32]:
        """Scores of all items for these user codes: C-contiguous float32 [len(users), n_items]."""

    def _rank_known(
        self, users: NDArray[np.int32], n: int, filters: Filters, threads: int | None
    ) -> RankedLists:
        parts = []
        for rows in self._blocks(len(users)):
            scores = self._score_block(users[rows], threads)
            parts.append(_select(scores, n, filters, rows, threads))
        return RankedLists.concatenate(parts)

    def _rank_new(self, histories: Histories, n: int, filters: Filters, threads: int | None) -> RankedLists:
        parts = []
        for rows in self._blocks(len(histories.ids)):
            lists = histories.lists.take(np.arange(rows.start, rows.stop, dtype=np.int32))
            span = slice(histories.lists.indptr[rows.start], histories.lists.indptr[rows.stop])
            values = None if histories.values is None else histories.values[span]
            scores = self._folded(Histories(histories.ids[rows], lists, values), threads)
            parts.append(_select(scores, n, filters, rows, threads))
        return RankedLists.concatenate(parts)

    def _score_pairs(
        self, users: NDArray[np.int32], items: NDArray[np.int32], threads: int | None
    ) -> NDArray[np.float32]:
        distinct, where = np.unique(users, return_inverse=True)
        order = np.argsort(where, kind="stable")
        out = np.empty(len(users), np.float32)
        for rows in self._blocks(len(distinct)):
            first, last = np.searchsorted(where[order], [rows.start, rows.stop])
            pairs = order[first:last]
            scores = self._score_block(distinct[rows], threads)
            out[pairs] = scores[where[pairs] - rows.start, items[pairs]]
        return out

    def _blocks(self, rows: int) -> Iterator[slice]:
        size = max(1, _BLOCK_FLOATS // max(1, len(self.items)))
        for begin in range(0, rows, size):
            yield slice(begin, min(rows, begin + size))

    def _state(self) -> dict[str, NDArray[Any]]:
        return {}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        return None


def _select(
    scores: NDArray[np.float32], n: int, filters: Filters, rows: slice, threads: int | None
) -> RankedLists:
    codes = np.arange(rows.start, rows.stop, dtype=np.int32)
    exclude = None if filters.exclude is None else filters.exclude.take(codes)
    if not isinstance(filters.candidates, ItemLists):
        return select_top(scores, n, exclude=exclude, candidates=filters.candidates, threads=threads)
    allowed = filters.candidates.take(codes)
    masked = np.full_like(scores, -np.inf)
    where = allowed.row_numbers, allowed.indices
    masked[where] = scores[where]
    return select_top(masked, n, exclude=exclude, threads=threads)
