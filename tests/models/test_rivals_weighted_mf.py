"""WeightedMF: the wrapper against `implicit` itself, its objective and fold-in against their definitions."""

import sys

import numpy as np
import pytest

import sqlrank
from sqlrank import WeightedMF
from sqlrank.models._als import solve_rows
from sqlrank.models.lists import ItemLists
from sqlrank.training import Callback, WholeOrNothing

from .test_rivals import from_table, some_events

pytest.importorskip("implicit")

SETTINGS = {"rank": 8, "epochs": 6, "regularization": 2.0, "alpha": 5.0}


def implicit_factors(data, seed, **settings):
    """What implicit's own fit gives."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        model = AlternatingLeastSquares(
            factors=settings["rank"],
            iterations=settings["epochs"],
            regularization=settings["regularization"],
            alpha=settings["alpha"],
            random_state=seed,
            num_threads=1,
        )
        model.fit(csr_matrix(data.to_scipy()), show_progress=False)
    return model.user_factors, model.item_factors


def objective(table, alpha, regularization, users, items):
    """The documented sum over all cells."""
    confidence = np.where(table != 0, np.abs(alpha * table), 1.0)
    scores = users.astype(np.float64) @ items.T.astype(np.float64)
    squares = (users.astype(np.float64) ** 2).sum() + (items.astype(np.float64) ** 2).sum()
    return (confidence * ((table > 0) - scores) ** 2).sum() + regularization * squares


@pytest.mark.parametrize("weights", ["ones", "values"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_bit_for_bit_the_factors_of_implicit(weights, threads):
    data = some_events(values=weights == "values")
    users, items = implicit_factors(data, 3, **SETTINGS)
    model = WeightedMF(**SETTINGS, weights=weights).fit(data, seed=3, threads=threads)
    np.testing.assert_array_equal(model.user_factors, users)
    np.testing.assert_array_equal(model.item_factors, items)


class Factors(Callback):
    def __init__(self):
        self.seen = []

    def before_epoch(self, run, epoch):
        self.seen.append((run.model.user_factors.copy(), run.model.item_factors.copy()))


def test_the_objective_is_the_documented_one_and_falls():
    data = some_events(values=True)
    table = data.to_scipy().toarray().astype(np.float64)
    table[0, data.indices[0]] = -2.0  # a dislike
    data = from_table(table, values=True)
    watcher = Factors()
    model = WeightedMF(**SETTINGS, weights="values").fit(data, callbacks=[watcher])
    values = model.history["objective"].to_numpy()
    expected = [objective(table, 5.0, 2.0, *factors) for factors in watcher.seen]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert (np.diff(values) < 0).all()


def test_the_objective_is_left_out_where_nobody_reads_it():
    model = WeightedMF(rank=4, epochs=3)
    told = model.fit(some_events(), seed=1).history["objective"]
    quiet = model.fit(some_events(), seed=1, callbacks=[WholeOrNothing()]).history["objective"]
    assert told.is_finite().all() and quiet.is_nan().all()


def test_fold_in_minimises_the_objective_of_the_user():
    data = some_events(values=True)
    model = WeightedMF(**SETTINGS, weights="values").fit(data)
    table = np.zeros((3, data.n_items))
    table[0, [3, 8]], table[1, [8]], table[2, [1, 2, 4]] = [2, 5], [-1], [1, 1, 3]
    rows, items = np.nonzero(table)
    histories = ItemLists.from_pairs(rows, items, n_rows=3)
    factors = model._fold_in(*histories, table[rows, items].astype(np.float32), 2)[:, :8]
    for user, row in enumerate(factors):
        own, catalogue = table[user : user + 1], model.item_factors

        def value(u, own=own, catalogue=catalogue):
            fixed = 2.0 * (catalogue.astype(np.float64) ** 2).sum()
            return objective(own, 5.0, 2.0, u[None], catalogue) - fixed

        best = value(row)
        steps = np.random.default_rng(0).normal(size=(50, 8)) * 0.05
        assert all(value(row + step) > best for step in steps)


def test_rows_do_not_depend_on_their_company():
    random = np.random.default_rng(0)
    items = random.normal(size=(50, 7)).astype(np.float32)
    lists = [np.sort(random.choice(50, size, replace=False)) for size in (3, 10, 3, 50, 1, 10)]
    rows = np.repeat(np.arange(6), [len(row) for row in lists])
    histories = ItemLists.from_pairs(rows, np.concatenate(lists), n_rows=6)
    confidence = random.random(len(rows)) * 5
    together = solve_rows(items, histories, confidence, 0.5, threads=2)
    for user, row in enumerate(lists):
        alone = ItemLists(np.array([0, len(row)]), row.astype(np.int32))
        own = confidence[histories.indptr[user] : histories.indptr[user + 1]]
        np.testing.assert_array_equal(solve_rows(items, alone, own, 0.5, threads=1)[0], together[user])


def test_early_stopping_keeps_the_best_epoch():
    train, test = sqlrank.split.random(some_events(n_users=400), test=0.2)
    settings = {"rank": 30, "alpha": 50.0, "regularization": 0.01}
    model = WeightedMF(**settings, epochs=40).fit(train, validation=test, seed=1)
    assert len(model.history) < 40
    assert model.history["ndcg@10"].arg_max() + 1 == model.best_epoch
    same = WeightedMF(**settings, epochs=model.best_epoch).fit(train, seed=1)
    np.testing.assert_array_equal(model.item_factors, same.item_factors)
    np.testing.assert_array_equal(model.user_factors, same.user_factors)


def test_partial_fit_gives_new_ids_a_place():
    data = some_events(n_users=400)
    model = WeightedMF(**SETTINGS).fit(data, seed=1)
    before = objective(data.to_scipy().toarray(), 5.0, 2.0, model.user_factors, model.item_factors)
    # Two new users with the taste of user 0, who also take a new item that nobody else has.
    liked = data.indices[data.indptr[0] : data.indptr[1]].tolist()
    events = [(user, item) for user in (1000, 1001) for item in [*liked, 999]]
    model.partial_fit(sqlrank.read(events, verbose=False), seed=1)
    assert model.users.ids.to_list() == [*range(400), 1000, 1001]
    known = objective(data.to_scipy().toarray(), 5.0, 2.0, model.user_factors[:400], model.item_factors[:-1])
    assert known < 1.02 * before
    scores = model.score([1000] * 81, [*range(80), 999])
    assert scores[-1] > np.median(scores)


def test_a_saved_model_works_without_implicit(tmp_path, monkeypatch):
    model = WeightedMF(**SETTINGS).fit(some_events())
    expected = model.recommend(histories={"new": [2, 4]}, n=5)
    for name in [name for name in sys.modules if name.split(".")[0] == "implicit"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "implicit", None)
    loaded = sqlrank.load(model.save(tmp_path / "model"))
    assert loaded.recommend(histories={"new": [2, 4]}, n=5).equals(expected)
    with pytest.raises(sqlrank.ConfigError, match=r"pip install 'sqlrank\[rivals\]'"):
        loaded.fit(some_events())


def test_data_errors():
    with pytest.raises(sqlrank.DataError, match="no events"):
        WeightedMF().fit(from_table(np.zeros((2, 3))))
    with pytest.raises(sqlrank.ConfigError, match="no values"):
        WeightedMF(weights="values").fit(some_events())
    model = WeightedMF(**SETTINGS, weights="values").fit(some_events(values=True))
    with pytest.raises(sqlrank.DataError, match="values"):
        model.recommend(histories={"new": [1]})
    with pytest.raises(sqlrank.DataError, match="values"):
        model.partial_fit(some_events())


def test_one_class_movielens(data_dir):
    data = sqlrank.datasets.load("ml-1m-oc50", data_dir=data_dir)
    model = WeightedMF(rank=100, regularization=100.0, alpha=10.0).fit(data.train)
    metrics = ["precision@1", "precision@5", "precision@10"]
    result = sqlrank.evaluate(model, data.test, metrics=metrics)
    np.testing.assert_allclose([result[name] for name in metrics], (0.780, 0.729, 0.691), atol=0.004)
