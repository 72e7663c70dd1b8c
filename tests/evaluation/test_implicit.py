"""The numbers of implicit 0.7.3's own evaluation, from the same lists, and how they differ from ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.fakes import random_world
from sqlrank.evaluation import evaluate

pytest.importorskip("implicit", reason="implicit is not installed (extra 'rivals')")


class AsImplicitModel:
    """Hands our lists to implicit's evaluation through the one method that it calls."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def recommend(
        self, users: NDArray[np.int32], user_items: Any, N: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        exclude = user_items.indptr.astype(np.int64), user_items.indices
        lists = self.model.rank_codes(np.asarray(users), N, exclude=exclude)
        return lists.items.reshape(-1, N), lists.scores.reshape(-1, N)


@pytest.mark.parametrize("k", [1, 5, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_implicits_numbers_from_our_lists(seed: int, k: int) -> None:
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    model, train, test = random_world(seed, 200, 60)
    seen, wanted = (
        csr_matrix((np.ones(len(part)), part.indices.copy(), part.indptr.astype(np.int32)), part.shape)
        for part in (train, test)
    )
    theirs = ranking_metrics_at_k(AsImplicitModel(model), seen, wanted, K=k, show_progress=False)
    ours = evaluate(model, test, [f"{name}@{k}" for name in ("precision", "recall_capped", "map", "ndcg")])
    relevant = np.diff(test.indptr)[np.diff(test.indptr) > 0]
    hits = ours.per_user[f"precision@{k}"].to_numpy() * k

    # implicit's "precision" is no mean of users' precisions: it is all hits of all users over the sum of
    # min(k, relevant items), so that users with few test items do not pull it down. Ours is hits / k, user by
    # user. The two agree for k = 1 only.
    capped = np.minimum(k, relevant)
    assert theirs["precision"] == pytest.approx(hits.sum() / capped.sum(), rel=1e-12)
    assert (theirs["precision"] == pytest.approx(ours[f"precision@{k}"])) == (k == 1)
    # It is the mean of our recall_capped, weighted by min(k, relevant items).
    weighted = np.average(ours.per_user[f"recall_capped@{k}"].to_numpy(), weights=capped)
    assert theirs["precision"] == pytest.approx(weighted, rel=1e-12)

    # MAP (over min(k, relevant)) and binary NDCG are defined alike.
    assert theirs["map"] == pytest.approx(ours[f"map@{k}"], rel=1e-12)
    assert theirs["ndcg"] == pytest.approx(ours[f"ndcg@{k}"], rel=1e-12)

    # Its "auc" sees the top k only: below them it takes every hit and miss to be in random order, and it
    # counts training items as misses. Ours compares all candidate pairs. From the same lists:
    n_items = test.n_items
    areas = []
    users = np.flatnonzero(np.diff(test.indptr)).astype(np.int32)
    lists = AsImplicitModel(model).recommend(users, seen[users], N=k)[0]
    for user, ranked, n_good in zip(users, lists, relevant, strict=True):
        good = np.isin(ranked, test.indices[test.indptr[user] : test.indptr[user + 1]])
        n_bad = n_items - n_good
        won = np.cumsum(good)[~good].sum() + (good.sum() + n_good) / 2 * (n_bad - (~good).sum())
        areas.append(won / (n_good * n_bad))
    assert theirs["auc"] == pytest.approx(np.mean(areas), rel=1e-12)
