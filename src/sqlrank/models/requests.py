"""What a caller asks for, in ids, turned into what the kernels take, in codes."""

from __future__ import annotations

import itertools
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

_KEYS_LOOKED_AT = 100  # of a mapping: it may hold lists for millions, and one request is about few


def resolve(
    vocabulary: Vocabulary, ids: Any, on_unknown: OnUnknown, what: str
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Codes of the ids, and which of them are known; unknown ones raise, warn or pass as asked for."""
    if on_unknown not in get_args(OnUnknown):
        raise ConfigError(f'on_unknown is {on_unknown!r}; it must be "raise", "warn" or "ignore"')
    ids = _once(ids, what)
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


def _once(ids: Any, what: str) -> pl.Series:
    # An iterator gives its ids a single time; whoever looks at them twice looks at a column.
    if (
        not isinstance(ids, pl.Series)
        and not hasattr(ids, "__iter__")
        and not hasattr(ids, "__arrow_c_stream__")
    ):
        raise DataError(
            f"{what}: expected a sequence of ids, got the single value {ids!r}; wrap it in a list."
        )
    return as_ids(ids, what)


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
    _check_kind_of_keys(users, lists, on_unknown, what)
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


def _check_kind_of_keys(users: pl.Series, lists: Mapping[Any, Any], on_unknown: OnUnknown, what: str) -> None:
    """Lists of people who were not asked for are fine, keys that no user here can be are not."""
    keys = as_ids(list(itertools.islice(lists, _KEYS_LOOKED_AT)), f"users of the {what}")
    if len(keys) and len(users) and keys.dtype != users.dtype:
        resolve(Vocabulary.trusted(users), keys, on_unknown, f"users of the {what}")


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
    ratings = None if values is None else _ratings(values, ids, rows, item_ids)[known]
    rows, codes = rows[known], codes[known]
    # Stable: of an item given twice the later rating wins.
    order = np.lexsort((codes, rows))
    last = np.ones(len(order), np.bool_)
    last[:-1] = (np.diff(rows[order]) != 0) | (np.diff(codes[order]) != 0)
    order = order[last]
    counts = np.bincount(rows[order], minlength=len(ids))
    found = counts > 0
    lists = ItemLists(offsets(counts[found]), codes[order])
    return Histories(ids.filter(pl.Series(found)), lists, None if ratings is None else ratings[order])


def _ratings(values: Any, ids: pl.Series, rows: NDArray[np.int64], items: Any) -> NDArray[np.float32]:
    """The ratings as numbers; the first that is none, or too large for one, is named with its person and item."""
    numbers = values if isinstance(values, np.ndarray) else np.array([_number(value) for value in values])
    with np.errstate(over="ignore"):
        ratings = numbers.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(ratings))
    if len(bad):
        place = int(bad[0])
        raise DataError(
            f"history of {ids[int(rows[place])]!r}: the rating of {items[place]!r} is {values[place]!r}; it must be a "
            "finite number (up to 3.4e38)."
        )
    return ratings


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


# The people; per event the row of its person, the item and perhaps the rating.
_Flat = tuple[pl.Series, NDArray[np.int64], Any, Any]


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
    return ids, rows, [item for item, _ in events], [value for _, value in events]


def _from_interactions(histories: Any) -> _Flat:
    if not isinstance(histories, Interactions):
        histories = read(histories, duplicates="last", verbose=False)
    users = np.flatnonzero(np.diff(histories.indptr))
    rows = np.repeat(np.arange(len(users)), np.diff(histories.indptr)[users])
    items = histories.items.decode(histories.indices)
    return histories.users.decode(users), rows, items, histories.values
