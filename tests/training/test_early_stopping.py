import numpy as np
import pytest

import sqlrank
from sqlrank import SQLRank
from sqlrank.training import Callback, EarlyStopping


@pytest.fixture(scope="module")
def parts():
    events = sqlrank.datasets.make_events(n_users=300, n_items=120, seed=3).train
    train, rest = sqlrank.split.random(events, test=0.2, seed=1)
    return train, rest


class Watcher(Callback):
    """Keeps the item factors of every epoch."""

    def before_training(self, run):
        self.factors, self.run = [], run

    def after_epoch(self, run, record):
        self.factors.append(run.model.item_factors.copy())


@pytest.mark.filterwarnings("ignore::sqlrank.data.splits.checks.LeakageWarning")
def test_the_best_state_comes_back_and_its_epoch_is_recorded(parts):
    train, validation = parts
    watcher = Watcher()
    settings = {"rank": 16, "regularization": 0.3, "epochs": 40, "decay": 1.0}
    model = SQLRank(**settings).fit(
        train, validation=validation, callbacks=[watcher, EarlyStopping("precision@5", patience=3)]
    )
    course = model.history["precision@5"].to_numpy()
    best = int(np.argmax(course))
    assert model.best_epoch == best + 1
    assert len(course) < 40
    assert len(course) == best + 1 + 3
    assert watcher.run.stopped.startswith("precision@5 has not improved on")
    np.testing.assert_array_equal(model.item_factors, watcher.factors[best])
    measured = sqlrank.evaluate(model, validation, metrics=["precision@5"])["precision@5"]
    assert measured == pytest.approx(course[best], abs=0)


@pytest.mark.filterwarnings("ignore::sqlrank.data.splits.checks.LeakageWarning")
def test_validation_alone_is_enough(parts):
    train, validation = parts
    model = SQLRank(rank=8, epochs=12).fit(train, validation=validation)
    assert "ndcg@10" in model.history.columns
    assert 1 <= model.best_epoch <= 12


def test_it_needs_validation_data(parts):
    with pytest.raises(sqlrank.ConfigError, match="needs validation data"):
        SQLRank(rank=4).fit(parts[0], callbacks=[EarlyStopping()])
    with pytest.raises(sqlrank.ConfigError, match="patience"):
        EarlyStopping(patience=0)


def test_every_measures_less_often(parts):
    train, validation = parts
    model = SQLRank(rank=4, epochs=7).fit(
        train, validation=validation, callbacks=[EarlyStopping(every=3, patience=9)]
    )
    measured = model.history["ndcg@10"].is_not_null().to_list()
    assert measured == [False, False, True, False, False, True, True]
