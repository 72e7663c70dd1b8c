"""Lists and areas under the curve, a block of users at a time: no users x items matrix is ever held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import DataError
from sqlrank.evaluation.histories import FoldedIn
from sqlrank.evaluation.kernels import Codes, TruthRows, rank_rows, row_auc
from sqlrank.evaluation.task import Task
from sqlrank.models.base import Recommender
from sqlrank.models.lists import ItemLists

USERS_PER_BLOCK = 4096
SCORES_PER_BLOCK = 1 << 22  # 16 MB of scores


@dataclass(frozen=True)
class Block:
    """The ranked lists, best item first, of the users begin .. end - 1 of a task."""

    begin: int
    end: int
    lists: ItemLists


def ranked_blocks(
    model: Recommender | FoldedIn, task: Task, k: int, rated: bool, threads: int
) -> Iterator[Block]:
    """Yield the top-k lists of all users of the task."""
    for begin in range(0, len(task.users), USERS_PER_BLOCK):
        end = min(begin + USERS_PER_BLOCK, len(task.users))
        users = task.users[begin:end]
        if rated:
            truth = task.truth.block(begin, end)
            rows, scores = _rated_scores(model, users, truth, threads)
            yield Block(begin, end, rank_rows(rows, scores, k, threads))
        else:
            exclude = None if task.excluded is None else task.excluded.take(users)
            lists = model.rank_codes(users, k, exclude=exclude, candidates=task.candidates, threads=threads)
            yield Block(begin, end, ItemLists(lists.indptr, lists.items))


def auc_of_users(model: Recommender | FoldedIn, task: Task, rated: bool, threads: int) -> NDArray[np.float64]:
    """Return the AUC of every user of the task over all of the user's candidates."""
    n_columns = len(model.items) if task.candidates is None else len(task.candidates)
    size = USERS_PER_BLOCK if rated else max(1, min(USERS_PER_BLOCK, SCORES_PER_BLOCK // max(n_columns, 1)))
    blocks = (range(begin, min(begin + size, len(task.users))) for begin in range(0, len(task.users), size))
    one_block = _rated_auc if rated else _full_auc
    return np.concatenate([one_block(model, task, block, threads) for block in blocks])


def _rated_scores(
    model: Recommender | FoldedIn, users: Codes, truth: TruthRows, threads: int
) -> tuple[ItemLists, NDArray[np.float32]]:
    items = truth.items[truth.indptr[0] : truth.indptr[-1]]
    pair_users = np.repeat(users, np.diff(truth.indptr))
    known = items < len(model.items)
    # An item that the model does not know comes last.
    scores = np.full(len(items), -np.inf, np.float32)
    scores[known] = _checked(model.score_codes(pair_users[known], items[known], threads=threads))
    return ItemLists(truth.indptr - truth.indptr[0], items), scores


def _rated_auc(model: Recommender | FoldedIn, task: Task, block: range, threads: int) -> NDArray[np.float64]:
    truth = task.truth.block(block.start, block.stop)
    rows, scores = _rated_scores(model, task.users[block.start : block.stop], truth, threads)
    places = np.arange(len(scores)) - np.repeat(rows.indptr[:-1], rows.lengths)
    relevant = truth.relevant[truth.indptr[0] : truth.indptr[-1]]
    own = TruthRows(rows.indptr, places.astype(np.int32), np.empty(0), relevant)
    return row_auc(rows.indptr, scores, _no_items(len(own)), own, threads)


def _full_auc(model: Recommender | FoldedIn, task: Task, block: range, threads: int) -> NDArray[np.float64]:
    users, truth = task.users[block.start : block.stop], task.truth.block(block.start, block.stop)
    columns = np.arange(len(model.items), dtype=np.int32) if task.candidates is None else task.candidates
    n = len(columns)
    scores = _checked(model.score_codes(np.repeat(users, n), np.tile(columns, len(users)), threads=threads))
    indptr = np.arange(len(users) + 1, dtype=np.int64) * n
    excluded = _no_items(len(users)) if task.excluded is None else task.excluded.take(users)
    if task.candidates is not None:
        begin, end = truth.indptr[0], truth.indptr[-1]
        found, kept = _places(ItemLists(truth.indptr - begin, truth.items[begin:end]), columns)
        truth = TruthRows(*found, np.empty(0), truth.relevant[begin:end][kept])
        excluded = _places(excluded, columns)[0]
    return row_auc(indptr, scores, excluded, truth, threads)


def _places(rows: ItemLists, columns: Codes) -> tuple[ItemLists, NDArray[np.bool_]]:
    """Return the rows as places in `columns` (ascending codes), and which of their items are there."""
    places = np.searchsorted(columns, rows.indices).astype(np.int32)
    kept = columns[np.minimum(places, len(columns) - 1)] == rows.indices
    return ItemLists(np.concatenate([[0], np.cumsum(kept)])[rows.indptr], places[kept]), kept


def _no_items(n: int) -> ItemLists:
    return ItemLists(np.zeros(n + 1, np.int64), np.empty(0, np.int32))


def _checked(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    if np.isnan(scores).any():
        raise DataError("the model gives scores that are not a number (NaN); it has diverged: fit it anew")
    return scores
