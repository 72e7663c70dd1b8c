"""From a model, test events and a protocol to what is to be found, user by user, in the model's codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.data.splits.keys import user_keys
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import ConfigError, DataError
from sqlrank.evaluation.histories import FoldedIn
from sqlrank.evaluation.kernels import Codes, TruthRows, contained
from sqlrank.evaluation.protocols import Protocol
from sqlrank.models.base import Recommender
from sqlrank.models.lists import ItemLists

MAX_GRADE = 50.0  # 2^50: the sum of gains stays exact enough in a float64


@dataclass(frozen=True)
class UserCounts:
    """What became of the users of the test.

    evaluated           in the means
    without_relevant    have test events, but none that is relevant and a candidate
    unknown             are not in the model
    not_drawn           left out by the protocol's max_users
    without_history     evaluated although the model saw no training event of theirs
    """

    evaluated: int
    without_relevant: int
    unknown: int
    not_drawn: int
    without_history: int


@dataclass(frozen=True)
class EventCounts:
    """What became of the test's events.

    total               in the test
    seen_in_training    dropped: the protocol masks items seen in training, so they are no candidates
    not_candidates      dropped: not among the protocol's given items
    unknown_items       kept: relevant, but the model cannot recommend them, as it does not know them
    """

    total: int
    seen_in_training: int
    not_candidates: int
    unknown_items: int


@dataclass(frozen=True)
class Task:
    """Everything that an evaluation needs besides the model: row r of `truth` belongs to user `users[r]`.

    Item codes are the model's; below `n_codes` come those of test items that the model does not know.
    """

    users: Codes
    truth: TruthRows
    excluded: ItemLists | None
    candidates: Codes | None
    n_candidates: int
    n_codes: int
    user_counts: UserCounts
    event_counts: EventCounts


def resolve(protocol: Protocol, test: Interactions) -> Protocol:
    """Fit the protocol to the test: without values nothing is graded, and no threshold can be applied."""
    if test.values is not None:
        return protocol
    if protocol.threshold is not None:
        raise ConfigError(
            f"the protocol calls events with value >= {protocol.threshold:g} relevant, but the test has no "
            "values; read it with its rating column, or set threshold=None"
        )
    return replace(protocol, graded=False)


def seen_rows(model: Recommender | FoldedIn, seen: Interactions | Sequence[Interactions] | None) -> ItemLists:
    """Return the items to mask for each user of the model: its own training items, or those of `seen`."""
    if seen is None:
        return model.seen
    parts = [seen] if isinstance(seen, Interactions) else list(seen)
    n_users, n_items = len(model.users), len(model.items)
    rows, columns = [], []
    for part in parts:
        users, items = _map_codes(part.users, model.users), _map_codes(part.items, model.items)
        row, column = users[part.user_codes], items[part.indices]
        known = (row < n_users) & (column < n_items)
        rows.append(row[known])
        columns.append(column[known])
    if not rows:
        return ItemLists.from_pairs([], [], n_users)
    return ItemLists.from_pairs(np.concatenate(rows), np.concatenate(columns), n_users)


def prepare(
    model: Recommender | FoldedIn, test: Interactions, protocol: Protocol, masked: ItemLists, threads: int
) -> Task:
    """Bring the test into the model's codes, drop what is no candidate, and choose the users to evaluate."""
    n_users = len(model.users)
    # Ids that the model does not know get the codes after its own.
    data = test.with_vocabularies(model.users.extended(test.users.ids), model.items.extended(test.items.ids))
    in_test = np.diff(data.indptr) > 0
    data, event_counts = _keep_candidates(data, protocol, masked, (n_users, len(model.items)), threads)
    candidates, n_candidates = _candidates(model.items, data, protocol)
    gains, relevant = _gains(data, protocol)
    findable = np.concatenate([[0], np.cumsum((relevant > 0) | (gains > 0))])
    has_any = findable[data.indptr[1:]] > findable[data.indptr[:-1]]
    able = np.flatnonzero(has_any[:n_users]).astype(np.int32)
    users = _draw(model.users, able, protocol)
    user_counts = UserCounts(
        evaluated=len(users),
        without_relevant=int(np.count_nonzero(in_test[:n_users] & ~has_any[:n_users])),
        unknown=int(np.count_nonzero(in_test[n_users:])),
        not_drawn=len(able) - len(users),
        without_history=int(np.count_nonzero(model.seen.lengths[users] == 0)),
    )
    if len(users) == 0:
        raise DataError(
            f"no user can be evaluated: of the test's, {user_counts.unknown:,} are unknown to the model and "
            f"{user_counts.without_relevant:,} have no relevant candidate item; protocol: {protocol}"
        )
    truth = _rows_of(data, users, gains, relevant)
    excluded = masked if protocol.mask_seen else None
    return Task(users, truth, excluded, candidates, n_candidates, data.n_items, user_counts, event_counts)


def _keep_candidates(
    data: Interactions, protocol: Protocol, masked: ItemLists, known: tuple[int, int], threads: int
) -> tuple[Interactions, EventCounts]:
    n_users, n_items = known
    kept, not_candidates = _drop_items(data, protocol)
    unknown_items = int(np.count_nonzero(kept.indices[: kept.indptr[n_users]] >= n_items))
    seen_in_training = 0
    if protocol.mask_seen:
        kept, seen_in_training = _drop_seen(kept, masked, n_users, threads)
    return kept, EventCounts(len(data), seen_in_training, not_candidates, unknown_items)


def _map_codes(old: Vocabulary, new: Vocabulary) -> Codes:
    """Return the new code of every old one; the length of `new` where it has none."""
    codes, known = new.lookup(old.ids)
    return np.where(known, codes, len(new)).astype(np.int32)


def _drop_items(data: Interactions, protocol: Protocol) -> tuple[Interactions, int]:
    if isinstance(protocol.candidates, str):
        return data, 0
    given = Vocabulary.from_values(list(protocol.candidates))
    keep = given.lookup(data.items.ids)[1][data.indices]
    return data.take(keep), int(np.count_nonzero(~keep))


def _drop_seen(data: Interactions, masked: ItemLists, n_users: int, threads: int) -> tuple[Interactions, int]:
    known = data.indptr[: n_users + 1]
    drop = np.zeros(len(data), np.bool_)
    drop[: known[-1]] = contained(ItemLists(known, data.indices), masked, threads)
    return data.take(~drop), int(np.count_nonzero(drop))


def _gains(data: Interactions, protocol: Protocol) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    relevant = np.ones(len(data), np.uint8)
    if protocol.threshold is not None and data.values is not None:
        relevant = (data.values >= protocol.threshold).astype(np.uint8)
    if not protocol.graded or data.values is None:
        return relevant.astype(np.float64), relevant
    if len(data) and not (data.values.min() >= 0 and data.values.max() <= MAX_GRADE):
        raise DataError(
            f"ndcg gains of 2^value - 1 need values from 0 to {MAX_GRADE:g}, but the test's run from "
            f"{data.values.min():g} to {data.values.max():g}; use a protocol with graded=False, or scale them"
        )
    return np.exp2(data.values.astype(np.float64)) - 1.0, relevant


def _draw(vocabulary: Vocabulary, users: Codes, protocol: Protocol) -> Codes:
    if protocol.max_users is None or len(users) <= protocol.max_users:
        return users
    keys = user_keys(vocabulary, protocol.seed)[users]
    drawn: Codes = np.sort(users[np.argsort(keys, kind="stable")[: protocol.max_users]])
    return drawn


def _candidates(items: Vocabulary, data: Interactions, protocol: Protocol) -> tuple[Codes | None, int]:
    """Return the codes to rank (None: every item of the model) and how many candidates there are."""
    if protocol.candidates == "all":
        return None, len(items)
    if protocol.candidates == "rated":
        return None, len(np.unique(data.indices))
    codes, known = items.lookup(list(protocol.candidates))
    if not known.any():
        items.encode(list(protocol.candidates))  # raises, and names them
    return np.sort(codes[known]), len(protocol.candidates)


def _rows_of(
    data: Interactions, users: Codes, gains: NDArray[np.float64], relevant: NDArray[np.uint8]
) -> TruthRows:
    counts = np.diff(data.indptr)
    chosen = np.zeros(data.n_users, np.bool_)
    chosen[users] = True
    entries = np.repeat(chosen, counts)
    indptr = np.zeros(len(users) + 1, np.int64)
    np.cumsum(counts[users], out=indptr[1:])
    return TruthRows(indptr, data.indices[entries], gains[entries], relevant[entries])
