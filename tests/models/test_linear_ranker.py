"""The linear ranker: it recovers known coefficients, uses real features, and scores what nobody has rated."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from reference import plackett_luce as twin

import sqlrank
from sqlrank import Interactions, LinearRanker
from sqlrank.data import Vocabulary
from sqlrank.models.features import read_features
from sqlrank.testing import ModelContract

from .rivals import two_tastes


class TestFeaturesAlone(ModelContract):
    ratings = True

    def make_model(self):
        return LinearRanker()


class TestBesideFactors(ModelContract):
    def make_model(self):
        return LinearRanker(rank=5, epochs=4)


def full_rankings(n_users, n_items, scores, seed=0):
    """Every user ranks all items by Plackett-Luce: the rating is the place from the end."""
    rng = np.random.default_rng(seed)
    noisy = scores + rng.gumbel(size=(n_users, n_items))
    ranks = np.argsort(np.argsort(noisy, axis=1), axis=1).astype(np.float32) + 1
    return Interactions.from_csr(
        Vocabulary.range(n_users),
        Vocabulary.range(n_items),
        np.arange(n_users + 1, dtype=np.int64) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        ranks.ravel(),
    )


def cosine(a, b):
    return float(np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b))


def test_it_recovers_the_coefficients():
    rng = np.random.default_rng(1)
    z, beta = rng.normal(size=(50, 10)), rng.normal(0, 0.7, 10)
    data = full_rankings(1_000, 50, z @ beta)
    model = LinearRanker(feature_regularization=1e-3).fit(data, item_features=z)
    found = model.coefficients["everybody"].to_numpy()
    assert cosine(found, beta) > 0.999
    np.testing.assert_allclose(found, beta, atol=0.05)
    objective = model.history["objective"].to_numpy()
    assert (np.diff(objective) <= 1e-6 * objective[:-1]).all()


def test_it_recovers_what_users_differ_in():
    rng = np.random.default_rng(2)
    z, a = rng.normal(size=(50, 4)), rng.normal(size=(1_000, 2))
    w = rng.normal(0, 0.6, (3, 4))
    data = full_rankings(1_000, 50, np.concatenate([np.ones((1_000, 1)), a], axis=1) @ w @ z.T)
    model = LinearRanker(feature_regularization=1e-3).fit(data, item_features=z, user_features=a)
    assert cosine(model.coefficients.drop("feature").to_numpy().T, w) > 0.99


def test_the_gradient_equals_differences_of_the_twin():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(6, 3))
    data = full_rankings(4, 6, z @ rng.normal(size=3))
    model = LinearRanker(feature_regularization=0.3, draws=1).fit(data, item_features=z)
    orders = [np.argsort(-data.values[6 * u : 6 * u + 6]) for u in range(4)]

    def objective(w):
        return sum(twin.loss((z @ w)[order], "identity") for order in orders) + 0.15 * (w @ w)

    w = rng.normal(size=3)
    value, gradient = model._problem(0, 1).value_and_gradient(w[None])
    assert value == pytest.approx(objective(w), rel=1e-5)
    steps = 1e-5 * np.eye(3)
    expected = [(objective(w + step) - objective(w - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-4, atol=1e-4)
    solution = model.coefficients["everybody"].to_numpy()
    assert all(objective(solution + 0.05 * rng.normal(size=3)) > objective(solution) for _ in range(30))


@pytest.mark.parametrize("rank", [0, 4])
def test_an_item_nobody_has_rated_is_scored_by_its_features(rank):
    """Item 40 is like the liked ones, item 41 like the others."""
    rng = np.random.default_rng(4)
    kind = np.append(rng.random(40) < 0.5, [True, False])
    indptr = np.arange(61, dtype=np.int64) * 20
    items = np.sort(np.argsort(rng.random((60, 40)), axis=1)[:, :20], axis=1).astype(np.int32)
    values = np.where(kind[items], 4, 2) + rng.integers(0, 2, items.shape)
    data = Interactions.from_csr(
        Vocabulary.range(60), Vocabulary.range(42), indptr, items.ravel(), values.astype(np.float32).ravel()
    )
    table = pl.DataFrame({"item": range(42), "kind": ["good" if k else "bad" for k in kind]})
    model = LinearRanker(rank=rank).fit(data, item_features=table)
    cold_good, cold_bad = (model.score(range(60), [item] * 60) for item in (40, 41))
    assert (cold_good > cold_bad).all()
    top = model.recommend(users=[0], n=1, candidates=[40, 41])
    assert top["item"].to_list() == [40]
    if rank == 0:
        twins = np.flatnonzero(kind[:40])[:1].tolist()
        np.testing.assert_allclose(cold_good, model.score(range(60), twins * 60), rtol=1e-6)


def test_features_of_coat_beat_popularity(data_dir):
    coat = sqlrank.datasets.load("coat", data_dir=data_dir)
    model = LinearRanker(feature_regularization=3.0).fit(
        coat.train, item_features=coat.items, user_features=coat.users, seed=0
    )
    popular = LinearRanker(feedback="implicit").fit(coat.train)
    assert popular.coefficients["everybody"][0] > 0  # so its order is that of popularity
    found, base = (
        sqlrank.evaluate(m, coat.test, metrics=["ndcg@10"], protocol="rated")["ndcg@10"]
        for m in (model, popular)
    )
    assert found > base + 0.01


def test_fold_in_and_partial_fit():
    data = two_tastes(explicit=True)
    parity = (np.arange(40) % 2).astype(np.float32)[:, None]
    model = LinearRanker(rank=4, regularization=0.5).fit(data, item_features=parity, seed=1)
    history = {"new": [(item, 5.0 if item % 2 else 1.0) for item in range(10)]}
    assert (model.recommend(histories=history, n=5)["item"] % 2 == 1).all()
    more = sqlrank.read([("late", 3, 5.0), ("late", 4, 1.0)], verbose=False)
    with pytest.raises(sqlrank.DataError):
        model.partial_fit(more)  # ids of another type
    known = sqlrank.read([(60, 3, 5.0), (60, 4, 1.0)], verbose=False)
    model.partial_fit(known, seed=1)
    assert model.users.ids.to_list()[-1] == 60
    unknown = sqlrank.read([(60, 99, 5.0)], verbose=False)
    with pytest.raises(sqlrank.DataError, match="1 new items"):
        model.partial_fit(unknown)
    model.partial_fit(unknown, item_features=np.append(parity, [[1.0]], axis=0))
    assert 99 in model.items.ids


def test_features_are_read_from_tables_and_matrices():
    ids = Vocabulary.from_values(["a", "b", "c"])
    table = pl.DataFrame(
        {"item": ["c", "x", "a", "b"], "new": [True, True, False, None], "tag": ["u", "v", None, "u"]}
    )
    features = read_features(table, ids, "item")
    assert features.names == ["new", "tag=u", "tag=v"]
    assert features.values.tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert read_features(table.to_pandas(), ids, "item").names == features.names
    matrix = sp.csr_array(np.eye(3))
    np.testing.assert_array_equal(read_features(matrix, ids, "item").values, np.eye(3))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pl.DataFrame({"item": ["a", "b"], "x": [1, 2]}), "1 items have no row"),
        (pl.DataFrame({"item": ["a", "b", "b", "c"], "x": [1, 2, 3, 4]}), "more than one row for 'b'"),
        (pl.DataFrame({"item": ["a", "b", "c"], "x": [1.0, float("nan"), 0]}), "not finite"),
        (pl.DataFrame({"item": ["a", "b", "c"], "x": [[1], [2], [3]]}), "numbers, words or truth values"),
        (np.ones((2, 2)), "one row for each of the 3 items"),
    ],
)
def test_wrong_features_are_refused(source, message):
    with pytest.raises(sqlrank.DataError, match=message):
        read_features(source, Vocabulary.from_values(["a", "b", "c"]), "item")


def test_the_factors_take_the_learning_rate():
    data = two_tastes()
    by_curvature, small, larger = (
        LinearRanker(rank=3, epochs=5, learning_rate=rate).fit(data, seed=1).item_factors
        for rate in ("auto", 1e-6, 1e-3)
    )
    assert not np.array_equal(by_curvature, small)
    assert not np.array_equal(small, larger)
    start = LinearRanker(rank=3, epochs=1, learning_rate=1e-12).fit(data, seed=1).item_factors
    assert np.abs(small - start).max() < np.abs(larger - start).max() / 100


def test_partial_fit_goes_on_from_the_factors_for_as_many_epochs_as_asked_for():
    data = two_tastes()
    model = LinearRanker(rank=3, epochs=24).fit(data, seed=1)
    before = model.item_factors[:, :3].copy()
    known = sqlrank.read([(0, 1)], verbose=False)
    assert model.partial_fit(known, epochs=1).history.height == 1
    after = model.item_factors[:, :3]
    assert 0 < np.abs(after - before).max() < 0.5 * np.abs(before).max()
    assert model.partial_fit(known).history.height == 2  # a twelfth of a full fit


def test_without_factors_the_epochs_of_a_partial_fit_are_iterations():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20, 5))
    data = full_rankings(100, 20, z @ rng.normal(size=5))
    model = LinearRanker().fit(data, item_features=z)
    solved = model.history.height
    assert solved > 2
    rated = sqlrank.read([(0, 1, 3.0)], verbose=False)
    assert model.partial_fit(rated, epochs=1).history.height == 1
    assert model.partial_fit(rated).history.height > 2


@pytest.mark.parametrize("rank", [0, 3])
def test_new_users_of_a_partial_fit_have_their_own_features(rank):
    data = two_tastes(explicit=True)
    taste = (np.arange(len(data.users)) % 2).astype(np.float32)[:, None]
    parity = (np.arange(len(data.items)) % 2).astype(np.float32)[:, None]
    model = LinearRanker(rank=rank, epochs=8).fit(data, item_features=parity, user_features=taste, seed=1)
    new = sqlrank.read([(1000, 3, 5.0), (1000, 4, 1.0)], verbose=False)
    with pytest.raises(sqlrank.DataError, match="1 new users"):
        model.partial_fit(new)
    model.partial_fit(new, user_features=np.append(taste, [[1.0]], axis=0))
    assert len(model.user_factors) == len(data.users) + 1
    own = model.user_factors[-1, rank:]
    np.testing.assert_allclose(own, model.coefficients.drop("feature").to_numpy().sum(axis=1), rtol=1e-5)
