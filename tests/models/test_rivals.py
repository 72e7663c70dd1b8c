"""Popularity, Random, ItemKNN and EASE: their formulas, written out in NumPy, and what a fit promises."""

import numpy as np
import pytest

import sqlrank
from sqlrank import EASE, ItemKNN, Popularity, Random
from sqlrank.data import Interactions, Vocabulary
from sqlrank.models import ease, item_knn
from sqlrank.models._tiles import inverse_in_place
from sqlrank.training import Callback, EarlyStopping

ONE_STEP = (Popularity, Random, ItemKNN, EASE)


def some_events(n_users=300, n_items=80, seed=0, values=False):
    """Events of users who like neighbouring items; some items are never taken."""
    random = np.random.default_rng(seed)
    centres = random.integers(0, n_items, n_users)[:, None]
    items = (centres + random.integers(0, 12, (n_users, 14))) % n_items // 3 * 2
    table = np.zeros((n_users, n_items), np.float32)
    table[np.arange(n_users)[:, None], items] = random.integers(1, 6, items.shape) if values else 1
    return from_table(table, values)


def from_table(table, values=False):
    rows, items = np.nonzero(table)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(table)))]).astype(np.int64)
    kept = table[rows, items].astype(np.float32) if values else None
    users, catalogue = (Vocabulary.range(n) for n in table.shape)
    return Interactions.from_csr(users, catalogue, indptr, items.astype(np.int32), kept)


def all_scores(model):
    n_users, n_items = len(model.users), len(model.items)
    users, items = np.divmod(np.arange(n_users * n_items), n_items)
    return model.score_codes(users.astype(np.int32), items.astype(np.int32)).reshape(n_users, n_items)


# --- Popularity and Random ---------------------------------------------------------------------------------------


def test_popularity_counts_events():
    data = some_events(values=True)
    model = Popularity().fit(data)
    counts = np.bincount(data.indices, minlength=data.n_items)
    np.testing.assert_array_equal(all_scores(model), np.tile(counts, (data.n_users, 1)))
    new = model.recommend(histories={"new": [0]}, n=5)["item"].to_list()
    assert new == [j for j in np.argsort(-counts, kind="stable") if j != 0][:5]
    model.partial_fit(data.take(data.indices == 4))
    assert all_scores(model)[0, 4] == counts[4], "an event seen before counts once"


def test_random_depends_on_seed_and_codes_alone():
    data, wider = some_events(), some_events(n_users=900, n_items=200, seed=3)
    first, same = all_scores(Random().fit(data, seed=1)), all_scores(Random().fit(wider, seed=1))
    np.testing.assert_array_equal(first, same[: data.n_users, : data.n_items])
    assert not np.array_equal(first, all_scores(Random().fit(data, seed=2)))
    assert (first >= 0).all()
    assert (first < 1).all()
    # Uniform, and no two users alike.
    assert abs(first.mean() - 0.5) < 0.01
    assert np.abs(np.corrcoef(first[:50])[np.triu_indices(50, 1)]).max() < 0.6


def test_random_keeps_its_order_when_events_are_added():
    data = some_events()
    model = Random().fit(data, seed=5)
    before = all_scores(model)
    model.partial_fit(sqlrank.read([(1000, 1), (3, 999)], verbose=False))
    np.testing.assert_array_equal(all_scores(model)[:-1, :-1], before)


# --- ItemKNN -----------------------------------------------------------------------------------------------------


def knn_scores(table, neighbours, shrinkage):
    """The definition, item by item."""
    table = table.astype(np.float64)
    lengths = np.sqrt((table**2).sum(axis=0))
    n_items = table.shape[1]
    kept = np.zeros((n_items, n_items))
    for i in range(n_items):
        dots = table[:, i] @ table
        similar = np.divide(
            dots, lengths[i] * lengths + shrinkage, out=np.zeros(n_items), where=dots > 0
        ).astype(np.float32)
        similar[i] = 0
        nearest = np.argsort(-similar, kind="stable")[:neighbours]
        kept[i, nearest] = np.maximum(similar[nearest], 0)
    return table @ kept


@pytest.mark.parametrize("weights", ["ones", "values"])
@pytest.mark.parametrize(("neighbours", "shrinkage"), [(5, 0.0), (1, 3.0), (1000, 20.0)])
def test_item_knn_is_its_definition(weights, neighbours, shrinkage, monkeypatch):
    monkeypatch.setattr(item_knn, "_CELLS_PER_BLOCK", 500)  # several blocks
    data = some_events(values=True)
    model = ItemKNN(neighbours=neighbours, shrinkage=shrinkage, weights=weights).fit(data)
    table = data.to_scipy().toarray()
    expected = knn_scores(table if weights == "values" else table > 0, neighbours, shrinkage)
    np.testing.assert_allclose(all_scores(model), expected, rtol=1e-5, atol=1e-6)


def test_item_knn_breaks_ties_by_code():
    # Items 1, 2, 3 are taken by the same people as item 0.
    model = ItemKNN(neighbours=2, shrinkage=0).fit(from_table(np.ones((4, 4))))
    assert [model._neighbours.row(item).tolist() for item in range(4)] == [[1, 2], [0, 2], [0, 1], [0, 1]]


def test_item_knn_of_opposed_values():
    """Only positive similarities make neighbours."""
    data = from_table(np.array([[1.0, -1.0], [2.0, -2.0], [1.0, 0.0]]), values=True)
    assert len(ItemKNN(weights="values").fit(data)._similarities) == 0


def test_item_knn_of_values_that_are_zero():
    data = some_events(values=True)
    zeroed = np.where(data.indices == 4, np.float32(0), data.values)
    with_zeros = Interactions.from_csr(data.users, data.items, data.indptr, data.indices, zeroed)
    model = ItemKNN(shrinkage=0.0, weights="values").fit(with_zeros)
    assert len(model._neighbours.row(4)) == 0
    np.testing.assert_array_equal(with_zeros.values, zeroed)
    expected = knn_scores(with_zeros.to_scipy().toarray(), 100, 0.0)
    np.testing.assert_allclose(all_scores(model), expected, rtol=1e-5, atol=1e-6)


def test_item_knn_of_many_items():
    random = np.random.default_rng(0)
    n_users, n_items = 2_000, 10_000
    indices = np.sort(random.integers(0, n_items // 20, (n_users, 20)) * 20 + np.arange(20), axis=1)
    indptr = np.arange(n_users + 1, dtype=np.int64) * 20
    data = Interactions.from_csr(
        Vocabulary.range(n_users), Vocabulary.range(n_items), indptr, indices.ravel().astype(np.int32)
    )
    model = ItemKNN(neighbours=10).fit(data)
    assert model._neighbours.lengths.max() == 10
    assert len(model.recommend(users=[7], n=5)) == 5


# --- EASE --------------------------------------------------------------------------------------------------------


def ease_coefficients(table, regularization):
    """Steck's closed form."""
    inverse = np.linalg.inv(table.T.astype(np.float64) @ table + regularization * np.eye(table.shape[1]))
    coefficients = -inverse / np.diag(inverse)
    np.fill_diagonal(coefficients, 0)
    return coefficients


@pytest.mark.parametrize("tile", [7, 80, 512])
@pytest.mark.parametrize("weights", ["ones", "values"])
def test_ease_is_the_closed_form(tile, weights, monkeypatch):
    monkeypatch.setattr(ease, "TILE", tile)
    data = some_events(values=True)
    table = data.to_scipy().toarray()
    table = table if weights == "values" else (table > 0).astype(np.float32)
    model = EASE(regularization=30, weights=weights).fit(data)
    expected = ease_coefficients(table, 30)
    np.testing.assert_allclose(model.coefficients, expected, atol=2e-6)
    np.testing.assert_allclose(all_scores(model), table @ expected, atol=1e-4)


def test_ease_minimises_the_regularized_error():
    data = some_events()
    table = data.to_scipy().toarray().astype(np.float64)
    model = EASE(regularization=30).fit(data)
    coefficients = model.coefficients.astype(np.float64)
    gradient = table.T @ (table @ coefficients - table) + 30 * coefficients
    np.fill_diagonal(gradient, 0)
    assert np.abs(gradient).max() < 1e-4 * np.abs(table.T @ table).max()


def test_ease_solves_in_float64_where_float32_would_not_do():
    data = some_events()
    table = data.to_scipy().toarray()
    expected = ease_coefficients(table, 1e-4)
    np.testing.assert_allclose(EASE(regularization=1e-4).fit(data).coefficients, expected, atol=1e-5)


def test_ease_says_when_regularization_is_too_small():
    twins = np.ones((4, 4)) * 1e6
    with pytest.raises(sqlrank.ConfigError, match="regularization is 1e-12, too small"):
        EASE(regularization=1e-12, weights="values").fit(from_table(twins, values=True))


def test_ease_refuses_large_catalogues():
    data = Interactions.from_csr(
        Vocabulary.range(1), Vocabulary.range(20_001), np.array([0, 1]), np.zeros(1, np.int32)
    )
    model = EASE()
    with pytest.raises(sqlrank.ConfigError, match="20,001: use ItemKNN"):
        model.fit(data)
    assert not model.is_fitted


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_inverse_by_tiles(threads):
    random = np.random.default_rng(0)
    half = random.normal(size=(40, 30))
    matrix = half.T @ half + 0.1 * np.eye(30)
    starts = range(0, 30, 7)
    tiles = [[matrix[i : i + 7, j : j + 7].copy() for j in starts if j <= i] for i in starts]
    inverse_in_place(tiles, threads)
    for i, row in zip(starts, tiles, strict=True):
        for j, tile in zip(starts, row, strict=False):
            np.testing.assert_allclose(
                -tile, np.linalg.inv(matrix)[i : i + 7, j : j + 7], rtol=1e-9, atol=1e-12
            )


# --- what all of them share --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_class", [ItemKNN, EASE])
def test_same_bits_for_any_threads_on_many_tiles(model_class):
    data = some_events(n_users=400, n_items=1300)
    bits = set()
    for threads in (1, 2, 3, 8):
        model = model_class().fit(data, threads=threads)
        bits.add(b"".join(array.tobytes() for array in model._state().values()))
    assert len(bits) == 1
    users = np.arange(data.n_users, dtype=np.int32)
    lists = {model.rank_codes(users, 10, threads=threads).scores.tobytes() for threads in (1, 2, 5)}
    assert len(lists) == 1


class Recorder(Callback):
    def __init__(self):
        self.calls = []

    def before_training(self, run):
        self.calls.append(f"{run.epochs} epoch")

    def before_epoch(self, run, epoch):
        self.calls.append(f"before {epoch}")

    def after_epoch(self, run, record):
        assert run.model.recommend(n=1).height > 0
        self.calls.append(f"after {record.epoch}")

    def after_training(self, run):
        self.calls.append("over")


@pytest.mark.parametrize("model_class", ONE_STEP)
def test_callbacks_see_one_epoch(model_class):
    train, test = sqlrank.split.random(some_events(), test=0.2)
    recorder, stopping = Recorder(), EarlyStopping("precision@5")
    model = model_class().fit(train, validation=test, callbacks=[recorder, stopping])
    assert recorder.calls == ["1 epoch", "before 1", "after 1", "over"]
    assert model.best_epoch == 1
    assert len(model.history) == 1
    measured = sqlrank.evaluate(model, test, metrics=["precision@5"])["precision@5"]
    assert model.history["precision@5"].item() == measured


@pytest.mark.parametrize("model_class", [ItemKNN, EASE])
def test_a_known_user_is_scored_like_the_same_history(model_class):
    data = some_events(values=True)
    for weights in ("ones", "values"):
        model = model_class(weights=weights).fit(data)
        known = model.recommend(users=[5], n=7)
        row = slice(data.indptr[5], data.indptr[6])
        history = list(zip(data.indices[row].tolist(), data.values[row].tolist(), strict=True))
        new = model.recommend(histories={5: history}, n=7)
        assert new.equals(known)
    with pytest.raises(sqlrank.DataError, match="value"):
        model.recommend(histories={"new": [1, 2]})
    with pytest.raises(sqlrank.DataError, match="values"):
        model.partial_fit(some_events())
    with pytest.raises(sqlrank.ConfigError, match="no values"):
        model_class(weights="values").fit(some_events())


@pytest.mark.parametrize("model_class", [Popularity, ItemKNN, EASE])
def test_partial_fit_is_a_fit_on_everything(model_class):
    data = some_events()
    first = data.take(data.user_codes % 3 > 0)
    model = model_class().fit(first).partial_fit(data.take(data.user_codes % 3 == 0))
    whole = model_class().fit(data)
    for name, array in whole._state().items():
        np.testing.assert_array_equal(model._state()[name], array)


@pytest.mark.parametrize("model_class", ONE_STEP)
def test_data_errors(model_class):
    with pytest.raises(sqlrank.DataError, match="no events"):
        model_class().fit(from_table(np.zeros((2, 3))))
    with pytest.raises(sqlrank.DataError, match="different ids"):
        model_class().fit(some_events(), validation=some_events(n_users=5))


@pytest.mark.parametrize(
    ("model_class", "settings", "precision"),
    [
        (ItemKNN, {}, (0.743, 0.675, 0.621)),
        (EASE, {"regularization": 1000.0}, (0.771, 0.708, 0.667)),
        (Popularity, {}, (0.538, 0.496, 0.482)),
    ],
)
def test_one_class_movielens(model_class, settings, precision, data_dir):
    data = sqlrank.datasets.load("ml-1m-oc50", data_dir=data_dir)
    model = model_class(**settings).fit(data.train)
    metrics = ["precision@1", "precision@5", "precision@10"]
    result = sqlrank.evaluate(model, data.test, metrics=metrics)
    np.testing.assert_allclose([result[name] for name in metrics], precision, atol=0.001)
