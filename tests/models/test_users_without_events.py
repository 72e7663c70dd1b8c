"""Users of whom training knows nothing: a split by time leaves many of them in the vocabulary."""

import numpy as np

import sqlrank


def parts():
    data = sqlrank.datasets.make_events(300, 150, popularity_skew=1.2, seed=3).train
    strangers = np.zeros(data.n_users, bool)
    strangers[::10] = True
    return data.take(~strangers[data.user_codes]), strangers


def test_they_get_the_order_of_everybody_together():
    train, strangers = parts()
    model = sqlrank.SQLRank(rank=8, epochs=15).fit(train)
    others = model.user_factors[~strangers].mean(axis=0, dtype=np.float64).astype(np.float32)
    assert np.array_equal(model.user_factors[strangers], np.tile(others, (strangers.sum(), 1)))


def test_their_lists_hold_popular_items():
    train, strangers = parts()
    model = sqlrank.SQLRank(rank=8, epochs=15).fit(train)
    stranger = model.users.ids[int(np.flatnonzero(strangers)[0])]
    shown = model.recommend(users=[stranger], n=10)["item"]
    popularity = np.bincount(train.indices, minlength=train.n_items)
    assert popularity[model.items.encode(shown)].mean() > 1.5 * popularity.mean()


def test_the_number_of_threads_does_not_matter():
    train, strangers = parts()
    with_them = sqlrank.SQLRank(rank=8, epochs=5).fit(train)
    again = sqlrank.SQLRank(rank=8, epochs=5).fit(train, threads=1)
    assert np.array_equal(with_them.user_factors, again.user_factors)
    assert np.isfinite(with_them.user_factors).all() and strangers.any()
