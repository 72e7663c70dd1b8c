"""The compiled epoch against its NumPy twin, the lists against their definition."""

import numpy as np
import pytest
from reference import plackett_luce as twin

from sqlrank import _core
from sqlrank._arrays import padded_rows
from sqlrank.errors import ConfigError
from sqlrank.losses import PlackettLuce
from sqlrank.training.lists import ListData
from sqlrank.training.trainer import make_engine


def random_data(rng, n_users, n_items, explicit, longest=12):
    lengths = rng.integers(0, min(longest, n_items) + 1, n_users)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = [np.sort(rng.choice(n_items, n, replace=False)) for n in lengths]
    items = np.concatenate([*rows, []]).astype(np.int32)
    values = rng.integers(1, 6, len(items)).astype(np.float32) if explicit else None
    return ListData.from_rows(starts, items, values, n_items, threads=2)


def factors(rng, n, rank, scale=0.5):
    rows = padded_rows(n, rank)
    rows[:, :rank] = rng.normal(0, scale, (n, rank))
    return rows


def lists_of(engine, data, negatives, epoch):
    out = np.empty(engine.entries, np.int32)
    engine.lists(epoch, out, 2)
    counts = np.diff(data.starts)
    if data.levels is None:
        counts = counts + np.minimum(negatives * counts, data.catalogue - counts)
    return np.split(out, np.cumsum(counts)[:-1])


def positives_of(data):
    if data.levels is None:
        return np.diff(data.starts)
    rows = np.split(data.levels, data.starts[1:-1])
    return [int((row > row.min()).sum()) if len(row) else 0 for row in rows]


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("link", ["sigmoid", "identity"])
@pytest.mark.parametrize("k", [1, 5, None, "positives"])
@pytest.mark.parametrize("rank", [1, 7, 16, 100, 130, 257])
def test_an_epoch_equals_the_twin(explicit, link, k, rank):
    rng = np.random.default_rng(rank)
    data = random_data(rng, 23, 40, explicit)
    users, items = factors(rng, 23, rank, 1 / np.sqrt(rank)), factors(rng, 40, rank, 1 / np.sqrt(rank))
    next_users, next_items = np.zeros_like(users), np.zeros_like(items)
    engine = make_engine(data, PlackettLuce(link, k), 2, 5, users.shape[1])
    loss, squared, _ = engine.epoch(users, items, next_users, next_items, 3, 0.1, 0.7, False, 2)
    lists = lists_of(engine, data, 2, 3)
    expected = twin.epoch(users, items, lists, 0.1, 0.7, link, k, positives_of(data))
    np.testing.assert_allclose(next_users, expected[0], atol=2e-5)
    np.testing.assert_allclose(next_items, expected[1], atol=2e-5)
    assert loss == pytest.approx(expected[2], rel=1e-5)
    assert squared == pytest.approx((users**2).sum() + (items**2).sum(), rel=1e-5)


def test_many_blocks_sum_like_one():
    """A catalogue small against the data: the users are cut into several blocks."""
    rng = np.random.default_rng(0)
    n_users, n_items = 30_000, 100
    starts = np.arange(n_users + 1, dtype=np.int64) * 20
    items = np.argsort(rng.random((n_users, n_items)), axis=1)[:, :20]
    data = ListData(starts, np.sort(items, axis=1).astype(np.int32).ravel(), None, n_items)
    users, rows = factors(rng, n_users, 16, 0.1), factors(rng, n_items, 16, 0.1)
    engine = make_engine(data, PlackettLuce(), 3, 1, 16)
    assert engine.entries == n_users * 80 > 2 * 2**20
    next_users, next_rows = np.zeros_like(users), np.zeros_like(rows)
    engine.epoch(users, rows, next_users, next_rows, 0, 0.01, 0.5, False, 2)
    lists = np.concatenate(lists_of(engine, data, 3, 0)).reshape(n_users, 80)
    x = np.einsum("uk,ulk->ul", next_users.astype(np.float64), rows[lists].astype(np.float64))
    g = 1 / (1 + np.exp(-x))
    inverse = 1 / np.cumsum(np.exp(g)[:, ::-1], axis=1)[:, ::-1]
    c = g * (1 - g) * (np.exp(g) * np.cumsum(inverse, axis=1) - 1)
    gradient = 0.5 * rows.astype(np.float64)
    for column in range(16):
        weights = (c * next_users[:, column : column + 1]).ravel()
        gradient[:, column] += np.bincount(lists.ravel(), weights, n_items)
    np.testing.assert_allclose(next_rows, rows - 0.01 * gradient, atol=1e-4)


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("explicit", [True, False])
def test_the_same_bits_for_any_number_of_threads(automatic, explicit):
    rng = np.random.default_rng(2)
    data = random_data(rng, 3_000, 500, explicit, longest=200)
    users, items = factors(rng, 3_000, 20), factors(rng, 500, 20)
    results = []
    for threads in (1, 2, 3, 8):
        engine = make_engine(data, PlackettLuce(), 3, 9, users.shape[1])
        now, after = (users.copy(), items.copy()), (np.zeros_like(users), np.zeros_like(items))
        for epoch in range(3):
            numbers = engine.epoch(*now, *after, epoch, 0.1, 1.0, automatic, threads)
            now, after = after, now
        results.append((now[0].tobytes(), now[1].tobytes(), numbers))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("negatives", [0, 1, 3, 20])
@pytest.mark.parametrize("n_items", [13, 40, 2_000])
def test_implicit_lists(negatives, n_items):
    rng = np.random.default_rng(n_items)
    data = random_data(rng, 50, n_items, explicit=False)
    engine = make_engine(data, PlackettLuce(), negatives, 1, 16)
    first, second = lists_of(engine, data, negatives, 0), lists_of(engine, data, negatives, 1)
    moved = 0
    for user in range(50):
        events = data.items[data.starts[user] : data.starts[user + 1]]
        for drawn in (first[user], second[user]):
            assert sorted(drawn[: len(events)]) == list(events)
            rest = drawn[len(events) :]
            assert len(rest) == min(negatives * len(events), n_items - len(events))
            assert len(set(rest)) == len(rest)
            assert not set(rest) & set(events)
        moved += not np.array_equal(first[user], second[user])
    assert moved > 30
    again = make_engine(data, PlackettLuce(), negatives, 1, 16)
    assert all(np.array_equal(a, b) for a, b in zip(first, lists_of(again, data, negatives, 0), strict=True))


def test_explicit_lists_fall_in_level_and_shuffle_ties():
    rng = np.random.default_rng(4)
    data = random_data(rng, 200, 30, explicit=True)
    engine = make_engine(data, PlackettLuce(), 3, 1, 16)
    stars = {}
    for user in range(200):
        for e in range(data.starts[user], data.starts[user + 1]):
            stars[user, data.items[e]] = data.levels[e]
    changed = 0
    for epoch in (0, 1):
        for user, drawn in enumerate(lists_of(engine, data, 3, epoch)):
            levels = [stars[user, item] for item in drawn]
            assert levels == sorted(levels, reverse=True)
            changed += not np.array_equal(drawn, data.items[data.starts[user] : data.starts[user + 1]])
    assert changed > 100


def test_negatives_are_uniform():
    data = ListData(np.array([0, 2], np.int64), np.array([3, 7], np.int32), None, 40)
    engine = make_engine(data, PlackettLuce(), 4, 1, 16)
    counts, out = np.zeros(40), np.empty(engine.entries, np.int32)
    for epoch in range(9_500):
        engine.lists(epoch, out, 2)
        counts[out[2:]] += 1
    expected = 9_500 * 8 / 38
    unseen = np.delete(counts, [3, 7])
    assert counts[3] == counts[7] == 0
    assert ((unseen - expected) ** 2 / expected).sum() < 75  # 37 degrees of freedom: 1 in 5,000


def test_the_queue_is_uniform():
    data = ListData(np.array([0, 3], np.int64), np.array([0, 1, 2], np.int32), None, 3)
    engine = make_engine(data, PlackettLuce(), 0, 1, 16)
    out, orders = np.empty(3, np.int32), {}
    for epoch in range(6_000):
        engine.lists(epoch, out, 2)
        orders[tuple(out)] = orders.get(tuple(out), 0) + 1
    assert len(orders) == 6
    assert sum((n - 1_000) ** 2 / 1_000 for n in orders.values()) < 25


def test_frozen_ties_draw_new_negatives_all_the_same():
    data = random_data(np.random.default_rng(4), 40, 60, explicit=False)
    engine = make_engine(data, PlackettLuce(), 2, 1, 16, frozen_ties=True)
    first, later = (lists_of(engine, data, 2, epoch) for epoch in (0, 7))
    negatives = 0
    for user, events in enumerate(np.diff(data.starts)):
        np.testing.assert_array_equal(first[user][:events], later[user][:events])
        negatives += not np.array_equal(first[user][events:], later[user][events:])
    assert negatives > 30
    fresh = lists_of(make_engine(data, PlackettLuce(), 2, 1, 16), data, 2, 7)
    assert any(not np.array_equal(a, b) for a, b in zip(fresh, later, strict=True))


def test_lists_do_not_depend_on_the_threads():
    data = random_data(np.random.default_rng(4), 1_000, 60, explicit=False)
    engine = make_engine(data, PlackettLuce(), 2, 1, 16)
    drawn = []
    for threads in (1, 2, 7):
        out = np.empty(engine.entries, np.int32)
        engine.lists(3, out, threads)
        drawn.append(out.tobytes())
    assert drawn[0] == drawn[1] == drawn[2]


@pytest.mark.parametrize(
    ("items", "levels", "said"),
    [
        ([2, 2], None, "each stands once"),
        ([2, 1], None, "each stands once"),
        ([0, 0, 1, 1, 2, 2, 0], None, "each stands once"),  # more events than there are items
        ([2, 1], [1.0, 3.0], "must not rise"),
        ([2, 1], [3.0, np.nan], "must not rise"),
    ],
)
def test_rows_that_would_write_beyond_their_list_are_refused(items, levels, said):
    levels = None if levels is None else np.array(levels, np.float32)
    data = ListData(np.array([0, len(items)], np.int64), np.array(items, np.int32), levels, 3)
    with pytest.raises(ValueError, match=said):
        make_engine(data, PlackettLuce(), 1, 1, 16)


@pytest.mark.parametrize(("k", "positives"), [(-1, -5), (-1, 4), (0, 1), (-3, 1)])
def test_a_list_is_only_looked_at_where_it_is(k, positives):
    arrays = np.ones((3, 3), np.float32)
    with pytest.raises(ValueError, match="must be"):
        _core.list_loss("bpr", k, arrays[0], None, positives, arrays[1], arrays[2])
    if k == -1:
        with pytest.raises(ConfigError, match="positives"):
            PlackettLuce(k="positives").evaluate([0, 1, 2], positives=positives)


def test_wrong_shapes_and_codes_are_refused():
    data = ListData(np.array([0, 1], np.int64), np.array([5], np.int32), None, 3)
    with pytest.raises(ValueError, match="outside the catalogue"):
        make_engine(data, PlackettLuce(), 0, 1, 16)
    with pytest.raises(ValueError, match="unknown loss"):
        _core.list_loss("hinge", -1, np.ones(1, np.float32), None, 1, *np.ones((2, 1), np.float32))
