"""The compiled kernels behind Interactions against their NumPy twins, for any number of threads."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrank import _core
from sqlrank.data.layout import Rows, merge_rows, offsets_of, transpose
from tests.reference import interactions as twin

NOTHING = np.empty(0, np.int32)


def encoded(index, batches, threads=2):
    """Codes of the batches, coded beside an idle other side."""
    codes = []
    for batch in batches:
        index.load(batch)
        codes.append(np.empty(len(batch), np.int32))
        _core.encode_batches(index, codes[-1], _core.NumberIndex(0), NOTHING, threads)
    return np.concatenate(codes)


texts = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(texts, min_size=1, max_size=80), min_size=1, max_size=4))
def test_text_index_codes_in_order_of_appearance(batches):
    index = _core.TextIndex(2**31 - 1)
    codes = encoded(index, [pl.Series(batch, dtype=pl.String) for batch in batches])
    everything = [value for batch in batches for value in batch]
    np.testing.assert_array_equal(codes, twin.encode(everything))
    assert pl.Series(index.release()).gather(pl.Series(codes)).to_list() == everything
    assert len(index) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=80), min_size=1, max_size=4))
def test_number_index_codes_in_order_of_appearance(batches):
    index = _core.NumberIndex(2**31 - 1)
    codes = encoded(index, [np.array(batch, np.int64) for batch in batches])
    everything = [value for batch in batches for value in batch]
    np.testing.assert_array_equal(codes, twin.encode(everything))
    ids = np.empty(len(index), np.int64)
    index.copy_to(ids)
    assert ids[codes].tolist() == everything


def test_text_index_grows_and_reads_slices_and_chunks():
    rng = np.random.default_rng(1)
    ids = pl.Series(rng.integers(0, 30_000, 100_000)).cast(pl.String)
    ids = "a rather long prefix " + ids
    ids.append("short" + pl.Series(rng.integers(0, 9, 1000)).cast(pl.String))
    index = _core.TextIndex(2**31 - 1)
    codes = encoded(index, [ids[:7], ids[7:60_000], ids[60_000:]])
    np.testing.assert_array_equal(codes, twin.encode(ids.to_list()))


def test_text_index_refuses_nulls_and_numbers():
    index = _core.TextIndex(10)
    with pytest.raises(ValueError, match="nulls"):
        index.load(pl.Series(["a", None, "b"]))
    with pytest.raises(ValueError, match="string views"):
        index.load(pl.Series([1, 2]))


@pytest.mark.parametrize("batch", [pl.Series(["a", "b", "c"]), np.arange(3)])
def test_index_has_a_limit(batch):
    index = _core.TextIndex(2) if isinstance(batch, pl.Series) else _core.NumberIndex(2)
    with pytest.raises(OverflowError):
        encoded(index, [batch])


def random_events(seed, n, n_users, n_items):
    rng = np.random.default_rng(seed)
    users = rng.integers(0, n_users, n).astype(np.int32)
    items = rng.integers(0, n_items, n).astype(np.int32)
    values = rng.integers(-3, 4, n).astype(np.float32) / 2
    times = rng.integers(0, 3, n) * 10**12
    return users, items, values, times


@pytest.mark.parametrize("ranked", [False, True])
def test_positions_and_scatter(ranked):
    users, items, values, times = random_events(0, 200_000, 1000, 50)
    rng = np.random.default_rng(9)
    rank = rng.permutation(1000).astype(np.int32) if ranked else None
    counts = np.zeros(1000, np.int64)
    _core.count_codes(users, rank, counts)
    places = users.copy()
    _core.positions(places, rank, offsets_of(counts)[:-1].copy())
    expected = twin.positions(users, rank)
    np.testing.assert_array_equal(places.view(np.uint32), expected)
    for threads in (1, 3):
        out = np.empty(200_000, np.int32), np.empty(200_000, np.float32), np.empty(200_000, np.int64)
        _core.scatter_codes(items, expected, rank, out[0], threads)
        _core.scatter_values(values, expected, out[1], threads)
        _core.scatter_times(times, expected, out[2], threads)
        for moved, column in zip(out, (items if rank is None else rank[items], values, times), strict=True):
            np.testing.assert_array_equal(moved[expected], column)


@pytest.mark.parametrize(
    ("policy", "with_values"),
    [("first", False), ("last", False), *((name, True) for name in ("first", "last", "max", "sum", "mean"))],
)
@pytest.mark.parametrize("with_times", [False, True])
@pytest.mark.parametrize(
    ("n", "n_users", "n_items"), [(0, 3, 3), (40, 5, 4), (3000, 40, 30), (3000, 2, 5000)]
)
def test_merge_rows(policy, with_values, with_times, n, n_users, n_items):
    users, items, values, times = random_events(n, n, n_users, n_items)
    values, times = values if with_values else None, times if with_times else None
    expected = twin.merge(users, items, values, times, n_users, policy)
    order = np.argsort(users, kind="stable")
    for threads in (1, 2, 5):
        rows = Rows(
            offsets_of(np.bincount(users, minlength=n_users)),
            items[order],
            None if values is None else values[order],
            None if times is None else times[order],
        )
        merged, extra = merge_rows(rows, policy, threads)
        assert extra == expected[4]
        for got, want in zip(merged, expected, strict=False):
            assert (got is None) == (want is None)
            if want is not None:
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("keep_equal", [False, True])
@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize(("n", "n_users"), [(0, 1), (1, 1), (1, 2), (5000, 300), (200_000, 70_000)])
def test_sort_pairs(n, n_users, ranked, keep_equal):
    users, items, _, _ = random_events(n, n, n_users, 40)
    rng = np.random.default_rng(5)
    ranks = [rng.permutation(size).astype(np.int32) if ranked else None for size in (n_users, 40)]
    pairs = users.astype(np.uint64) << 32 | items.astype(np.uint64)
    if ranked:
        users, items = ranks[0][users], ranks[1][items]
    expected = twin.merge(users, items, None, None, n_users, "last")
    for threads in (1, 3):
        mine, offsets = pairs.copy(), np.empty(n_users + 1, np.int64)
        distinct = _core.sort_pairs(mine, *ranks, keep_equal, offsets, threads)
        assert distinct == n - expected[4]
        codes = mine.view(np.int32)[: offsets[-1]]
        if keep_equal:
            np.testing.assert_array_equal(codes, items[np.lexsort((items, users))])
            np.testing.assert_array_equal(np.diff(offsets), np.bincount(users, minlength=n_users))
        else:
            np.testing.assert_array_equal(codes, expected[1])
            np.testing.assert_array_equal(offsets, expected[0])


@pytest.mark.parametrize(
    ("n", "n_users", "n_items"), [(0, 3, 3), (5, 1, 1), (2000, 60, 40), (900_000, 700, 3)]
)
def test_transpose(n, n_users, n_items):
    users, items, _, _ = random_events(2, n, n_users, n_items)
    order = np.argsort(users, kind="stable")
    indptr, indices = offsets_of(np.bincount(users, minlength=n_users)), items[order]
    for threads in (1, 2, 5):
        for got, want in zip(
            transpose(indptr, indices, n_items, threads),
            twin.transpose(indptr, indices, n_items),
            strict=True,
        ):
            np.testing.assert_array_equal(got, want)
