"""Every data set of the measuring folder has exactly the published counts."""

import numpy as np
import polars as pl
import pytest

from sqlrank.data import datasets
from sqlrank.data.readers import read

# users, items, train, validation, test
COUNTS = {
    "ml-1m": (6_040, 3_706, 1_000_209, None, None),
    "ml-1m-oc50": (3_937, 3_533, 196_850, None, 726_623),
    "ml-1m-70-10-20": (6_039, 3_628, 590_733, 80_897, 164_848),
    "gowalla": (29_858, 40_981, 719_081, 91_047, 217_242),
    "ml-100k": (943, 1_682, 100_000, None, None),
    "foursquare": (2_060, 2_876, 13_472, None, None),
    "foursquare-with-tips": (3_112, 3_298, 21_594, None, None),
    "amazon-musical-instruments": (1_429, 900, 10_261, None, None),
    "coat": (290, 300, 6_960, None, 4_640),
    "online-retail": (4_339, 3_665, 266_802, None, None),
}


@pytest.fixture(scope="module")
def load(data_dir):
    loaded = {}

    def cached(name):
        if name not in loaded:
            loaded[name] = datasets.load(name, data_dir)
        return loaded[name]

    return cached


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_published_ones(load, name):
    users, items, *sizes = COUNTS[name]
    data = load(name)
    parts = (data.train, data.validation, data.test)
    assert data.train.shape == (users, items)
    assert [None if part is None else len(part) for part in parts] == sizes
    for part in data.parts.values():
        assert part.users == data.train.users and part.items == data.train.items
    from sqlrank.data.datasets.registry import find

    counts = find(name).counts
    assert (counts.users, counts.items, counts.train) == (users, items, sizes[0])
    assert [counts.validation, counts.test] == [size or 0 for size in sizes[1:]]


def test_every_named_data_set_is_covered():
    assert set(datasets.names()) == {*COUNTS, "yahoo-r3"}


def test_movielens_1m_tables(load):
    data = load("ml-1m")
    assert data.train.values.min() == 1 and data.train.values.max() == 5
    assert abs(data.train.values.mean(dtype=np.float64) - 3.581564) < 1e-6
    assert data.items.height == 3_883 and data.users.height == 6_040
    toy_story = data.items.row(by_predicate=pl.col("item") == 1, named=True)
    assert toy_story["title"] == "Toy Story (1995)"
    assert toy_story["genres"] == ["Animation", "Children's", "Comedy"]
    assert data.train.items.lookup(data.items["item"])[1].sum() == 3_706
    assert "Harper" in data.description


def test_movielens_100k_has_times_and_accents(load):
    data = load("ml-100k")
    assert data.train.timestamps.min() == 874_724_710 and data.train.timestamps.max() == 893_286_638
    assert data.items.height == 1_682 and data.users.height == 943
    assert data.items.filter(pl.col("title").str.contains("é")).height > 0
    assert data.items["genres"].list.len().max() <= 6
    assert data.users.columns == ["user", "age", "gender", "occupation", "zip"]


def test_one_class_split_is_the_authors(load):
    data = load("ml-1m-oc50")
    assert data.train.values is None
    assert (np.diff(data.train.indptr) == 50).all()
    assert np.diff(data.test.indptr).min() >= 10
    assert data.train.users.ids.to_list() == list(range(1, 3_938))
    assert data.train.items.ids.to_list() == list(range(1, 3_534))


def test_one_class_split_gets_titles_from_its_neighbour(load):
    """Renumbering MovieLens-1M as the authors did gives exactly their events, so the titles are right."""
    data = load("ml-1m-oc50")
    assert data.items["item"].to_list() == list(range(1, 3_534))
    assert data.items.row(0, named=True)["title"] == "Toy Story (1995)"
    counts = [np.bincount(part.indices, minlength=3_533) for part in data.parts.values()]
    popular = sum(counts).argmax()
    assert data.items["title"][int(popular)] == "American Beauty (1999)"
    assert data.users.height == 3_937


def test_foursquare_reports_repeated_check_ins(load):
    report = load("foursquare").train.report
    assert report.rows == 27_149
    assert report.dropped() == 27_149 - 13_472
    assert load("foursquare-with-tips").train.report.rows == 27_149 + 10_377


def test_coat_attributes(load):
    data = load("coat")
    assert data.items.columns == ["item", "gender", "jackettype", "color", "onfrontpage"]
    assert data.users["location"].unique().sort().to_list() == ["rural", "suburban", "urban"]
    assert (np.diff(data.train.indptr) == 24).all() and (np.diff(data.test.indptr) == 16).all()


def test_amazon_keeps_string_ids_and_times(load):
    train = load("amazon-musical-instruments").train
    assert train.users.ids.dtype == pl.String and train.items.ids[0] == "1384719342"
    assert train.timestamps.min() == 1_095_465_600


def test_gowalla_parts_do_not_overlap(load):
    data = load("gowalla")
    keys = [
        part.user_codes.astype(np.int64) * data.train.n_items + part.indices for part in data.parts.values()
    ]
    assert len(np.unique(np.concatenate(keys))) == sum(map(len, keys))


def test_the_folder_of_one_data_set_may_be_named_itself(data_dir):
    assert len(datasets.load("ml-100k", data_dir / "ml-100k").train) == 100_000


def test_environment_variable_names_the_folder(data_dir, monkeypatch):
    monkeypatch.setenv("SQLRANK_DATA", str(data_dir))
    assert len(datasets.load("coat").train) == 6_960


def test_online_retail_is_one_call_of_the_reader(load, data_dir):
    """Dates, decimal commas, returns and unknown customers, as the reader's documentation shows it."""
    expected = load("online-retail").train
    data = read(
        data_dir / "online-retail" / "online_retail.parquet",
        user="CustomerID",
        item="StockCode",
        rating="Quantity",
        time="InvoiceDate",
        time_format="%d.%m.%Y %H:%M",
        null_values={"user": [0]},
        drop_nulls=True,
        min_value=1,
        implicit=True,
        verbose=False,
    )
    assert data == expected
    for report in (data.report, expected.report):
        assert report.rows == 541_909
        # No customer; returns; repeated purchases.
        assert [step.rows for step in report.steps] == [135_080, 8_905, 131_122]
        assert "135,080 without user id ('CustomerID')" in str(report)
