"""The compiled kernels against their twins, and the same bits for every number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from reference import metrics as twin

from sqlrank import _core
from sqlrank.evaluation.kernels import (
    KIND_CODES,
    TruthRows,
    contained,
    list_metrics,
    rank_rows,
    row_auc,
)
from sqlrank.evaluation.names import Metric
from sqlrank.models import ItemLists

METRICS = [Metric(kind, k) for kind in KIND_CODES for k in (1, 3, 10, 40)]


def ragged(rows: list[list[int]]) -> ItemLists:
    flat = [item for row in rows for item in row]
    return ItemLists(np.cumsum([0, *map(len, rows)]).astype(np.int64), np.array(flat, np.int32))


def random_rows(rng: np.random.Generator, n_rows: int, n_items: int, longest: int) -> list[list[int]]:
    return [
        rng.choice(n_items, size=rng.integers(0, longest + 1), replace=False).tolist() for _ in range(n_rows)
    ]


def random_truth(rng: np.random.Generator, n_rows: int, n_items: int) -> TruthRows:
    indptr, items = ragged([sorted(row) for row in random_rows(rng, n_rows, n_items, 12)])
    relevant = (rng.random(len(items)) < 0.6).astype(np.uint8)
    return TruthRows(indptr, items, np.exp2(rng.integers(0, 6, len(items))) - 1.0, relevant)


@pytest.mark.parametrize("seed", range(4))
def test_list_metrics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = random_rows(rng, 700, 40, 15)
    truth = random_truth(rng, 700, 50)
    bits = rng.random(40)
    want = twin.list_metrics(lists, truth, METRICS, bits)
    got = list_metrics(ragged(lists), truth, METRICS, bits, 1)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)
    for threads in (2, 5):
        assert list_metrics(ragged(lists), truth, METRICS, bits, threads).tobytes() == got.tobytes()
    # A block of rows is the rows of the block.
    indptr, items = ragged(lists)
    part = list_metrics(ItemLists(indptr[300:402], items), truth.block(300, 401), METRICS, bits, 2)
    assert part.tobytes() == got[300:401].tobytes()


def test_the_ideal_order_is_exactly_one() -> None:
    truth = TruthRows(
        np.array([0, 4]), np.arange(4, dtype=np.int32), np.array([31.0, 1.0, 7.0, 7.0]), np.ones(4, np.uint8)
    )
    got = list_metrics(
        ragged([[0, 2, 3, 1]]), truth, [Metric("ndcg", k) for k in range(1, 9)], np.empty(0), 1
    )
    assert got.tolist() == [[1.0] * 8]


@pytest.mark.parametrize("k", [1, 4, 100])
def test_rank_rows(k: int) -> None:
    rng = np.random.default_rng(k)
    rows = ragged([sorted(row) for row in random_rows(rng, 600, 60, 30)])
    indptr, items = rows
    scores = rng.integers(-2, 3, len(items)).astype(np.float32)  # many ties
    scores[rng.random(len(items)) < 0.1] = -np.inf
    got = rank_rows(rows, scores, k, 1)
    assert twin.rows_of(*got) == twin.rank_rows(indptr, items, scores, k)
    assert twin.rows_of(*rank_rows(rows, scores, k, 3)) == twin.rows_of(*got)


def test_row_auc() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 60, 300)
    scores = [rng.integers(0, 8, n).astype(np.float32).tolist() for n in lengths]
    sides = [rng.choice(3, size=n, p=[0.6, 0.2, 0.2]) for n in lengths]
    excluded = [np.flatnonzero(side == 1).tolist() for side in sides]
    good = [np.flatnonzero(side == 2).tolist() for side in sides]
    # An entry beyond the row (an item the model does not know) and one that is not relevant change nothing.
    rows = [[*row, 1000] for row in good]
    others = [np.flatnonzero(side == 0)[:1].tolist() for side in sides]
    merged = [
        sorted((i, True) for i in a) + [(i, False) for i in b] for a, b in zip(rows, others, strict=True)
    ]
    merged = [sorted(row) for row in merged]
    indptr, items = ragged([[i for i, _ in row] for row in merged])
    relevant = np.array([flag for row in merged for _, flag in row], np.uint8)
    truth = TruthRows(indptr, items, np.empty(0), relevant)
    flat = np.array([s for row in scores for s in row], np.float32)
    offsets = np.cumsum([0, *lengths])
    got = row_auc(offsets, flat, ragged(excluded), truth, 1)
    np.testing.assert_array_equal(got, twin.row_auc(scores, excluded, good))
    assert row_auc(offsets, flat, ragged(excluded), truth, 3).tobytes() == got.tobytes()
    assert np.isnan(got).any() and (got > 0.5).any()


def test_contained() -> None:
    rng = np.random.default_rng(1)
    rows = [sorted(row) for row in random_rows(rng, 500, 30, 12)]
    others = [sorted(row) for row in random_rows(rng, 500, 30, 20)]
    for threads in (1, 3):
        got = contained(ragged(rows), ragged(others), threads)
        np.testing.assert_array_equal(got, twin.contained(rows, others))
    indptr, items = ragged(rows)
    other_indptr, other_items = ragged(others)
    block = contained(ItemLists(indptr[100:201], items), ItemLists(other_indptr[100:201], other_items), 2)
    np.testing.assert_array_equal(block, twin.contained(rows[100:200], others[100:200]))


def test_bad_shapes_are_refused() -> None:
    truth = TruthRows(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.ones(1, np.uint8))
    lists = ragged([[5]])
    with pytest.raises(ValueError, match="same number of rows"):
        list_metrics(ragged([[], [5]]), truth, METRICS, np.ones(9), 1)
    with pytest.raises(ValueError, match="end inside the items"):
        list_metrics(ItemLists(np.array([0, 2]), lists.indices), truth, METRICS, np.ones(9), 1)
    with pytest.raises(ValueError, match="must not fall"):
        list_metrics(ItemLists(np.array([1, 0]), lists.indices), truth, METRICS, np.ones(9), 1)
    with pytest.raises(ValueError, match="item_bits must cover"):
        list_metrics(lists, truth, [Metric("novelty", 3)], np.ones(5), 1)
    with pytest.raises(ValueError, match="places in their row"):
        row_auc(np.array([0, 2]), np.zeros(2, np.float32), ragged([[2]]), truth, 1)
    with pytest.raises(ValueError, match="more than a row has"):
        _core.rank_rows(
            indptr=np.array([0, 1]),
            items=np.zeros(1, np.int32),
            scores=np.zeros(1, np.float32),
            out_indptr=np.array([0, 2]),
            out=np.zeros(2, np.int32),
        )
    with pytest.raises(ValueError, match="unknown metric kind"):
        _core.list_metrics(
            list_indptr=lists.indptr,
            list_items=lists.indices,
            truth_indptr=truth.indptr,
            truth_items=truth.items,
            gains=truth.gains,
            relevant=truth.relevant,
            kinds=np.array([8], np.int32),
            cutoffs=np.array([1], np.int32),
            discounts=np.ones(1),
            item_bits=np.ones(9),
            out=np.empty((1, 1)),
        )
