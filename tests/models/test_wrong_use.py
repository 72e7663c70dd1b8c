"""What is given to fit and partial_fit, and is not what they take."""

import numpy as np
import polars as pl
import pytest

import sqlrank
from sqlrank.errors import ConfigError, DataError
from sqlrank.testing import example_events, example_table

MODELS = [
    sqlrank.SQLRank(rank=4, epochs=1),
    sqlrank.PrimalCR(rank=4, epochs=1),
    sqlrank.LinearRanker(),
    sqlrank.LinearRanker(rank=2, epochs=1),
    sqlrank.WeightedMF(rank=4, epochs=1),
    sqlrank.Random(),
    sqlrank.EASE(),
    sqlrank.ItemKNN(),
    sqlrank.Popularity(),
]
SEEDS = [-1, None, 2**64, 1.5, "a", True, np.array([1, 2])]


def fitted(model, **how):
    if isinstance(model, sqlrank.WeightedMF):
        pytest.importorskip("implicit")
    return model.fit(example_events(), **how)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_seeds_are_checked(model):
    for seed in SEEDS:
        with pytest.raises(ConfigError, match=r"seed is .* from 0 to"):
            fitted(model, seed=seed)
        if seed is not None:
            with pytest.raises(ConfigError, match=r"seed is .* from 0 to"):
                fitted(model).partial_fit(example_events(), seed=seed)
    for seed in (2**64 - 1, np.int64(3), np.uint8(7)):
        assert fitted(model, seed=seed).recommend(n=1).height


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_tables_are_to_be_read_first(model):
    pandas = pytest.importorskip("pandas")
    table = example_table()
    for data in (table, pandas.DataFrame({"user": [1]}), table.rows(), None):
        with pytest.raises(DataError, match=r"fit learns from .*sqlrank\.read"):
            model.fit(data)
    with pytest.raises(DataError, match=r"validation .*polars DataFrame.*sqlrank\.read"):
        model.fit(example_events(), validation=table)
    with pytest.raises(DataError, match=r"partial_fit learns from .*polars DataFrame.*sqlrank\.read"):
        fitted(model).partial_fit(table)


@pytest.mark.parametrize("model", [m for m in MODELS if hasattr(m.settings, "epochs")], ids=repr)
@pytest.mark.parametrize("epochs", [0, -3, 2.5, True, "x", "many"])
def test_epochs_of_a_partial_fit_are_checked(model, epochs):
    with pytest.raises(ConfigError, match="epochs is"):
        fitted(model).partial_fit(example_events(), epochs=epochs)


@pytest.mark.parametrize(
    "rank", [10**400, 10**5000, np.array([1, 2]), 10**30], ids=["e400", "e5000", "array", "e30"]
)
def test_settings_beyond_all_bounds_are_refused(rank):
    with pytest.raises(ConfigError, match=r"rank is .* it must be a whole number"):
        sqlrank.SQLRank(rank=rank)


def test_diverged_weighted_mf_names_settings_it_has():
    pytest.importorskip("implicit")
    data = sqlrank.read(example_table(ratings=True).with_columns(pl.col("rating") * 1e30), verbose=False)
    with np.errstate(all="ignore"), pytest.raises(ConfigError, match="no longer finite") as caught:
        sqlrank.WeightedMF(rank=4, weights="values").fit(data)
    assert "learning_rate" not in str(caught.value)
