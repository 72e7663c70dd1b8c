"""The definitions on plain lists: doctests, other libraries' numbers on the same lists, and properties."""

from __future__ import annotations

import doctest
import importlib
import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, Success, nDCG
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from sqlrank.errors import ConfigError
from sqlrank.evaluation import KINDS
from sqlrank.evaluation import metrics as defined

PER_LIST = {
    "precision": defined.precision,
    "recall": defined.recall,
    "recall_capped": defined.recall_capped,
    "ndcg": defined.ndcg,
    "map": defined.average_precision,
    "mrr": defined.reciprocal_rank,
    "hit": defined.hit,
}


@pytest.mark.parametrize("module", ["metrics", "names", "protocols"])
def test_worked_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"sqlrank.evaluation.{module}"))
    assert result.attempted > 0 and result.failed == 0


def test_every_definition_has_a_worked_example() -> None:
    examples = {
        test.name.rpartition(".")[2] for test in doctest.DocTestFinder().find(defined) if test.examples
    }
    assert set(defined.__all__) <= examples
    assert len(defined.__all__) == len(KINDS)


def random_case(seed: int) -> tuple[list[str], dict[str, int]]:
    """A list of 0 to 12 items (often shorter than k) and the grades of 1 to 9 of 20 items."""
    rng = np.random.default_rng(seed)
    names = [f"i{j}" for j in rng.permutation(20)]
    graded = rng.choice(20, size=rng.integers(1, 10), replace=False)
    return names[: rng.integers(0, 13)], {f"i{j}": int(rng.integers(1, 6)) for j in graded}


@pytest.mark.parametrize("k", [1, 3, 10])
def test_against_trec_eval(k: int) -> None:
    """trec_eval (through ir-measures) on 150 lists.

    Its NDCG takes gains as they are: it gets 2^rating - 1. Its AP divides by all relevant items, ours by
    min(k, relevant): the ratio is undone here. It has no capped recall.
    """
    cases = {f"q{seed}": random_case(seed) for seed in range(150)}
    qrels = [
        Qrel(q, item, 2**grade - 1) for q, (_, grades) in cases.items() for item, grade in grades.items()
    ]
    run = [
        ScoredDoc(q, item, -place) for q, (ranked, _) in cases.items() for place, item in enumerate(ranked)
    ]
    theirs = {
        (row.query_id, str(row.measure)): row.value
        for row in ir_measures.iter_calc([P @ k, R @ k, AP @ k, nDCG @ k, RR @ k, Success @ k], qrels, run)
    }
    compared = 0
    for q, (ranked, grades) in cases.items():
        if not ranked:  # trec_eval drops queries without results, we count them as 0
            assert all(f(ranked, grades, k) == 0 for f in PER_LIST.values())
            continue
        relevant = set(grades)
        ap = defined.average_precision(ranked, relevant, k) * min(k, len(relevant)) / len(relevant)
        ours = {
            f"P@{k}": defined.precision(ranked, relevant, k),
            f"R@{k}": defined.recall(ranked, relevant, k),
            f"AP@{k}": ap,
            f"nDCG@{k}": defined.ndcg(ranked, grades, k),
            f"RR@{k}": defined.reciprocal_rank(ranked, relevant, k),
            f"Success@{k}": defined.hit(ranked, relevant, k),
        }
        for name, value in ours.items():
            assert value == pytest.approx(theirs[q, name], abs=1e-12), (q, name)
            compared += 1
    assert compared > 800


def test_against_scikit_learn() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 25))
        scores = rng.permutation(n).astype(float)
        grades = rng.integers(0, 5, n)
        grades[:2] = 0, 3  # at least one of each kind
        ranked = np.argsort(-scores).tolist()
        relevant = set(np.flatnonzero(grades).tolist())
        k = int(rng.integers(1, n + 5))
        gains = 2.0**grades - 1
        by_item = {item: int(grades[item]) for item in relevant}
        assert defined.ndcg(ranked, by_item, k) == pytest.approx(
            ndcg_score([gains], [scores], k=k), abs=1e-12
        )
        assert defined.ndcg(ranked, relevant, k) == pytest.approx(
            ndcg_score([grades > 0], [scores], k=k), abs=1e-12
        )
        assert defined.average_precision(ranked, relevant, n) == pytest.approx(
            average_precision_score(grades > 0, scores), abs=1e-12
        )
        tied = rng.integers(0, 4, n).astype(float)
        assert defined.auc(dict(enumerate(tied)), relevant) == pytest.approx(
            roc_auc_score(grades > 0, tied), abs=1e-12
        )


def test_without_anything_to_find() -> None:
    assert all(math.isnan(f(["a"], set(), 3)) for f in PER_LIST.values())
    assert math.isnan(defined.ndcg(["a"], {"a": 0}, 3))
    assert math.isnan(defined.auc({"a": 1.0}, {"a"})) and math.isnan(defined.auc({"a": 1.0}, {"b"}))
    assert math.isnan(defined.novelty([], {}, 3, 5)) and math.isnan(defined.gini([[]], 3, 5))
    for f in PER_LIST.values():
        with pytest.raises(ConfigError, match="a cut-off is at least 1"):
            f(["a"], {"a"}, 0)


cases = st.tuples(
    st.permutations(list(range(12))), st.sets(st.integers(0, 15), min_size=1), st.integers(1, 15)
)


@given(case=cases, length=st.integers(0, 12))
@settings(max_examples=200, deadline=None)
def test_bounds_and_the_ideal(case: tuple[list[int], set[int], int], length: int) -> None:
    items, relevant, k = case
    for f in PER_LIST.values():
        assert 0 <= f(items[:length], relevant, k) <= 1
    ideal = sorted(relevant) + [item for item in items if item not in relevant]
    for name in ("recall_capped", "ndcg", "map", "mrr", "hit"):
        assert PER_LIST[name](ideal, relevant, k) == 1
    assert defined.precision(ideal, relevant, k) == min(k, len(relevant)) / k
    assert defined.recall(ideal, relevant, k) == min(k, len(relevant)) / len(relevant)


@given(case=cases, place=st.integers(1, 11))
@settings(max_examples=300, deadline=None)
def test_never_falls_when_a_hit_moves_up(case: tuple[list[int], set[int], int], place: int) -> None:
    items, relevant, k = case
    if items[place] not in relevant or items[place - 1] in relevant:
        return
    better = [*items[: place - 1], items[place], items[place - 1], *items[place + 1 :]]
    for name, f in PER_LIST.items():
        before, after = f(items, relevant, k), f(better, relevant, k)
        assert after >= before, name
        if name in ("ndcg", "map") and place < k:
            assert after > before, name
    scores = {item: -float(p) for p, item in enumerate(items)}
    improved = {item: -float(p) for p, item in enumerate(better)}
    assert defined.auc(improved, relevant) > defined.auc(scores, relevant)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=6, unique=True), min_size=1, max_size=8), st.integers(1, 7)
)
@settings(max_examples=200, deadline=None)
def test_metrics_of_all_lists(lists: list[list[int]], k: int) -> None:
    assert 0 <= defined.coverage(lists, k, 10) <= 1
    assert defined.coverage(lists, k, 10) == defined.coverage(lists[::-1], k, 10)
    counts = np.bincount([i for row in lists for i in row[:k]], minlength=10)
    if counts.sum():
        differences = np.abs(counts[:, None] - counts[None, :]).sum()  # the other textbook form of the index
        assert defined.gini(lists, k, 10) == pytest.approx(differences / (2 * 10 * counts.sum()), abs=1e-12)
        assert 0 <= defined.gini(lists, k, 10) <= 0.9
