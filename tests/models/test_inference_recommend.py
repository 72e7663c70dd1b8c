"""What `recommend`, `score` and `similar_*` promise beyond the contract all models share."""

import numpy as np
import polars as pl
import pytest

from sqlrank.data import read
from sqlrank.errors import ConfigError, DataError
from sqlrank.models import ItemLists, RankedLists, scored
from sqlrank.testing import example_events, example_table

from .toy import ToyFactors, ToyScores


@pytest.fixture(scope="module")
def model():
    return ToyFactors(rank=6).fit(example_events(), seed=3)


def test_everybody_when_nobody_is_named(model):
    table = model.recommend(n=2)
    assert table["user"].unique(maintain_order=True).equals(model.users.ids.alias("user"))


def test_a_user_asked_for_twice_is_answered_twice(model):
    once = model.recommend(users=["user 05"], n=3)
    assert model.recommend(users=["user 05", "user 05"], n=3).equals(pl.concat([once, once]))


def test_no_users_no_rows(model):
    table = model.recommend(users=[], n=3)
    assert table.height == 0
    assert table.columns == ["user", "item", "score", "rank"]


def test_nothing_competes(model):
    assert model.recommend(n=3, candidates=[]).height == 0
    assert model.recommend(n=3, exclude=model.items.ids).height == 0
    assert model.recommend(users=["user 01"], candidates={"user 01": []}).height == 0


def test_every_user_needs_an_allow_list(model):
    with pytest.raises(DataError, match="user 'user 02' has no list"):
        model.recommend(users=["user 01", "user 02"], candidates={"user 01": ["item 03"]})


def test_a_bare_string_is_no_list(model):
    with pytest.raises(DataError, match="wrap it in a list"):
        model.recommend(users=["user 01"], exclude={"user 01": "item 03"})


def test_similar_items_by_cosine(model):
    factors = model.item_factors.astype(np.float64)
    cosines = factors @ factors.T / np.outer(np.linalg.norm(factors, axis=1), np.linalg.norm(factors, axis=1))
    table = model.similar_items(["item 04", "item 00"], n=5)
    assert table.columns == ["item", "similar", "score", "rank"]
    for item in ("item 04", "item 00"):
        code = model.items.encode([item])[0]
        order = [j for j in np.argsort(-cosines[code]) if j != code][:5]
        own = table.filter(pl.col("item") == item)
        assert own["similar"].to_list() == model.items.decode(np.array(order)).to_list()
        np.testing.assert_allclose(own["score"], cosines[code, order], rtol=1e-5)
    assert model.similar_users(["user 01"], n=3)["user"].unique().to_list() == ["user 01"]


def test_factors_are_shown_without_padding_and_cannot_be_written(model):
    assert model.user_factors.shape == (len(model.users), 6)
    with pytest.raises(ValueError, match="read-only"):
        model.item_factors[0, 0] = 1
    assert model._item_factors.flags.writeable


def test_histories_of_all_kinds_agree(model):
    table = example_table().filter(pl.col("user").is_in(["user 03", "user 07"]))
    table = table.with_columns("visitor " + pl.col("user"))
    lists = {user: rows["item"].to_list() for (user,), rows in table.group_by("user", maintain_order=True)}
    expected = model.recommend(histories=lists, n=4)
    for histories in (table, read(table, verbose=False), {k: pl.Series(v) for k, v in lists.items()}):
        assert model.recommend(histories=histories, n=4).equals(expected)


def test_later_rating_of_an_item_wins(model):
    first = model.recommend(histories={"x": [("item 01", 5.0), ("item 02", 2.0), ("item 01", 1.0)]}, n=4)
    second = model.recommend(histories={"x": [("item 02", 2.0), ("item 01", 1.0)]}, n=4)
    assert first.equals(second)


def test_ratings_and_plain_items_do_not_mix(model):
    with pytest.raises(DataError, match="mixture"):
        model.recommend(histories={"x": ["item 01", ("item 02", 2.0)]})


def test_a_history_of_unknown_items_leaves_with_its_owner(model):
    histories = {"x": ["nothing"], "y": ["item 03"]}
    table = model.recommend(histories=histories, n=2, on_unknown="ignore")
    assert table["user"].to_list() == ["y", "y"]
    with pytest.warns(UserWarning, match="1 of 2 items of the histories"):
        model.recommend(histories=histories, n=2, on_unknown="warn")


def test_model_without_fold_in_says_so():
    model = ToyScores().fit(example_events())
    with pytest.raises(ConfigError, match="ToyScores cannot recommend for histories"):
        model.recommend(histories={"x": ["item 01"]})


def test_blocks_do_not_change_lists(monkeypatch):
    model = ToyScores().fit(example_events())
    allow = {user: ["item 03", "item 09", "item 20"] for user in model.users.ids}
    expected = [model.recommend(n=5), model.recommend(n=5, candidates=allow)]
    pairs = np.arange(40, dtype=np.int32)[::-1].copy(), np.arange(40, dtype=np.int32) % 25
    scores = model.score_codes(*pairs)
    monkeypatch.setattr(scored, "_BLOCK_FLOATS", 100)
    assert model.recommend(n=5).equals(expected[0])
    assert model.recommend(n=5, candidates=allow).equals(expected[1])
    np.testing.assert_array_equal(model.score_codes(*pairs), scores)
    np.testing.assert_array_equal(scores, model.counts[pairs[1]])


def test_lists_of_codes():
    lists = ItemLists.from_pairs([2, 0, 2, 2], [5, 1, 3, 5], n_rows=3)
    assert [lists.row(r).tolist() for r in range(3)] == [[1], [], [3, 5]]
    taken = lists.take(np.array([2, 2, 1], np.int32))
    assert [taken.row(r).tolist() for r in range(3)] == [[3, 5], [3, 5], []]
    both = lists.union(ItemLists.from_pairs([0, 2], [0, 4], n_rows=3))
    assert [both.row(r).tolist() for r in range(3)] == [[0, 1], [], [3, 4, 5]]
    assert lists.union(None) is lists


def test_ranked_lists():
    ranked = RankedLists.from_padded(
        np.array([[3, 1], [2, 9]], np.int32), np.ones((2, 2), np.float32), np.array([2, 1], np.int32)
    )
    assert ranked.items.tolist() == [3, 1, 2]
    assert ranked.ranks.tolist() == [1, 2, 1]
    joined = RankedLists.concatenate([ranked, ranked])
    assert len(joined) == 4
    assert joined.row(3)[0].tolist() == [2]
    assert len(RankedLists.concatenate([])) == 0


def test_iterators_are_read_once(model):
    users = ["user 01", "nobody"]
    with pytest.raises(DataError, match="'nobody'"):
        model.recommend(users=iter(users))
    with pytest.raises(DataError, match="'nobody'"):
        model.score(iter(users), ["item 01", "item 02"])
    with pytest.raises(DataError, match="'nothing'"):
        model.recommend(users=["user 01"], candidates=iter(["item 03", "nothing"]))
    with pytest.raises(DataError, match="'nothing'"):
        model.similar_items(iter(["nothing"]))
    assert model.recommend(users=iter(users[:1]), n=3).equals(model.recommend(users=users[:1], n=3))


@pytest.mark.parametrize("users", [np.int64(3), 3.5, 3, "user 01"])
def test_a_single_user_is_no_sequence(model, users):
    with pytest.raises(DataError, match=r"users: expected a sequence of ids, got the single value"):
        model.recommend(users=users)


@pytest.mark.parametrize("rating", [np.nan, np.inf, None, "bad", 1e300, 10**400, [1.0]], ids=str)
def test_ratings_of_histories_are_finite_numbers(model, rating):
    with pytest.raises(DataError, match="history of 'ann': the rating of 'item 02' is "):
        model.recommend(histories={"bob": [("item 01", 4)], "ann": [("item 01", 4), ("item 02", rating)]})


def test_ratings_of_interactions_are_finite_numbers(model):
    data = example_events(ratings=True)
    values = data.values.copy()
    values[3] = np.nan
    broken = type(data).from_csr(data.users, data.items, data.indptr, data.indices, values)
    with pytest.raises(DataError, match=r"history of 'user 00': the rating of .* is "):
        model.recommend(histories=broken)


def test_the_later_of_two_equal_rows_of_a_history_counts(model):
    rows = [("x", "item 01", 5.0), ("x", "item 02", 2.0), ("x", "item 01", 1.0)]
    expected = model.recommend(histories={"x": [("item 02", 2.0), ("item 01", 1.0)]}, n=4)
    table = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    for histories in (table, rows):
        assert model.recommend(histories=histories, n=4).equals(expected)
    plain = model.recommend(histories={"x": ["item 01", "item 02"]}, n=4)
    assert model.recommend(histories=table.drop("rating"), n=4).equals(plain)


@pytest.mark.parametrize("what", ["exclude", "candidates"])
def test_lists_under_keys_that_are_no_users_here(what):
    rows = [(user, item) for user in range(4) for item in range(6) if (user + item) % 3]
    model = ToyFactors(rank=3).fit(read(rows, verbose=False))
    with pytest.raises(DataError, match="'0' was asked for"):
        model.recommend(users=[0], **{what: {"0": [3, 0]}})
    with pytest.raises(DataError, match="mixed type"):
        model.recommend(users=[0], **{what: {0: [3], "1": [3]}})
    others = model.recommend(users=[0], **{what: {0: [3], 77: [1]}})
    assert others.equals(model.recommend(users=[0], **{what: {np.int64(0): [3]}}))
    with pytest.warns(UserWarning, match="1 of 1 users of the items to exclude"):
        model.recommend(users=[0], exclude={"0": [3]}, on_unknown="warn")
    ignored = model.recommend(users=[0], exclude={"0": [3]}, on_unknown="ignore")
    assert ignored.equals(model.recommend(users=[0]))
