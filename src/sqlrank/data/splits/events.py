"""Splits that send each event to training or test."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.data.splits.checks import check_count, check_fresh, check_share, timestamps_of, warn_of_leakage
from sqlrank.data.splits.keys import Keys, event_keys, share_below
from sqlrank.errors import ConfigError, DataError

Parts = tuple[Interactions, Interactions]
Order = Literal["auto", "time", "random"]


def by_time(data: Interactions, test: float = 0.1, *, at: int | datetime.datetime | None = None) -> Parts:
    """Cut all events at one moment: what came before trains, the rest tests. This leaks nothing.

    test    share of the latest events; events of the same moment stay together, so the share is met as nearly
            as the timestamps allow
    at      the moment itself instead of a share: a timestamp as the data hold it, or a datetime when the
            column was one (a datetime without zone is UTC); events at that moment or later test
    """
    times = timestamps_of(data, "by_time")
    if len(data) == 0:
        raise DataError("split.by_time needs events, and there are none.")
    cut = _cut_moment(times, check_share(test, "test")) if at is None else _moment(at)
    late = times >= cut
    if late.all() or not late.any():
        raise DataError(
            f"split.by_time at {cut} leaves one part empty: the timestamps run from {times.min()} to "
            f"{times.max()}; use another cut, or split.random."
        )
    return _parts(data, late)


def random(data: Interactions, test: float = 0.1, *, seed: int = 0) -> Parts:
    """Send each event to the test with probability `test`, independently of all others.

    The size of the test part is therefore about, not exactly, `test * len(data)`.
    """
    share = check_share(test, "test")
    warn_of_leakage(data, "random")
    chosen = share_below(event_keys(data, seed), share)
    check_fresh(_two_counts(chosen), share, seed, "random")
    return _parts(data, chosen)


def per_user(data: Interactions, n_train: int = 50, *, seed: int = 0, min_events: int | None = None) -> Parts:
    """Train on `n_train` random events of each user, test on the rest: the protocol of the SQL-Rank paper.

    min_events  users with fewer events leave the data first; None means n_train + 10, as in the paper (60 for
                50, 20 for 10). "More than 60 ratings" is min_events=61.

    Only here the parts' user vocabulary is smaller than the input's; the item vocabulary is the input's.
    """
    n_train = check_count(n_train, "n_train")
    least = check_count(n_train + 10 if min_events is None else min_events, "min_events", 0)
    warn_of_leakage(data, "per_user")
    kept = data.filter(min_user_events=least, min_item_events=0) if least else data
    if kept.n_users == 0:
        raise DataError(f"split.per_user: no user has {least} events; lower n_train or min_events.")
    return _parts(kept, rank_within_users(kept, event_keys(kept, seed)) >= n_train)


def last_n(data: Interactions, n: int = 1) -> Parts:
    """Test on each user's last `n` events; users with `n` or fewer events train only.

    Events of the same moment are ordered by a fixed hash of their ids. Time is respected within each user
    only: one user's training events may be later than another's test events.
    """
    n = check_count(n, "n")
    return _parts(data, _last_in_order(data, n, timestamps_of(data, "last_n"), event_keys(data, 0)))


def leave_one_out(data: Interactions, *, order: Order = "auto", seed: int = 0) -> Parts:
    """Test on one event of each user with two or more.

    order   "time": the last one; "random": any one; "auto": the last one when the events have timestamps
    """
    if choose_order(data, order, "leave_one_out") == "time":
        return last_n(data, 1)
    if order == "random":
        warn_of_leakage(data, "leave_one_out")
    return _parts(data, _last_in_order(data, 1, None, event_keys(data, seed)))


def kfold(data: Interactions, k: int = 5, *, seed: int = 0) -> Iterator[Parts]:
    """Yield k (train, test) pairs; each event tests exactly once, in a fold drawn at random."""
    k = check_count(k, "k", 2)
    warn_of_leakage(data, "kfold")
    # The top 32 bits times k, shifted down: a fold from 0 to k - 1, evenly.
    folds = ((event_keys(data, seed) >> np.uint64(32)) * np.uint64(k)) >> np.uint64(32)
    check_fresh(np.bincount(folds.astype(np.int64), minlength=k), 1 / k, seed, "kfold")
    return (_parts(data, folds == np.uint64(fold)) for fold in range(k))


def choose_order(data: Interactions, order: Order, split: str) -> Literal["time", "random"]:
    """Resolve "auto" to "time" when there are timestamps, else to "random"."""
    if order not in ("auto", "time", "random"):
        raise ConfigError(f"order is {order!r}; it can be 'auto', 'time' or 'random'")
    if order == "time":
        timestamps_of(data, split)
    return "random" if order == "random" or data.timestamps is None else "time"


def rank_within_users(
    data: Interactions, keys: Keys, times: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the place (0 = first) of each event among its user's, by time if given, then by key."""
    by = (keys, data.user_codes) if times is None else (keys, times, data.user_codes)
    order = np.lexsort(by)
    places = np.empty(len(data), np.int64)
    places[order] = np.arange(len(data)) - np.repeat(data.indptr[:-1], np.diff(data.indptr))
    return places


def _last_in_order(
    data: Interactions, n: int, times: NDArray[np.int64] | None, keys: Keys
) -> NDArray[np.bool_]:
    counts = np.diff(data.indptr)
    first_test_place = np.where(counts > n, counts - n, counts)
    last: NDArray[np.bool_] = rank_within_users(data, keys, times) >= np.repeat(first_test_place, counts)
    return last


def _cut_moment(times: NDArray[np.int64], test: float) -> int:
    ordered = np.sort(times)
    wanted = len(ordered) - round(test * len(ordered))
    # Events of one moment go to one side: the cut is the nearest place where the moment changes.
    starts = np.flatnonzero(np.diff(ordered)) + 1
    if len(starts) == 0:
        raise DataError("split.by_time: all events have the same timestamp; use split.random.")
    return int(ordered[starts[np.argmin(np.abs(starts - wanted))]])


def _moment(at: int | datetime.datetime) -> int:
    if isinstance(at, datetime.datetime):
        aware = at if at.tzinfo else at.replace(tzinfo=datetime.UTC)
        return (aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
            microseconds=1
        )
    if isinstance(at, bool) or not isinstance(at, (int, np.integer)):
        raise ConfigError(f"at is {at!r}; give a datetime or a timestamp as the data hold it")
    return int(at)


def _two_counts(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.array([np.count_nonzero(chosen), np.count_nonzero(~chosen)])


def _parts(data: Interactions, test: NDArray[np.bool_]) -> Parts:
    return data.take(~test), data.take(test)
