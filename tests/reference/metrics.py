"""Twins of the metric kernels. `list_metrics` leans on the documented definitions, one user at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank.evaluation import metrics as defined
from sqlrank.evaluation.kernels import TruthRows
from sqlrank.evaluation.names import Metric

FUNCTIONS = {
    "precision": defined.precision,
    "recall": defined.recall,
    "recall_capped": defined.recall_capped,
    "map": defined.average_precision,
    "mrr": defined.reciprocal_rank,
    "hit": defined.hit,
}


def rows_of(indptr: NDArray[Any], values: NDArray[Any]) -> list[list[Any]]:
    return [values[a:b].tolist() for a, b in pairwise(indptr)]


def list_metrics(
    lists: list[list[int]], truth: TruthRows, metrics: Sequence[Metric], item_bits: NDArray[np.float64]
) -> NDArray[np.float64]:
    out = np.empty((len(lists), len(metrics)))
    items, gains, relevant = (rows_of(truth.indptr, x) for x in (truth.items, truth.gains, truth.relevant))
    for user, ranked in enumerate(lists):
        good = {i for i, is_relevant in zip(items[user], relevant[user], strict=True) if is_relevant}
        grades = {i: math.log2(gain + 1) for i, gain in zip(items[user], gains[user], strict=True)}
        for m, metric in enumerate(metrics):
            assert metric.k is not None
            if metric.kind == "ndcg":
                out[user, m] = defined.ndcg(ranked, grades, metric.k)
            elif metric.kind == "novelty":
                out[user, m] = np.mean(item_bits[ranked[: metric.k]]) if ranked else math.nan
            else:
                out[user, m] = FUNCTIONS[metric.kind](ranked, good, metric.k)
    return out


def rank_rows(indptr: NDArray[Any], items: NDArray[Any], scores: NDArray[Any], k: int) -> list[list[int]]:
    out = []
    for a, b in pairwise(indptr):
        order = np.lexsort((np.arange(b - a), -scores[a:b]))[:k]
        out.append(items[a:b][order].tolist())
    return out


def row_auc(scores: list[list[float]], excluded: list[list[int]], relevant: list[list[int]]) -> NDArray[Any]:
    out = []
    for row, out_of_play, good in zip(scores, excluded, relevant, strict=True):
        out.append(defined.auc({i: s for i, s in enumerate(row) if i not in out_of_play}, good))
    return np.array(out)


def contained(rows: list[list[int]], others: list[list[int]]) -> NDArray[np.bool_]:
    return np.array([item in other for row, other in zip(rows, others, strict=True) for item in row], bool)
