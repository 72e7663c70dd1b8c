"""`evaluate` end to end on a model whose scores are written down, against the definitions on plain lists."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evaluation.fakes import FakeModel, interactions, random_world
from sqlrank.data import Interactions, Vocabulary
from sqlrank.errors import ConfigError, DataError
from sqlrank.evaluation import Protocol, evaluate, metrics, ranking

NAMES = [
    f"{kind}@{k}"
    for kind in ("precision", "recall", "recall_capped", "ndcg", "map", "mrr", "hit", "novelty")
    for k in (1, 5, 10)
]
TOGETHER = ["coverage@5", "gini@5", "coverage@50", "gini@1"]


def rows(data: Interactions, user: int) -> dict[int, float]:
    part = slice(data.indptr[user], data.indptr[user + 1])
    values = np.ones(len(data)) if data.values is None else data.values
    return dict(zip(data.indices[part].tolist(), values[part].tolist(), strict=True))


def by_hand(model: FakeModel, train: Interactions, test: Interactions, rules: Protocol) -> dict[str, Any]:
    """The same evaluation, one user after the other, straight from the definitions."""
    n_items = len(model.items)
    popularity = {i: int(np.sum(train.indices == i)) for i in range(n_items)}
    training_users = int(np.sum(np.diff(train.indptr) > 0))
    lists, per_user = [], {}
    for user in range(len(model.users)):
        found = rows(test, user)
        if rules.candidates == "rated":
            pool = list(found)
        else:
            pool = list(range(n_items)) if rules.candidates == "all" else [int(i) for i in rules.candidates]
        if rules.mask_seen:
            pool = [i for i in pool if i not in rows(train, user)]
        found = {i: value for i, value in found.items() if i in pool}
        relevant = {i for i, value in found.items() if rules.threshold is None or value >= rules.threshold}
        grades = found if rules.graded else dict.fromkeys(relevant, 1.0)
        if not any(grade > 0 for grade in grades.values()):
            continue
        ranked = sorted(pool, key=lambda i: (-model.scores[user, i], i))
        lists.append(ranked)
        functions = {
            "precision": metrics.precision,
            "recall": metrics.recall,
            "recall_capped": metrics.recall_capped,
            "map": metrics.average_precision,
            "mrr": metrics.reciprocal_rank,
            "hit": metrics.hit,
        }
        row = {}
        for name in NAMES:
            kind, _, k = name.partition("@")
            if kind == "ndcg":
                row[name] = metrics.ndcg(ranked, grades, int(k))
            elif kind == "novelty":
                row[name] = metrics.novelty(ranked, popularity, training_users, int(k))
            else:
                row[name] = functions[kind](ranked, relevant, int(k))
        row["auc"] = metrics.auc({i: model.scores[user, i] for i in pool}, relevant)
        per_user[user] = row
    n_candidates = n_items if rules.candidates == "all" else len(rules.candidates)
    if rules.candidates == "rated":
        n_candidates = len(set(test.indices.tolist()))
    together = {}
    for name in TOGETHER:
        kind, _, k = name.partition("@")
        together[name] = getattr(metrics, kind)(lists, int(k), n_candidates)
    return {"per_user": per_user, "together": together}


PROTOCOLS = {
    "all": Protocol.named("all"),
    "unmasked": Protocol(mask_seen=False),
    "threshold": Protocol(threshold=4),
    "graded": Protocol(threshold=4, graded=True),
    "rated": Protocol.named("rated"),
    "paper-explicit": Protocol.named("paper-explicit"),
    "given": Protocol(candidates=[3, 28, 5, 6, 7, 8, 11, 12, 20, 21, 22], graded=True),
}


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("seed", [0, 1])
def test_against_the_definitions(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "USERS_PER_BLOCK", 7)  # many blocks
    monkeypatch.setattr(ranking, "SCORES_PER_BLOCK", 100)
    model, train, test = random_world(seed)
    rules = PROTOCOLS[name]
    want = by_hand(model, train, test, rules)
    result = evaluate(model, test, [*NAMES, "auc", *TOGETHER], rules)
    assert result.per_user["user"].to_list() == list(want["per_user"])
    for metric in [*NAMES, "auc"]:
        column = [row[metric] for row in want["per_user"].values()]
        got = result.per_user[metric].fill_null(math.nan).to_numpy()
        np.testing.assert_allclose(got, column, rtol=1e-12, atol=1e-14, err_msg=metric)
        defined = [value for value in column if value == value]
        want_mean = sum(defined) / len(defined) if defined else math.nan
        assert result[metric] == pytest.approx(want_mean, rel=1e-12, nan_ok=True)
        assert result.summaries[metric].users == len(defined)
    for metric in TOGETHER:
        assert result[metric] == pytest.approx(want["together"][metric], rel=1e-12), metric
    tested = int(np.sum(np.diff(test.indptr) > 0))
    assert result.users.evaluated == len(want["per_user"])
    assert result.users.evaluated + result.users.without_relevant == tested


def test_the_number_of_threads_changes_no_bit() -> None:
    model, _, test = random_world(5, 400, 60)
    one, four = (
        evaluate(model, test, [*NAMES, "auc", *TOGETHER], PROTOCOLS["graded"], threads=threads)
        for threads in (1, 4)
    )
    assert one.per_user.equals(four.per_user)
    assert one.summaries == four.summaries


def test_the_order_of_users_changes_no_bit() -> None:
    model, train, test = random_world(6)
    order = np.random.default_rng(0).permutation(len(model.users))
    users = Vocabulary(model.users.ids.gather(pl.Series(order)))
    turned = FakeModel(train.with_vocabularies(users, train.items), model.scores[order])
    ours = evaluate(model, test, [*NAMES, "auc", *TOGETHER])
    theirs = evaluate(turned, test, [*NAMES, "auc", *TOGETHER])
    assert ours.summaries == theirs.summaries
    assert theirs.per_user.sort("user").equals(ours.per_user)


def test_ids_are_matched_not_codes() -> None:
    """The test's vocabularies need not be the model's: here they are larger, and in another order."""
    train = interactions([("ann", "x"), ("bob", "y"), ("cem", "z")])
    model = FakeModel(train, np.array([[0, 2, 1], [3, 1, 2], [1, 1, 1]]))
    users = Vocabulary(pl.Series(["zoe", "cem", "bob", "ann", "nobody"]))
    items = Vocabulary(pl.Series(["new", "z", "y", "x"]))
    pairs = [("zoe", "x"), ("ann", "y"), ("ann", "new"), ("bob", "new"), ("bob", "z"), ("cem", "x")]
    result = evaluate(
        model, interactions(pairs, None, users, items), ["precision@1", "recall@2", "ndcg@2", "auc"]
    )
    # ann: y, z -> y is found, "new" cannot be. bob: x, z. cem: x, y are tied, so x comes first.
    assert result.per_user.rows() == [
        ("ann", 1.0, 0.5, pytest.approx(1 / (1 + 1 / math.log2(3))), 1.0),
        ("bob", 0.0, 0.5, pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3))), 0.0),
        ("cem", 1.0, 1.0, 1.0, 0.5),
    ]
    assert (result.users.evaluated, result.users.unknown, result.users.without_relevant) == (3, 1, 0)
    assert result.events.unknown_items == 2
    assert "1 unknown to the model" in str(result)
    assert "2 of items unknown to the model (count as missed)" in str(result)


def test_rated_puts_unknown_items_last() -> None:
    train = interactions([("ann", "x"), ("ann", "y")])
    model = FakeModel(train, np.array([[-5.0, -7.0]]))
    test = interactions([("ann", "x"), ("ann", "new"), ("ann", "y")], [1.0, 5.0, 2.0])
    result = evaluate(model, test, ["ndcg@3", "coverage@3", "novelty@3", "auc"], "rated")
    want = (1 / 1 + 3 / math.log2(3) + 31 / 2) / (31 / 1 + 3 / math.log2(3) + 1 / 2)
    assert result["ndcg@3"] == pytest.approx(want)
    assert result["coverage@3"] == 1.0
    assert result["novelty@3"] == 0.0
    assert math.isnan(result["auc"])  # every test item is relevant: no pair to compare
    assert result.summaries["auc"].users == 0


def test_what_was_seen_is_masked_dropped_and_counted() -> None:
    train = interactions(
        [("ann", "a"), ("ann", "b"), ("bob", "a")], None, None, Vocabulary.from_values(list("abcd"))
    )
    model = FakeModel(train, np.array([[9, 8, 7, 6], [9, 8, 7, 6]]))
    test = interactions([("ann", "a"), ("ann", "c"), ("bob", "a")], None, None, train.items)
    masked = evaluate(model, test, ["precision@1", "recall@1"])
    assert masked.per_user.rows() == [("ann", 1.0, 1.0)]
    assert (masked.events.seen_in_training, masked.users.without_relevant) == (2, 1)
    assert "2 dropped, as seen in training" in str(masked)
    free = evaluate(model, test, ["precision@1", "recall@1"], Protocol(mask_seen=False))
    assert free.per_user.rows() == [("ann", 1.0, 0.5), ("bob", 1.0, 1.0)]
    # `seen` takes the place of the training events; several tables are joined, unknown ids do not matter.
    more = interactions([("ann", "c"), ("ann", "c2"), ("zoe", "c")])
    assert evaluate(model, test, ["hit@1"], seen=more).per_user.rows() == [("ann", 1.0), ("bob", 1.0)]
    both = evaluate(model, test, ["hit@1"], seen=[interactions([("ann", "a"), ("ann", "d")]), more])
    assert both.per_user.rows() == [("bob", 1.0)]


def test_given_candidates() -> None:
    train = interactions([("ann", "a"), ("bob", "b")], None, None, Vocabulary.from_values(list("abcde")))
    model = FakeModel(train, np.tile([9.0, 8, 7, 6, 5], (2, 1)))
    test = interactions([("ann", "b"), ("ann", "e"), ("bob", "a")], None, None, train.items)
    result = evaluate(model, test, ["recall@1", "coverage@1", "auc"], Protocol(candidates=["e", "d", "zzz"]))
    assert result.per_user.rows() == [("ann", 0.0, 0.0)]
    assert result["coverage@1"] == pytest.approx(1 / 3)
    assert (result.events.not_candidates, result.users.without_relevant) == (2, 1)
    with pytest.raises(DataError, match="zzz"):
        evaluate(model, test, ["recall@1"], Protocol(candidates=["zzz"], mask_seen=False))


def test_drawn_users_do_not_depend_on_the_others() -> None:
    model, _, test = random_world(8, 300, 20)
    rules = Protocol(max_users=50, seed=3)
    drawn = evaluate(model, test, ["hit@5"], rules)
    assert drawn.users.evaluated == 50
    assert drawn.users.not_drawn == evaluate(model, test, ["hit@5"]).users.evaluated - 50
    assert "not drawn" in str(drawn)
    chosen = set(drawn.per_user["user"])
    dropped = sorted(chosen)[:10]
    fewer = test.take(~np.isin(test.user_codes, dropped))
    assert chosen - set(dropped) <= set(evaluate(model, fewer, ["hit@5"], rules).per_user["user"])
    assert set(evaluate(model, test, ["hit@5"], replace(rules, seed=4)).per_user["user"]) != chosen


def test_result_is_easy_to_use() -> None:
    model, _, test = random_world(0)
    result = evaluate(model, test, "NDCG@10, precision@5, coverage@5", "rated")
    assert result["NDCG@10"] == result["ndcg@10"] == result.as_dict()["ndcg@10"]
    assert list(result) == ["ndcg@10", "precision@5", "coverage@5"] and len(result) == 3
    assert result.per_user.columns == ["user", "ndcg@10", "precision@5"]
    table = result.to_table()
    assert table.columns == ["metric", "value", "standard_error", "users", "protocol"]
    column = result.per_user["ndcg@10"]
    assert table["value"][0] == pytest.approx(column.mean())
    assert table["standard_error"][0] == pytest.approx(column.std() / math.sqrt(len(column)))
    assert table["standard_error"][2] is None
    assert table["protocol"][0].startswith("rated: candidates: the user's own test items")
    text = str(result)
    assert text.splitlines()[0] == f"protocol  rated: {result.protocol}"
    assert f"ndcg@10      {result['ndcg@10']:.4f}" in text
    assert result.metadata["metrics"] == result.as_dict() and result.metadata["seconds"] > 0
    assert result.metadata["protocol"]["graded"] is True
    assert result.metadata["users"]["evaluated"] == result.users.evaluated
    assert "ndcg@10=" in repr(result) and "candidates" in repr(result)
    with pytest.raises(ConfigError, match="was not computed; this result has ndcg@10"):
        result["mrr@3"]


def test_metrics_default_to_the_protocols() -> None:
    model, _, test = random_world(0)
    assert list(evaluate(model, test, protocol="paper-implicit")) == [
        "precision@1",
        "precision@5",
        "precision@10",
    ]


def test_without_values_nothing_is_graded() -> None:
    model, _, test = random_world(0)
    plain = test.binarize()
    result = evaluate(model, plain, ["ndcg@5"], "rated")
    assert "ndcg gain: 1" in str(result) and not result.protocol.graded
    with pytest.raises(ConfigError, match="value >= 4 relevant, but the test has no values"):
        evaluate(model, plain, ["ndcg@5"], Protocol(threshold=4))


def test_refusals() -> None:
    model, _, test = random_world(0)
    counts = Interactions.from_csr(
        test.users, test.items, test.indptr, test.indices, np.full(len(test), 900, np.float32)
    )
    with pytest.raises(DataError, match="run from 900 to 900; use a protocol with graded=False"):
        evaluate(model, counts, ["ndcg@5"], "rated")
    with pytest.raises(DataError, match="no user can be evaluated"):
        evaluate(model, test, ["ndcg@5"], Protocol(threshold=6))
    model.scores[:] = np.nan
    with pytest.raises(DataError, match="not a number"):
        evaluate(model, test, ["ndcg@5"], "rated")
    with pytest.raises(DataError, match="not a number"):
        evaluate(model, test, ["auc"])


def test_strong_generalisation_folds_histories_in() -> None:
    from models.toy import ToyFactors

    from sqlrank.data import splits as split

    rng = np.random.default_rng(4)
    pairs = [
        (f"u{u}", i) for u in range(120) for i in rng.choice(40, size=rng.integers(2, 15), replace=False)
    ]
    held = split.user_holdout(interactions(pairs), 0.3, target=0.4, seed=1)
    model = ToyFactors().fit(held.train.filter())  # the held-out users are unknown, and so may be some items
    names = ["precision@3", "recall@7", "ndcg@7", "coverage@3", "novelty@3"]
    result = evaluate(model, held.target, names, histories=held.fold_in)
    assert result.per_user["user"].to_list() == held.train.users.decode(held.held_out).to_list()
    for row in result.per_user.iter_rows(named=True):
        user = held.train.users.encode([row["user"]])[0]
        history = {row["user"]: held.train.items.decode(list(rows(held.fold_in, user))).to_list()}
        target = set(held.train.items.decode(list(rows(held.target, user))))
        ranked = model.recommend(histories=history, n=7)["item"].to_list()
        assert row["precision@3"] == metrics.precision(ranked, target, 3)
        assert row["recall@7"] == pytest.approx(metrics.recall(ranked, target, 7))
        assert row["ndcg@7"] == pytest.approx(metrics.ndcg(ranked, target, 7))
    given = Protocol(candidates=[1, 2, 3, 5, 8, 13])
    assert evaluate(model, held.target, ["hit@2"], given, histories=held.fold_in)["hit@2"] > 0
    assert (
        evaluate(model, held.target, ["hit@2"], Protocol(mask_seen=False), histories=held.fold_in)["hit@2"]
        > 0
    )
    with pytest.raises(ConfigError, match="leave auc out"):
        evaluate(model, held.target, ["auc"], histories=held.fold_in)
    with pytest.raises(ConfigError, match="seen or histories"):
        evaluate(model, held.target, histories=held.fold_in, seen=held.train)
    with pytest.raises(DataError, match="are unknown to the model"):
        evaluate(model, held.target)
