"""Every split: exact partitions, the same answer for the same seed, and nothing else that matters."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrank.data import Interactions, Vocabulary
from sqlrank.data import splits as split
from sqlrank.data.layout import compressed_rows
from sqlrank.data.splits import LeakageWarning, UserHoldout
from sqlrank.data.splits.keys import event_keys, share_below, user_keys
from sqlrank.errors import ConfigError, DataError

Rows = list[tuple[Any, Any, int]]


def build(rows: Rows, *, times: bool = False) -> Interactions:
    users = Vocabulary.from_values([row[0] for row in rows])
    items = Vocabulary.from_values([row[1] for row in rows])
    stamps = np.array([row[2] for row in rows], np.int64)
    values = (stamps % 5 + 1).astype(np.float32)
    arrays = compressed_rows(
        users.encode([row[0] for row in rows]),
        items.encode([row[1] for row in rows]),
        values,
        stamps if times else None,
        len(users),
    )
    return Interactions.from_csr(users, items, *arrays)


def grid(users: int, items: int, *, times: bool = False) -> Interactions:
    return build([(u, i, (7 * u + 3 * i) % 101) for u in range(users) for i in range(items)], times=times)


def events(data: Interactions) -> set[tuple[Any, ...]]:
    return set(data.to_table().iter_rows())


def pairs(data: Interactions) -> set[tuple[Any, Any]]:
    return set(data.to_table().select("user", "item").iter_rows())


def assert_partition(whole: Interactions, *parts: Interactions) -> None:
    assert sum(len(part) for part in parts) == len(whole)
    assert set().union(*(events(part) for part in parts)) == events(whole)
    for part in parts:
        assert part.users == whole.users
        assert part.items == whole.items


rows_strategy = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 15), st.integers(0, 9)),
    min_size=1,
    max_size=80,
    unique_by=lambda row: (row[0], row[1]),
)


@given(rows=rows_strategy, seed=st.integers(-(2**70), 2**70))
@settings(max_examples=60, deadline=None)
def test_parts_hold_every_event_once(rows: Rows, seed: int) -> None:
    data = build(rows)
    assert_partition(data, *split.random(data, 0.3, seed=seed))
    assert_partition(data, *split.leave_one_out(data, seed=seed))
    assert_partition(data, *split.per_user(data, 2, seed=seed, min_events=0))
    held = split.user_holdout(data, 0.5, seed=seed)
    assert_partition(data, held.train, held.fold_in, held.target)
    folds = list(split.kfold(data, 3, seed=seed))
    for train, test in folds:
        assert_partition(data, train, test)
    assert_partition(data, *(test for _, test in folds))


@given(rows=rows_strategy, n=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_last_n_takes_the_latest(rows: Rows, n: int) -> None:
    data = build(rows, times=True)
    train, test = split.last_n(data, n)
    assert_partition(data, train, test)
    assert data.timestamps is not None and train.timestamps is not None and test.timestamps is not None
    for user in range(data.n_users):
        count = data.indptr[user + 1] - data.indptr[user]
        early = train.timestamps[train.indptr[user] : train.indptr[user + 1]]
        late = test.timestamps[test.indptr[user] : test.indptr[user + 1]]
        assert len(late) == (n if count > n else 0)
        assert len(late) == 0 or early.max() <= late.min()


@given(rows=rows_strategy, share=st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_by_time_cuts_once(rows: Rows, share: float) -> None:
    data = build(rows, times=True)
    if len({row[2] for row in rows}) == 1:
        with pytest.raises(DataError, match="same timestamp"):
            split.by_time(data, share)
        return
    train, test = split.by_time(data, share)
    assert_partition(data, train, test)
    assert train.timestamps is not None and test.timestamps is not None
    assert train.timestamps.max() < test.timestamps.min()
    # No other cut between two moments comes nearer to the share that was asked for.
    sizes = [sum(row[2] >= cut for row in rows) for cut in sorted({row[2] for row in rows})[1:]]
    wanted = round(share * len(rows))
    assert abs(len(test) - wanted) == min(abs(size - wanted) for size in sizes)


ALL_RANDOM: dict[str, Callable[[Interactions, int], Interactions]] = {
    "random": lambda data, seed: split.random(data, 0.3, seed=seed)[1],
    "per_user": lambda data, seed: split.per_user(data, 3, seed=seed, min_events=0)[1],
    "leave_one_out": lambda data, seed: split.leave_one_out(data, seed=seed)[1],
    "kfold": lambda data, seed: next(split.kfold(data, 3, seed=seed))[1],
    "fold_in": lambda data, seed: split.user_holdout(data, 0.4, seed=seed).fold_in,
    "target": lambda data, seed: split.user_holdout(data, 0.4, seed=seed).target,
}


@pytest.mark.parametrize("name", ALL_RANDOM)
def test_seed_decides_and_row_order_does_not(name: str) -> None:
    rows = [(f"u{u}", f"i{i}", 0) for u in range(20) for i in range(12)]
    shuffled = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    chosen = pairs(ALL_RANDOM[name](build(rows), 5))
    assert chosen == pairs(ALL_RANDOM[name](build(rows), 5))
    assert chosen == pairs(ALL_RANDOM[name](build(shuffled), 5))
    assert chosen != pairs(ALL_RANDOM[name](build(rows), 6))


@pytest.mark.parametrize("name", ALL_RANDOM)
def test_other_users_and_items_do_not_matter(name: str) -> None:
    rows = [(u, i, 0) for u in range(10, 30) for i in range(50, 62)]
    more_users = rows + [(u, i, 0) for u in (1, 2, 99) for i in range(50, 55)]
    small, large = build(rows), build(more_users)
    wider = Interactions.from_csr(
        small.users, Vocabulary.from_values(range(40, 70)), small.indptr, small.indices + np.int32(10)
    )
    mine = pairs(ALL_RANDOM[name](small, 1))
    assert {pair for pair in pairs(ALL_RANDOM[name](large, 1)) if 10 <= pair[0] < 30} == mine
    assert pairs(ALL_RANDOM[name](wider, 1)) == mine


def test_the_same_split_in_every_release() -> None:
    """Published numbers name a seed: the events it selects must not change."""
    data = build([(f"u{u}", i, 0) for u in range(4) for i in range(6)])
    test = split.random(data, 0.3, seed=42)[1]
    assert sorted(pairs(test)) == [
        ("u0", 0),
        ("u0", 1),
        ("u0", 2),
        ("u0", 3),
        ("u2", 0),
        ("u2", 5),
        ("u3", 0),
        ("u3", 4),
        ("u3", 5),
    ]
    assert user_keys(Vocabulary.range(2), 0).tolist() == [11522813437266635283, 12893006240275264307]


def test_shares_are_met_and_keys_are_uniform() -> None:
    data = grid(400, 250)
    keys = event_keys(data, 7)
    assert len(np.unique(keys)) == len(keys)
    for bits in (8, 24, 56):
        histogram = np.bincount(((keys >> np.uint64(64 - bits)) % np.uint64(256)).astype(np.int64))
        expected = len(keys) / 256
        assert ((histogram - expected) ** 2 / expected).sum() < 256 + 6 * np.sqrt(2 * 256)
    for share in (0.01, 0.5, 0.9):
        count = np.count_nonzero(share_below(keys, share))
        assert abs(count - share * len(keys)) < 6 * np.sqrt(len(keys) * share * (1 - share))
    per_user = np.bincount(data.user_codes[share_below(keys, 0.2)], minlength=400)
    assert abs(per_user.var() / (250 * 0.2 * 0.8) - 1) < 0.4  # neither stratified nor clustered by user
    per_item = np.bincount(data.indices[share_below(keys, 0.2)], minlength=250)
    assert abs(per_item.var() / (400 * 0.2 * 0.8) - 1) < 0.5


def test_user_and_item_of_the_same_number_are_not_interchangeable() -> None:
    data = grid(60, 60)
    keys = event_keys(data, 0).reshape(60, 60)
    assert not np.any(keys[np.triu_indices(60, 1)] == keys.T[np.triu_indices(60, 1)])


def test_per_user_is_the_papers_protocol() -> None:
    rows = [(u, i, 0) for u in range(30) for i in range(10 + u)]
    train, test = split.per_user(build(rows), 10, seed=1)
    assert train.users.ids.to_list() == list(range(10, 30))  # at least 10 + 10 events
    assert set(np.diff(train.indptr)) == {10}
    assert np.diff(test.indptr).tolist() == list(range(10, 30))
    assert len(train.items) == len(test.items) == 39
    train, _ = split.per_user(build(rows), 10, seed=1, min_events=30)
    assert train.users.ids.to_list() == list(range(20, 30))
    with pytest.raises(DataError, match="no user has 60 events"):
        split.per_user(build(rows))


def test_user_holdout_parts() -> None:
    rows = [(u, i, i) for u in range(300) for i in range(1 + u % 9)]
    held = split.user_holdout(build(rows, times=True), 0.4, target=0.25, seed=3)
    assert isinstance(held, UserHoldout)
    fold, target, train = (np.diff(part.indptr) for part in (held.fold_in, held.target, held.train))
    users = held.held_out
    assert 0.25 < len(users) / 300 < 0.55
    assert np.array_equal(users, np.flatnonzero(target))
    assert not np.any(train[users])
    counts = (fold + target)[users]
    assert counts.min() >= 2
    assert np.array_equal(target[users], np.clip(np.rint(0.25 * counts), 1, counts - 1))
    assert held.fold_in.timestamps is not None and held.target.timestamps is not None
    for user in users:
        early = held.fold_in.timestamps[held.fold_in.indptr[user] : held.fold_in.indptr[user + 1]]
        late = held.target.timestamps[held.target.indptr[user] : held.target.indptr[user + 1]]
        assert early.max() < late.min()


def test_by_time_at_a_moment() -> None:
    moment = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
    stamp = 1_714_521_600_000_000
    assert pl.Series([moment]).to_physical()[0] == stamp
    data = build([(1, 1, stamp - 1), (1, 2, stamp), (2, 1, stamp + 1)], times=True)
    for at in (moment, moment.replace(tzinfo=None), stamp):
        train, test = split.by_time(data, at=at)
        assert pairs(train) == {(1, 1)} and pairs(test) == {(1, 2), (2, 1)}
    with pytest.raises(DataError, match="leaves one part empty"):
        split.by_time(data, at=0)
    with pytest.raises(ConfigError, match="give a datetime"):
        split.by_time(data, at="2024-05-01")


def test_warns_when_time_is_ignored() -> None:
    timed = grid(12, 12, times=True)
    ignoring: list[Callable[[], object]] = [
        lambda: split.random(timed, 0.3),
        lambda: split.per_user(timed, 2, min_events=0),
        lambda: split.leave_one_out(timed, order="random"),
        lambda: split.kfold(timed, 3),
        lambda: split.user_holdout(timed, 0.5, order="random"),
    ]
    for call in ignoring:
        with pytest.warns(LeakageWarning, match="ignores the timestamps") as caught:
            call()
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split.by_time(timed)
        split.last_n(timed, 2)
        split.leave_one_out(timed)
        split.user_holdout(timed, 0.5)
        split.random(grid(12, 12), 0.3)


def test_second_split_with_the_same_seed_is_refused() -> None:
    """An event keeps its number: the training half of seed 0 holds no event that seed 0 would test."""
    data = grid(100, 50)
    train, _ = split.random(data, 0.1, seed=0)
    with pytest.raises(ConfigError, match="same seed"):
        split.random(train, 0.1, seed=0)
    with pytest.raises(ConfigError, match="same seed"):
        split.kfold(next(split.kfold(data, 4, seed=0))[0], 4, seed=0)
    many = grid(2000, 3)
    with pytest.raises(ConfigError, match="same seed"):
        split.user_holdout(split.user_holdout(many, 0.2).train, 0.2)
    fresh, validation = split.random(train, 0.1, seed=1)
    assert_partition(train, fresh, validation)
    assert abs(len(validation) / len(train) - 0.1) < 0.03


def test_with_validation_carves_the_same_way() -> None:
    data = grid(60, 40, times=True)
    assert_partition(data, *split.with_validation(split.by_time, data, test=0.2))
    with pytest.warns(LeakageWarning):
        parts = split.with_validation(split.random, data, test=0.2, seed=4)
    assert_partition(data, *parts)
    assert abs(len(parts[1]) / (len(parts[0]) + len(parts[1])) - 0.2) < 0.05
    train, validation, test = split.with_validation(split.last_n, data, n=2)
    assert_partition(data, train, validation, test)
    assert set(np.diff(validation.indptr)) == set(np.diff(test.indptr)) == {2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: split.random(data, 1.0), "test is 1.0; give a share"),
        (lambda data: split.random(data, seed="a"), "seed is 'a'"),
        (lambda data: split.kfold(data, 1), "k is 1; give a whole number of at least 2"),
        (lambda data: split.last_n(data, 0), "n is 0"),
        (lambda data: split.per_user(data, -1), "n_train is -1"),
        (lambda data: split.leave_one_out(data, order="newest"), "order is 'newest'"),
        (lambda data: split.user_holdout(data, 0.1, target=0), "target is 0"),
        (lambda data: split.by_time(data), "split.by_time needs timestamps"),
        (lambda data: split.last_n(data), "split.last_n needs timestamps"),
        (lambda data: split.leave_one_out(data, order="time"), "split.leave_one_out needs timestamps"),
    ],
)
def test_messages(call: Callable[[Interactions], object], message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        call(grid(5, 5))
