"""The compiled metric kernels, with their arrays allocated and typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.evaluation.names import Metric
from sqlrank.models.lists import ItemLists, offsets

Offsets = NDArray[np.int64]
Codes = NDArray[np.int32]

# The numbers of enum MetricKind in cpp/include/sqlrank/metrics.hpp.
KIND_CODES = {
    "precision": 0,
    "recall": 1,
    "recall_capped": 2,
    "ndcg": 3,
    "map": 4,
    "mrr": 5,
    "hit": 6,
    "novelty": 7,
}


@dataclass(frozen=True)
class TruthRows:
    """What is to be found, user by user: item codes ascending, their gains, and which are relevant."""

    indptr: Offsets
    items: Codes
    gains: NDArray[np.float64]
    relevant: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def block(self, begin: int, end: int) -> TruthRows:
        """Return rows begin .. end - 1 without copying (offsets keep counting from the first row)."""
        return TruthRows(self.indptr[begin : end + 1], self.items, self.gains, self.relevant)


def list_metrics(
    lists: ItemLists,
    truth: TruthRows,
    metrics: Sequence[Metric],
    item_bits: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]:
    """Return metrics[user, metric] of ranked lists; NaN where one is not defined."""
    kinds = np.array([KIND_CODES[metric.kind] for metric in metrics], np.int32)
    cutoffs = np.array([metric.k for metric in metrics], np.int32)
    discounts = 1.0 / np.log2(np.arange(2.0, cutoffs.max() + 2.0))
    out = np.empty((len(truth), len(metrics)))
    _core.list_metrics(
        list_indptr=lists.indptr,
        list_items=lists.indices,
        truth_indptr=truth.indptr,
        truth_items=truth.items,
        gains=truth.gains,
        relevant=truth.relevant,
        kinds=kinds,
        cutoffs=cutoffs,
        discounts=discounts,
        item_bits=item_bits,
        out=out,
        threads=threads,
    )
    return out


def rank_rows(rows: ItemLists, scores: NDArray[np.float32], k: int, threads: int) -> ItemLists:
    """Return the k best items of each row, best first; ties go to the earlier place in the row."""
    indptr = offsets(np.minimum(rows.lengths, k))
    out = np.empty(int(indptr[-1]), np.int32)
    _core.rank_rows(*rows, scores=scores, out_indptr=indptr, out=out, threads=threads)
    return ItemLists(indptr, out)


def row_auc(
    indptr: Offsets,
    scores: NDArray[np.float32],
    excluded: ItemLists,
    truth: TruthRows,
    threads: int,
) -> NDArray[np.float64]:
    """Return the AUC of each row of scores; truth and excluded hold places within the rows."""
    out = np.empty(len(truth))
    _core.row_auc(
        indptr=indptr,
        scores=scores,
        excluded_indptr=excluded.indptr,
        excluded_items=excluded.indices,
        truth_indptr=truth.indptr,
        truth_items=truth.items,
        relevant=truth.relevant,
        out=out,
        threads=threads,
    )
    return out


def contained(rows: ItemLists, others: ItemLists, threads: int) -> NDArray[np.bool_]:
    """Mark the items of each row that are in the same row of `others`; codes ascend within rows of both."""
    out = np.empty(int(rows.indptr[-1] - rows.indptr[0]), np.uint8)
    _core.contained(*rows, *others, out=out, threads=threads)
    return out.view(np.bool_)
