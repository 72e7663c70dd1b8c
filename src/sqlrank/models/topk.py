"""The top-n kernels on arrays: who calls them allocates nothing and checks nothing by hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._threads import resolve_threads
from sqlrank.models.lists import ItemLists
from sqlrank.models.ranked import RankedLists

__all__ = ["rank_by_factors", "score_pairs", "select_top"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float32]


def rank_by_factors(
    users: Floats,
    items: Floats,
    n: int,
    *,
    rank: int,
    user_rows: Codes | None = None,
    exclude: ItemLists | None = None,
    candidates: Codes | ItemLists | None = None,
    threads: int | None = None,
) -> RankedLists:
    """The ``n`` items with the largest inner products for every user row.

    Rows are padded with zeros to a multiple of 16 floats. ``candidates`` are ascending codes that hold for
    everybody, or one list per user. Exact: as if all scores were summed in float64 and sorted by score
    descending, then by code ascending.
    """
    count = len(users) if user_rows is None else len(user_rows)
    indptr, indices = exclude if exclude is not None else (None, None)
    workers = resolve_threads(threads)
    if isinstance(candidates, ItemLists):
        longest = int(candidates.lengths.max(initial=0))
        out = _Padded(count, min(n, longest))
        _core.topk_recommend_listed(
            users,
            user_rows,
            items,
            rank,
            candidates.indptr,
            candidates.indices,
            indptr,
            indices,
            *out.arrays,
            threads=workers,
        )
        return out.lists()
    competing = len(items) if candidates is None else len(candidates)
    out = _Padded(count, min(n, competing))
    _core.topk_recommend(
        users, user_rows, items, candidates, rank, indptr, indices, *out.arrays, threads=workers
    )
    return out.lists()


def select_top(
    scores: Floats,
    n: int,
    *,
    exclude: ItemLists | None = None,
    candidates: Codes | None = None,
    threads: int | None = None,
) -> RankedLists:
    """The ``n`` best columns of every row of a block of scores, by the same rule for ties."""
    competing = scores.shape[1] if candidates is None else len(candidates)
    indptr, indices = exclude if exclude is not None else (None, None)
    out = _Padded(len(scores), min(n, competing))
    _core.topk_select(scores, candidates, indptr, indices, *out.arrays, threads=resolve_threads(threads))
    return out.lists()


def score_pairs(
    users: Floats, user_rows: Codes, items: Floats, item_rows: Codes, threads: int | None = None
) -> Floats:
    """The inner product of every pair of rows, summed in float64."""
    out = np.empty(len(user_rows), np.float32)
    _core.topk_score_pairs(users, user_rows, items, item_rows, out, threads=resolve_threads(threads))
    return out


class _Padded:
    """Room for lists of equal width, and how much of it is used."""

    def __init__(self, rows: int, width: int) -> None:
        items = np.empty((rows, width), np.int32)
        self.arrays = (items, np.empty((rows, width), np.float32), np.zeros(rows, np.int32))

    def lists(self) -> RankedLists:
        return RankedLists.from_padded(*self.arrays)
