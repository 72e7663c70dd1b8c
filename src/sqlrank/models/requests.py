"""What a caller asks for, in ids, turned into what the kernels take, in codes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data import Interactions, Vocabulary, read
from sqlrank.data.ids import as_ids
from sqlrank.errors import ConfigError, DataError
from sqlrank.models.lists import ItemLists, offsets

__all__ = ["Filters", "Histories", "OnUnknown", "make_filters", "read_histories", "resolve"]

OnUnknown = Literal["raise", "warn", "ignore"]


def resolve(
    vocabulary: Vocabulary, ids: Any, on_unknown: OnUnknown, what: str
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Codes of the ids, and which of them are known; unknown ones raise, warn or pass as asked for."""
    if on_unknown not in get_args(OnUnknown):
        raise ConfigError(f'on_unknown is {on_unknown!r}; it must be "raise", "warn" or "ignore"')
    codes, known = vocabulary.lookup(ids)
    if known.all():
        return codes, known
    if on_unknown == "raise":
        vocabulary.encode(ids)
    if on_unknown == "warn":
        lost = int((~known).sum())
        message = f"{lost} of {len(known)} {what} are unknown to the model and were left out"
        warnings.warn(message, UserWarning, stacklevel=4)
    return codes, known


@dataclass(frozen=True)
class Filters:
    """Which items compete: ``candidates``, for everybody or per user, without those in ``exclude``."""

    candidates: NDArray[np.int32] | ItemLists | None = None
    exclude: ItemLists | None = None


def make_filters(
    users: pl.Series,
    items: Vocabulary,
    seen: ItemLists | None,
    exclude: Any,
    candidates: Any,
    on_unknown: OnUnknown,
) -> Filters:
    """Compose seen items with allow and deny lists, each for everybody or per user."""
    denied = seen
    common: NDArray[np.int32] | ItemLists | None = None
    if isinstance(candidates, Mapping):
        common = _lists_per_user(users, items, candidates, on_unknown, "candidates", complete=True)
    elif candidates is not None:
        common = _common_codes(items, candidates, on_unknown, "candidates")
    if isinstance(exclude, Mapping):
        own = _lists_per_user(users, items, exclude, on_unknown, "items to exclude", complete=False)
        denied = own.union(denied)
    elif exclude is not None:
        common = _without(common, _common_codes(items, exclude, on_unknown, "items to exclude"), len(items))
    return Filters(common, denied)


def _common_codes(items: Vocabulary, ids: Any, on_unknown: OnUnknown, what: str) -> NDArray[np.int32]:
    codes, known = resolve(items, ids, on_unknown, what)
    return np.unique(codes[known])


def _without(
    candidates: NDArray[np.int32] | ItemLists | None, denied: NDArray[np.int32], n_items: int
) -> NDArray[np.int32] | ItemLists:
    # A list denied to everybody costs one pass over the candidates instead of a copy per user.
    if isinstance(candidates, ItemLists):
        keep = ~np.isin(candidates.indices, denied)
        rows = candidates.row_numbers[keep]
        counts = np.bincount(rows, minlength=candidates.n_rows)
        return ItemLists(offsets(counts), candidates.indices[keep])
    if candidates is None:
        candidates = np.arange(n_items, dtype=np.int32)
    return np.setdiff1d(candidates, denied, assume_unique=True)


def _lists_per_user(
    users: pl.Series,
    items: Vocabulary,
    lists: Mapping[Any, Any],
    on_unknown: OnUnknown,
    what: str,
    *,
    complete: bool,
) -> ItemLists:
    rows: list[int] = []
    ids: list[Any] = []
    for row, user in enumerate(users.to_list()):
        own = lists.get(user)
        if own is None:
            if complete:
                raise DataError(f"{what}: user {user!r} has no list; give every requested user one.")
            continue
        own = _plain(own, f"{what} of user {user!r}")
        rows += [row] * len(own)
        ids += own
    codes, known = resolve(items, ids, on_unknown, what)
    return ItemLists.from_pairs(np.asarray(rows, np.int64)[known], codes[known], len(users))


def _plain(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DataError(f"{what}: expected a list of item ids, got {values!r}; wrap it in a list.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


@dataclass(frozen=True)
class Histories:
    """Events of people the model has never seen: one row of ``lists`` per id."""

    ids: pl.Series
    lists: ItemLists
    values: NDArray[np.float32] | None


def read_histories(histories: Any, items: Vocabulary, on_unknown: OnUnknown) -> Histories:
    """From a dict ``{id: [item, …]}`` or ``{id: [(item, rating), …]}``, interactions, or any table."""
    if isinstance(histories, Mapping):
        ids, rows, item_ids, values = _flatten(histories)
    else:
        ids, rows, item_ids, values = _from_interactions(histories)
    codes, known = resolve(items, item_ids, on_unknown, "items of the histories")
    rows, codes = rows[known], codes[known]
    values = None if values is None else values[known]
    # Stable: of an item given twice the later rating wins.
    order = np.lexsort((codes, rows))
    last = np.ones(len(order), np.bool_)
    last[:-1] = (np.diff(rows[order]) != 0) | (np.diff(codes[order]) != 0)
    order = order[last]
    counts = np.bincount(rows[order], minlength=len(ids))
    found = counts > 0
    lists = ItemLists(offsets(counts[found]), codes[order])
    return Histories(ids.filter(pl.Series(found)), lists, None if values is None else values[order])


_Flat = tuple[pl.Series, NDArray[np.int64], Any, NDArray[np.float32] | None]


def _flatten(histories: Mapping[Any, Any]) -> _Flat:
    events: list[Any] = []
    lengths: list[int] = []
    for user, history in histories.items():
        own = _plain(history, f"history of {user!r}")
        if not own:
            raise DataError(f"The history of {user!r} is empty; recommend needs at least one item.")
        events += own
        lengths.append(len(own))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    ids = as_ids(list(histories), "histories")
    rated = [isinstance(event, Sequence) and not isinstance(event, (str, bytes)) for event in events]
    if not any(rated):
        return ids, rows, events, None
    if not all(rated) or any(len(event) != 2 for event in events):
        raise DataError("Histories hold items, or (item, rating) pairs, but not a mixture of both.")
    return ids, rows, [item for item, _ in events], np.asarray([value for _, value in events], np.float32)


def _from_interactions(histories: Any) -> _Flat:
    if not isinstance(histories, Interactions):
        histories = read(histories, verbose=False)
    users = np.flatnonzero(np.diff(histories.indptr))
    rows = np.repeat(np.arange(len(users)), np.diff(histories.indptr)[users])
    items = histories.items.decode(histories.indices)
    return histories.users.decode(users), rows, items, histories.values
