"""Training SQLRank: what it promises for ordinary data, and that odd data does not break it."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import sqlrank
from sqlrank import Interactions, SQLRank
from sqlrank.data import Vocabulary
from sqlrank.training import Callback, PlainProgress


def interactions(rows, n_items, values=None):
    """Interactions from a list of item lists."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.concatenate([*rows, []]).astype(np.int32)
    ratings = None if values is None else np.concatenate([*values, []]).astype(np.float32)
    return Interactions.from_csr(
        Vocabulary.range(len(rows)), Vocabulary.range(n_items), indptr, indices, ratings
    )


def two_tastes(n_users=60, n_items=40, length=8, explicit=False, seed=0):
    """Even users like even items, odd users odd ones."""
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for user in range(n_users):
        liked = np.arange(user % 2, n_items, 2)
        if explicit:
            row = np.sort(rng.choice(n_items, length, replace=False))
            rows.append(row)
            values.append(np.where(row % 2 == user % 2, 5.0, 1.0) - rng.integers(0, 1, len(row)))
        else:
            rows.append(np.sort(rng.choice(liked, length, replace=False)))
    return interactions(rows, n_items, values if explicit else None)


def taste_share(model, n_users=60):
    """The share of unseen recommendations that fit the user's taste."""
    table = model.recommend(n=3)
    return float(((table["user"] + table["item"]) % 2 == 0).mean())


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, {"link": "identity", "regularization": 1.0}, {"k": "positives"}, {"k": 3}]
)
def test_it_learns_two_tastes(explicit, settings):
    model = SQLRank(rank=8, **{"regularization": 0.3, **settings}).fit(two_tastes(explicit=explicit), seed=1)
    assert model.is_explicit == explicit
    assert taste_share(model) > 0.9  # half of the items would be right by chance


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("link", ["sigmoid", "identity"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_objective_falls_in_every_epoch_with_a_frozen_queue(explicit, link, scale):
    model = SQLRank(
        rank=12, queue="frozen", link=link, init_scale=scale, regularization=0.5, decay=1.0, epochs=80
    )
    model.fit(two_tastes(explicit=explicit, length=12), seed=3)
    objective = model.history["objective"].to_numpy()
    assert (np.diff(objective) <= 0).all()
    assert objective[-1] < 0.97 * objective[0]


def test_history_is_a_table():
    history = SQLRank(rank=4, epochs=7).fit(two_tastes()).history
    assert history.columns == ["epoch", "seconds", "objective"]
    assert history["epoch"].to_list() == list(range(1, 8))
    assert (history["seconds"] > 0).all()


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.05}])
@pytest.mark.parametrize("explicit", [False, True])
def test_same_seed_same_bits_at_any_number_of_threads(settings, explicit):
    data = two_tastes(n_users=600, n_items=300, length=60, explicit=explicit)
    bits = set()
    for threads in (1, 2, 3, 8, 2):
        model = SQLRank(rank=20, epochs=5, **settings).fit(data, seed=11, threads=threads)
        bits.add(model.user_factors.tobytes() + model.item_factors.tobytes())
    assert len(bits) == 1
    other = SQLRank(rank=20, epochs=5, **settings).fit(data, seed=12)
    assert other.user_factors.tobytes() + other.item_factors.tobytes() not in bits


def test_fit_starts_afresh():
    data = two_tastes()
    model = SQLRank(rank=4, epochs=5)
    first = model.fit(data, seed=2).item_factors.copy()
    model.fit(two_tastes(seed=9), seed=5)
    np.testing.assert_array_equal(model.fit(data, seed=2).item_factors, first)


ODD = {
    "one user, one item": [[0]],
    "one user who has seen everything": [[0, 1, 2]],
    "users without events": [[], [0, 2], [], [1], []],
    "lists of length one": [[0], [1], [2]],
    "items nobody knows": [[5], [5, 6]],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("rank", [1, 5, 17])
@pytest.mark.parametrize("learning_rate", ["auto", 0.1])
@pytest.mark.parametrize("regularization", [0.0, 3.0])
def test_odd_data_works(name, explicit, rank, learning_rate, regularization):
    rows = ODD[name]
    values = [np.full(len(row), 4.0) for row in rows] if explicit else None
    data = interactions(
        rows, 8 if name == "items nobody knows" else 3 if len(rows) > 1 else len(rows[0]), values
    )
    model = SQLRank(
        rank=rank,
        feedback="explicit" if explicit else "implicit",
        learning_rate=learning_rate,
        regularization=regularization,
        epochs=30,
    ).fit(data)
    assert np.isfinite(model.user_factors).all()
    assert np.isfinite(model.item_factors).all()
    table = model.recommend(n=10)
    seen = {(user, item) for user, row in enumerate(rows) for item in row}
    assert not seen & set(zip(table["user"], table["item"], strict=True))
    assert len(table) == len(rows) * data.n_items - len(seen)


def test_equal_ratings_are_one_level():
    data = two_tastes(explicit=True)
    flat = Interactions.from_csr(
        data.users, data.items, data.indptr, data.indices, np.full(len(data), 3.0, np.float32)
    )
    assert not SQLRank(rank=4, epochs=3).fit(flat).is_explicit
    assert SQLRank(rank=4, epochs=3, feedback="explicit").fit(flat).is_explicit


def test_a_user_with_200_000_events():
    rng = np.random.default_rng(0)
    n_items = 250_000
    rows = [np.sort(rng.choice(n_items, 200_000, replace=False))]
    rows += [np.sort(rng.choice(n_items, 20, replace=False)) for _ in range(200)]
    model = SQLRank(rank=8, epochs=4).fit(interactions(rows, n_items), seed=1)
    objective = model.history["objective"].to_numpy()
    assert np.isfinite(model.item_factors).all()
    assert objective[-1] < objective[0]
    assert len(model.recommend(users=[0], n=5)) == 5


@pytest.mark.parametrize("rate", [50.0, 1e6, 1e30])
def test_an_exploding_fixed_rate_names_the_setting(rate):
    with pytest.raises(sqlrank.ConfigError, match="learning_rate"):
        SQLRank(rank=8, learning_rate=rate, decay=1.0, epochs=60, regularization=1.0).fit(two_tastes())


def test_auto_survives_a_terrible_start():
    model = SQLRank(rank=8, init_scale=100.0, epochs=60).fit(two_tastes())
    assert np.isfinite(model.user_factors).all()
    objective = model.history["objective"].to_numpy()
    assert objective[-1] < objective[0]


def test_data_errors():
    with pytest.raises(sqlrank.DataError, match="no events"):
        SQLRank().fit(interactions([[], []], 3))
    with pytest.raises(sqlrank.ConfigError, match="no ratings"):
        SQLRank(feedback="explicit").fit(two_tastes())
    with pytest.raises(sqlrank.DataError, match="different ids"):
        SQLRank().fit(two_tastes(), validation=two_tastes(n_users=5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank is 0; it must be a whole number >= 1"),
        ({"rnak": 3}, "unknown setting 'rnak'; did you mean 'rank'"),
        ({"queue": "frsh"}, 'did you mean "fresh"'),
        ({"learning_rate": "automatic"}, 'it must be a number > 0 or "auto"'),
        ({"decay": 1.5}, "decay is 1.5"),
        ({"regularization": float("nan")}, "regularization is nan"),
        ({"k": 0}, 'it must be a whole number >= 1 or "positives" or None'),
    ],
)
def test_settings_are_checked_when_the_model_is_made(settings, message):
    with pytest.raises(sqlrank.ConfigError, match=message):
        SQLRank(**settings)


def test_settings_round_trip():
    model = SQLRank(rank=7, k="positives")
    assert SQLRank(**model.get_params()).settings == model.settings
    assert model.set_params(rank=9).settings.rank == 9
    assert repr(SQLRank.preset("paper-implicit", rank=5)).startswith("SQLRank(feedback='implicit', rank=5")
    with pytest.raises(sqlrank.ConfigError, match="presets: paper-implicit, paper-explicit"):
        SQLRank.preset("paper")


class Recorder(Callback):
    def __init__(self, stop_at=None):
        self.calls, self.stop_at = [], stop_at

    def before_training(self, run):
        self.calls.append("training begins")

    def before_epoch(self, run, epoch):
        self.calls.append(f"epoch {epoch} begins")

    def after_epoch(self, run, record):
        assert run.model.recommend(users=[0], n=1).height == 1
        self.calls.append(f"epoch {record.epoch} ends")
        return "enough" if record.epoch == self.stop_at else None

    def after_training(self, run):
        self.calls.append(f"training ends: {run.stopped}")


def test_callbacks_see_everything_and_may_stop():
    recorder = Recorder(stop_at=2)
    model = SQLRank(rank=4, epochs=9).fit(two_tastes(), callbacks=[recorder])
    assert recorder.calls == [
        "training begins",
        "epoch 1 begins",
        "epoch 1 ends",
        "epoch 2 begins",
        "epoch 2 ends",
        "training ends: enough",
    ]
    assert len(model.history) == 2


class Pressing(Callback):
    """Somebody presses Ctrl-C during epoch 3."""

    def before_epoch(self, run, epoch):
        self.before = run.model.item_factors.copy()
        if epoch == 3:
            threading.Thread(target=lambda: (time.sleep(0.02), os.kill(os.getpid(), signal.SIGINT))).start()


def test_ctrl_c_keeps_the_last_complete_epoch():
    rng = np.random.default_rng(0)
    data = interactions([np.sort(rng.choice(3_000, 400, replace=False)) for _ in range(3_000)], 3_000)
    watcher = Pressing()
    settings = {"rank": 64, "learning_rate": 0.01, "negatives": 4}
    model = SQLRank(**settings, epochs=50).fit(data, seed=4, callbacks=[watcher])
    done = len(model.history)
    assert done < 50
    same = SQLRank(**settings, epochs=done).fit(data, seed=4)
    np.testing.assert_array_equal(model.item_factors, same.item_factors)
    np.testing.assert_array_equal(model.user_factors, same.user_factors)


def test_plain_progress_prints_lines(capsys):
    SQLRank(rank=4, epochs=3).fit(two_tastes(), callbacks=[PlainProgress(every=0)])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("epoch 1/3  objective ")
    SQLRank(rank=4, epochs=3).fit(two_tastes(), progress="rich")
    assert "SQLRank" in capsys.readouterr().err
    SQLRank(rank=4, epochs=3).fit(two_tastes(), progress=False)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(sqlrank.ConfigError, match="progress"):
        SQLRank(rank=4).fit(two_tastes(), progress="loud")


def test_fold_in_minimises_the_users_own_objective():
    from reference import plackett_luce as twin

    data = two_tastes(explicit=True, length=12)
    model = SQLRank(rank=6, regularization=0.5, epochs=30).fit(data)
    history = [(item, 5.0 if item % 2 else 1.0) for item in range(10)]
    table = model.recommend(histories={"new": history}, n=10)
    assert (table["item"] % 2 == 1).mean() > 0.9
    assert not set(table["item"]) & set(range(10))
    indptr, items = np.array([0, 10], np.int64), np.arange(10, dtype=np.int32)
    values = np.array([value for _, value in history], np.float32)
    row = model._fold_in(indptr, items, values, 1)[0, :6].astype(np.float64)
    order = np.argsort(-values, kind="stable")
    rows = model.item_factors.astype(np.float64)[order]

    def objective(u):  # ties average over the queue; the best row must not depend on it much
        return twin.loss(rows @ u) + 0.25 * (u @ u)

    base = objective(row)
    rng = np.random.default_rng(0)
    assert all(objective(row + 0.5 * rng.normal(size=6)) > base for _ in range(50))


def test_partial_fit_grows_and_learns():
    base = two_tastes(n_users=60, n_items=40)
    model = SQLRank(rank=8, regularization=0.3).fit(base, seed=1)
    events = [(user, item) for user in (100, 101) for item in range(user % 2, 50, 2)][:40]
    users = Vocabulary.from_values([u for u, _ in events])
    items = Vocabulary.from_values([i for _, i in events])
    table = sorted((users.encode([u])[0], items.encode([i])[0]) for u, i in events)
    indptr = np.concatenate([[0], np.cumsum(np.bincount([u for u, _ in table]))]).astype(np.int64)
    new = Interactions.from_csr(users, items, indptr, np.array([i for _, i in table], np.int32))
    model.partial_fit(new, seed=1)
    assert model.users.ids.to_list() == [*range(60), 100, 101]
    assert model.items.ids.to_list() == [*range(40), 40, 42, 44, 46, 48]
    assert len(model.seen.indices) == len(base) + len(events)
    table = model.recommend(users=[100], n=5, exclude_seen=False)
    assert (table["item"] % 2 == 0).all()
    assert taste_share(model) > 0.9
    again = SQLRank(rank=8, regularization=0.3).fit(base, seed=1).partial_fit(new, seed=1, threads=1)
    np.testing.assert_array_equal(model.item_factors, again.item_factors)


def test_set_params_forgets_what_was_learnt_under_other_settings():
    model = SQLRank(rank=4, epochs=3).fit(two_tastes())
    model.set_params(rank=8)
    with pytest.raises(sqlrank.NotFittedError):
        model.recommend(n=3)
    assert model.fit(two_tastes()).item_factors.shape[1] == 8


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_failed_fit_leaves_the_model_as_it_was(learn):
    model = SQLRank(rank=4, epochs=3).fit(two_tastes(), seed=1)
    before = model.item_factors.copy(), model.history, model.users

    class Failing(Callback):
        def after_epoch(self, run, record):
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        getattr(model, learn)(two_tastes(n_users=70, n_items=30), seed=2, callbacks=[Failing()])
    np.testing.assert_array_equal(model.item_factors, before[0])
    assert model.history.equals(before[1])
    assert model.users is before[2]


def test_a_last_step_that_leads_nowhere_is_found_out():
    """Nothing comes after the last epoch, so its step is judged at the end."""
    settings = {"rank": 4, "epochs": 1, "decay": 1.0, "init_scale": 1.0}
    with pytest.raises(sqlrank.ConfigError, match="learning_rate is too large"):
        SQLRank(**settings, learning_rate=1e6).fit(two_tastes())


def test_partial_fit_draws_new_queues(tmp_path):
    """Epochs are numbered on, also in a model that was saved in between."""
    first = SQLRank(rank=4, epochs=3).fit(two_tastes(), seed=1)
    saved = sqlrank.load(first.save(tmp_path / "model"))
    assert first._epochs_done == saved._epochs_done == 3
    first.partial_fit(two_tastes(), epochs=2, seed=1)
    saved.partial_fit(two_tastes(), epochs=2, seed=1)
    assert first._epochs_done == 5
    np.testing.assert_array_equal(first.item_factors, saved.item_factors)


@pytest.mark.parametrize("epochs", [0, -1, 2.5, True])
def test_partial_fit_checks_its_epochs(epochs):
    model = SQLRank(rank=4, epochs=2).fit(two_tastes())
    with pytest.raises(sqlrank.ConfigError, match="epochs"):
        model.partial_fit(two_tastes(), epochs=epochs)


def test_partial_fit_takes_the_new_rating():
    data = two_tastes(explicit=True)
    model = SQLRank(rank=4, epochs=10).fit(data)
    turned = Interactions.from_csr(data.users, data.items, data.indptr, data.indices, 6 - data.values)
    model.partial_fit(turned)
    np.testing.assert_array_equal(model._values, 6 - data.values)
    with pytest.raises(sqlrank.DataError, match="ratings"):
        model.partial_fit(two_tastes())
