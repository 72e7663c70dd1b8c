import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrank.data import Interactions, Vocabulary, read
from sqlrank.errors import ConfigError, DataError

pairs = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
    st.tuples(st.integers(-4, 4), st.integers(0, 99)),
    min_size=1,
)


def build(events) -> Interactions:
    return read(((u, i, v, t) for (u, i), (v, t) in events.items()), verbose=False)


def entries(data: Interactions) -> dict:
    table = data.to_table()
    return {(u, i): (v, t) for u, i, v, t in table.select("user", "item", "value", "timestamp").rows()}


@pytest.fixture
def small() -> Interactions:
    table = {"user": ["b", "a", "b", "c"], "item": [10, 30, 30, 10], "rating": [1.0, 2.0, 3.0, 4.0]}
    return read(table, verbose=False)


def test_layout(small):
    assert small.users.ids.to_list() == ["a", "b", "c"]
    assert small.items.ids.to_list() == [10, 30]
    assert small.indptr.tolist() == [0, 1, 3, 4]
    assert small.indices.tolist() == [1, 0, 1, 0]
    assert small.values.tolist() == [2.0, 1.0, 3.0, 4.0]
    assert small.timestamps is None
    assert (small.n_users, small.n_items, small.shape, len(small)) == (3, 2, (3, 2), 4)
    assert small.density == pytest.approx(4 / 6)
    assert repr(small) == "Interactions(3 users × 2 items, 4 events with values)"
    assert [small.indptr.dtype, small.indices.dtype, small.values.dtype] == ["int64", "int32", "float32"]


def test_arrays_are_read_only_but_the_callers_stay_writable(small):
    for array in (small.indptr, small.indices, small.values, *small.by_item):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        small.indices = small.indices
    mine = np.array([0, 1], np.int64)
    Interactions.from_csr(Vocabulary.range(1), Vocabulary.range(1), mine, np.zeros(1, np.int32))
    mine[0] = 7


def test_from_csr_checks_shapes():
    users, items = Vocabulary.range(2), Vocabulary.range(2)
    for indptr, values in (([0, 1], None), ([0, 1, 3], None), ([1, 1, 2], None), ([0, 1, 2], [1.0])):
        with pytest.raises(DataError):
            Interactions.from_csr(users, items, np.array(indptr), np.array([0, 1], np.int32), values)


@given(pairs)
def test_by_item_is_the_transpose(events):
    data = build(events)
    view = data.by_item
    dense = np.zeros(data.shape)
    dense[data.user_codes, data.indices] = data.timestamps + 1
    for item in range(data.n_items):
        span = slice(view.indptr[item], view.indptr[item + 1])
        users = view.indices[span]
        assert users.tolist() == np.flatnonzero(dense[:, item]).tolist()
        assert (data.timestamps[view.order[span]] + 1).tolist() == dense[users, item].tolist()


@given(pairs, st.randoms())
def test_take_keeps_vocabularies(events, random):
    data = build(events)
    mask = np.array([random.random() < 0.5 for _ in range(len(data))], bool)
    taken = data.take(mask)
    assert taken.users == data.users
    assert taken.items == data.items
    assert taken.to_table().equals(data.to_table().filter(pl.Series(mask)))
    assert taken.report.events == len(taken)


@settings(max_examples=50)
@given(pairs, st.integers(0, 3), st.integers(0, 3))
def test_filter_is_the_k_core(events, min_user, min_item):
    data = build(events).filter(min_user_events=min_user, min_item_events=min_item)
    left = dict(events)
    while True:
        users, items = [u for u, _ in left], [i for _, i in left]
        stay = {
            p: e for p, e in left.items() if users.count(p[0]) >= min_user and items.count(p[1]) >= min_item
        }
        if len(stay) == len(left):
            break
        left = stay
    assert entries(data) == left
    if min_user:
        assert data.users.ids.to_list() == sorted({u for u, _ in left})
    if min_item:
        assert data.items.ids.to_list() == sorted({i for _, i in left})
    assert data.report.events == len(left)


def test_filter_reports_and_chains(small):
    filtered = small.filter(min_item_events=2, min_value=2)
    assert filtered.to_table().rows() == [("a", 30, 2.0), ("b", 30, 3.0)]
    assert [step.rows for step in filtered.report.steps] == [1, 1]
    assert "below 2" in str(filtered.report)
    assert "fewer than 2" in str(filtered.report)
    assert small.filter() == small


def test_binarize(small):
    implicit = small.binarize(3)
    assert implicit.values is None
    assert implicit.users == small.users
    assert implicit.to_table().rows() == [("b", 30), ("c", 10)]
    with pytest.raises(ConfigError, match="needs values"):
        implicit.binarize(1)


@given(pairs, st.permutations(range(12)), st.permutations(range(12)))
def test_with_vocabularies_moves_events(events, users, items):
    data = build(events)
    moved = data.with_vocabularies(Vocabulary(pl.Series(users)), Vocabulary(pl.Series(items)))
    assert entries(moved) == events
    assert moved.shape == (12, 12)
    assert all(
        (np.diff(moved.indices[a:b]) > 0).all() for a, b in zip(moved.indptr, moved.indptr[1:], strict=False)
    )
    assert moved.with_vocabularies(data.users, data.items) == data


def test_with_vocabularies_refuses_to_lose_events(small):
    with pytest.raises(DataError, match=r"1 users have events.*'c'"):
        small.with_vocabularies(Vocabulary.from_values(["a", "b"]), small.items)
    without_c = small.take(small.user_codes < 2)
    assert without_c.with_vocabularies(Vocabulary.from_values(["a", "b"]), small.items).n_users == 2


@given(pairs)
def test_table_and_matrix_round_trips(events):
    data = build(events)
    assert entries(data) == events
    assert read(data.to_table(), verbose=False) == data
    matrix = data.to_scipy()
    matrix.check_format()
    assert matrix.shape == data.shape
    again = read(matrix, user_ids=data.users.ids, item_ids=data.items.ids, verbose=False)
    assert np.array_equal(again.indices, data.indices)
    assert np.array_equal(again.values, data.values)
    assert data.binarize().to_scipy().sum() == len(data)


def test_equality(small):
    assert small == small.take(np.ones(4, bool))
    assert small != small.binarize()
    assert small != small.take(np.array([True, True, True, False]))
    assert small != 3


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.ones(4), [0, 1, 2, 3]])
def test_take_wants_one_boolean_per_event(small, mask):
    with pytest.raises(DataError, match="one boolean per event"):
        small.take(mask)


def test_survives_pickling(small):
    for data in (
        small,
        small.filter(min_item_events=2),
        Interactions.from_csr(small.users, small.items, *EMPTY),
    ):
        again = pickle.loads(pickle.dumps(data))
        assert again == data
        assert again.report == data.report


EMPTY = np.zeros(4, np.int64), np.empty(0, np.int32)


@pytest.mark.parametrize(
    ("indptr", "indices", "said"),
    [
        ([0, 2, 3], [0, 1, 3], "outside the 3 items"),
        ([0, 2, 3], [0, -1, 2], "outside the 3 items"),
        ([0, 2, 3], [1, 1, 2], "row 0 do not rise"),
        ([0, 0, 3], [0, 2, 1], "row 1 do not rise"),
        ([0, 2, 4], [0, 1, 2], "must run from 0 to 3"),
        ([1, 2, 3], [0, 1, 2], "must run from 0 to 3"),
        ([0, 3], [0, 1, 2], "indptr"),
        ([0, 4, 3], [0, 1, 2], "must not fall"),
    ],
)
def test_rows_of_another_layout_are_refused(indptr, indices, said):
    data = read([("a", "x"), ("b", "y"), ("b", "z")], verbose=False)
    arrays = np.array(indptr, np.int64), np.array(indices, np.int32)
    for make in (Interactions, Interactions.from_csr):
        with pytest.raises(DataError, match=said):
            make(data.users, data.items, *arrays)


def test_rows_may_be_empty_anywhere():
    data = read([("a", "x"), ("b", "y"), ("c", "z")], verbose=False)
    for indptr, indices in (([0, 0, 2, 2], [0, 2]), ([0, 1, 1, 2], [2, 0]), ([0, 0, 0, 0], [])):
        arrays = np.array(indptr, np.int64), np.array(indices, np.int32)
        assert len(Interactions.from_csr(data.users, data.items, *arrays)) == len(indices)
