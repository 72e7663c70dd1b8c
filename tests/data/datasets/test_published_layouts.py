"""Each owner's layout, on tiny files written here."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

from sqlrank.data import datasets
from sqlrank.errors import ConfigError, DataError


def rows(interactions):
    return interactions.to_table().rows()


ML_1M = "1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n"


def test_movielens_1m(write, tmp_path):
    write("ml-1m/ratings.dat", ML_1M)
    write("ml-1m/movies.dat", '10::Café: a "film" (1995)::Animation|Children\'s\n30::Unseen (1996)::Drama\n')
    write("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072-123\n")
    data = datasets.load("ml-1m", tmp_path)
    assert rows(data.train) == [(1, 10, 5.0, 978300760), (1, 20, 3.0, 978302109), (2, 10, 4.0, 978301968)]
    assert data.items.rows() == [
        (10, 'Café: a "film" (1995)', ["Animation", "Children's"]),
        (30, "Unseen (1996)", ["Drama"]),
    ]
    assert data.users.row(1) == (2, "M", 56, 16, "70072-123")
    assert data.test is None and data.validation is None
    assert "GroupLens" in data.description and str(tmp_path) in data.description
    assert "2 users × 2 items; train 3; tables: items, users" in repr(data)


def test_titles_may_be_utf_8(write, tmp_path):
    """The owner's file is latin-1; converted copies are about."""
    write("ml-1m/ratings.dat", ML_1M)
    write("ml-1m/movies.dat", "10::Misérables, Les (1995)::Drama\n".encode())
    assert datasets.load("ml-1m", tmp_path).items["title"][0] == "Misérables, Les (1995)"


def test_movielens_1m_without_tables(write, tmp_path):
    write("ml-1m/ratings.dat", ML_1M)
    data = datasets.load("ml-1m", tmp_path)
    assert data.items is None and data.users is None


def test_movielens_100k(write, tmp_path):
    write("ml-100k/u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    flags = "0|1|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|0"
    write(
        "ml-100k/u.item", f"242|Kolya (1996)|24-Jan-1997||http://imdb/Kolya|{flags}\n302|Léon|||x|{flags}\n"
    )
    write("ml-100k/u.user", "196|49|M|writer|55105\n")
    data = datasets.load("ml-100k", tmp_path)
    assert rows(data.train) == [(186, 302, 3.0, 891717742), (196, 242, 3.0, 881250949)]
    first, second = data.items.rows(named=True)
    assert first["title"] == "Kolya (1996)" and first["genres"] == ["Action", "Comedy"]
    assert str(first["released"]) == "1997-01-24"
    assert second["title"] == "Léon" and second["released"] is None
    assert data.users.rows() == [(196, 49, "M", "writer", "55105")]


def test_one_class_csv(write, tmp_path):
    write("ml-1m-oc50/ml1m_oc_50_train_ratings.csv", "1,2,1\n2,1,1\n")
    write("ml-1m-oc50/ml1m_oc_50_test_ratings.csv", "1,4,1\n")
    data = datasets.load("ml-1m-oc50", tmp_path)
    assert data.train.values is None
    assert rows(data.train) == [(1, 2), (2, 1)] and rows(data.test) == [(1, 4)]
    assert data.train.shape == (2, 4)  # items are numbered: 3 exists, though nobody has it here


def test_one_class_takes_no_titles_from_another_movielens(write, tmp_path):
    test_one_class_csv(write, tmp_path)
    write("ml-1m/ratings.dat", ML_1M)
    write("ml-1m/movies.dat", "10::A::B\n")
    assert datasets.load("ml-1m-oc50", tmp_path).items is None


@pytest.mark.parametrize("name", ["gowalla", "ml-1m-70-10-20"])
def test_lightgcn_lists(write, tmp_path, name):
    write(f"{name}/train.txt", "0 3 1 2\n1 2\n")
    write(f"{name}/valid.txt", "0 4\n1 \n")
    write(f"{name}/test.txt", "0 0\n1 1 3 \n2\n")  # users without items do occur
    data = datasets.load(name, tmp_path)
    assert rows(data.train) == [(0, 1), (0, 2), (0, 3), (1, 2)]
    assert rows(data.validation) == [(0, 4)]
    assert rows(data.test) == [(0, 0), (1, 1), (1, 3)]
    assert data.train.shape == data.test.shape == (2, 5)


def test_original_gowalla_has_no_validation_part(write, tmp_path):
    write("gowalla/train.txt", "0 1 2\n")
    write("gowalla/test.txt", "0 3\n")
    data = datasets.load("gowalla", tmp_path)
    assert data.validation is None and len(data.train) == 2


CHECKINS = "dataset_ubicomp2013_checkins.txt"


def test_foursquare(write, tmp_path):
    write(f"dataset_ubicomp2013/{CHECKINS}", "5\t7\n5\t7\n6\t7\n")
    write("dataset_ubicomp2013/dataset_ubicomp2013_tags.txt", "7\tpizza,late night\n8\t\n9\n")
    write(
        "dataset_ubicomp2013/dataset_ubicomp2013_tips.txt",
        b"5\t8\ttry the\ttap water\nand more\n10\t7\tgood\n",
    )
    plain = datasets.load("foursquare", tmp_path)
    assert rows(plain.train) == [(5, 7), (6, 7)]
    assert plain.train.report.rows == 3 and plain.train.report.dropped() == 1
    assert plain.items.rows() == [(7, ["pizza", "late night"]), (8, []), (9, [])]
    tips = datasets.load("foursquare-with-tips", tmp_path)
    assert rows(tips.train) == [(5, 7), (5, 8), (6, 7), (10, 7)]


def test_foursquare_tips_must_look_like_tips(write, tmp_path):
    write(f"foursquare/{CHECKINS}", "5\t7\n")
    write("foursquare/dataset_ubicomp2013_tips.txt", "venue,user\n1,2\n")
    with pytest.raises(DataError, match=r"tips\.txt: row 1 is not"):
        datasets.load("foursquare-with-tips", tmp_path)


FOLDER = "amazon-musical-instruments"
REVIEWS = [
    {"reviewerID": "A1", "asin": "B01", "overall": 5.0, "reviewText": "nice", "unixReviewTime": 20},
    {"reviewerID": "A1", "asin": "B01", "overall": 2.0, "unixReviewTime": 30, "helpful": [0, 1]},
    {"reviewerID": "A2", "asin": "0001", "overall": 4.0, "unixReviewTime": 10},
]
AMAZON = [("A1", "B01", 2.0, 30), ("A2", "0001", 4.0, 10)]


@pytest.mark.parametrize(
    "file",
    [
        "reviews_Musical_Instruments_5.json.gz",
        "reviews_Musical_Instruments_5.json",
        "Musical_Instruments_5.json.gz",
    ],
)
def test_amazon_reviews(write, tmp_path, file):
    content = "".join(json.dumps(review) + "\n" for review in REVIEWS).encode()
    write(f"{FOLDER}/{file}", gzip.compress(content) if file.endswith(".gz") else content)
    assert rows(datasets.load(FOLDER, tmp_path).train) == AMAZON


def test_amazon_ratings(write, tmp_path):
    write(f"{FOLDER}/ratings_Musical_Instruments.csv", "A1,B01,5.0,20\nA1,B01,2.0,30\nA2,0001,4.0,10\n")
    assert rows(datasets.load(FOLDER, tmp_path).train) == AMAZON


def test_amazon_ratings_of_2018_have_the_item_first(write, tmp_path):
    write(f"{FOLDER}/Musical_Instruments.csv", "B01,A1,5.0,20\nB01,A1,2.0,30\n0001,A2,4.0,10\n")
    assert rows(datasets.load(FOLDER, tmp_path).train) == AMAZON


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"reviewerID": "A1"}\n', "row 1 has no key 'asin'"),
        ("not json\n", "row 1 is not a JSON object"),
        ('{"reviewerID": "A1", "asin": "B", "overall": "x", "unixReviewTime": 1}\n', "wrong type"),
    ],
)
def test_amazon_reviews_that_are_none(write, tmp_path, content, message):
    write(f"{FOLDER}/Musical_Instruments_5.json", content)
    with pytest.raises(DataError, match=message):
        datasets.load(FOLDER, tmp_path)


def test_coat(write, tmp_path):
    write("coat/train.ascii", "0 5 0 0 \r\n3 0 0 0 \r\n")
    write("coat/test.ascii", "1 0 0 0 \r\n0 0 2 0 \r\n")
    write("coat/user_item_features/user_features.ascii", "0 1 1 0\n1 0 0 0\n")
    write("coat/user_item_features/user_features_map.txt", "gender:men\ngender:women\nage:20-30\nage:30-40")
    data = datasets.load("coat", tmp_path)
    assert data.train.shape == data.test.shape == (2, 4)  # the matrix says which coats there are
    assert rows(data.test) == [(0, 0, 1.0), (1, 2, 2.0)]
    assert data.users.rows() == [(0, "women", "20-30"), (1, "men", None)]
    assert data.items is None
    assert rows(data.train) == [(0, 1, 5.0), (1, 0, 3.0)]


def test_yahoo(write, tmp_path):
    write("yahoo-r3/ydata-ymusic-rating-study-v1_0-train.txt", "1\t14\t5\n2\t35\t1\n")
    write("yahoo-r3/ydata-ymusic-rating-study-v1_0-test.txt", "1\t49\t3\n")
    data = datasets.load("yahoo-r3", tmp_path)
    assert rows(data.train) == [(1, 14, 5.0), (2, 35, 1.0)]
    assert rows(data.test) == [(1, 49, 3.0)]
    assert data.train.shape == data.test.shape == (2, 3)


# -- what is not as it should be


def test_public_names():
    import sqlrank

    assert sqlrank.datasets is datasets
    for name in datasets.__all__:
        assert getattr(sqlrank.datasets, name).__doc__


def test_every_name_is_known_by_its_module():
    from sqlrank.data.datasets.registry import find

    specs = [find(name) for name in datasets.names()]
    assert [spec.name for spec in specs] == datasets.names()
    folders = [spec.folders[0] for spec in specs if spec.name != "foursquare-with-tips"]
    assert len(set(folders)) == len(folders)  # downloads do not get into each other's way


def test_unknown_name_has_a_close_match():
    with pytest.raises(ConfigError, match=r"'ml1m'.*did you mean 'ml-1m'.*gowalla"):
        datasets.load("ml1m")


def test_absent_folder_says_where_and_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(DataError) as error:
        datasets.load("foursquare", tmp_path)
    for part in (
        str(tmp_path / "foursquare"),
        str(tmp_path / "dataset_ubicomp2013"),
        CHECKINS,
        "SQLRANK_DATA",
        "fetch",
    ):
        assert part in str(error.value)
    monkeypatch.delenv("SQLRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="cache/sqlrank/data/coat"):
        datasets.load("coat")
    with pytest.raises(DataError, match="request it from its owner"):
        datasets.load("yahoo-r3", tmp_path)


def test_folder_with_other_files_is_pointed_out(write, tmp_path):
    write("ml-1m/readme.txt", "hello")
    with pytest.raises(DataError, match="exists, but its files are not those"):
        datasets.load("ml-1m", tmp_path)


def test_a_folder_of_another_name_is_not_taken_for_the_data_set(write, tmp_path):
    write("train.txt", "0 1\n")
    write("test.txt", "0 2\n")
    with pytest.raises(DataError, match="not found"):
        datasets.load("gowalla", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1::10::5::1\n1::20::3\n", r"ratings\.dat: row 2 has 3 fields where 4 are expected"),
        ("1::10::5::1::9\n", "row 1 has 5 fields where 4"),
        ("1::10::5::1\n1::x::3::4\n", "row 2, column 'item': 'x' is not a whole number"),
        ("1::10::good::1\n", "row 1, column 'rating': 'good' is not a number"),
        ("1,10,5,1\n", "row 1 has 1 fields where 4"),
        ("", "is empty"),
        (b"1::10::5::1\n1::\xff::5::1\n", "row 2 is not utf-8 text"),
    ],
)
def test_damaged_ratings_name_file_row_and_column(write, tmp_path, content, message):
    write("ml-1m/ratings.dat", content)
    with pytest.raises(DataError, match=message):
        datasets.load("ml-1m", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1\n0 two\n", "row 2 is not a list of whole numbers"),
        ("", "holds no events"),
        ("0\n1\n", "holds no events"),
    ],
)
def test_damaged_lists(write, tmp_path, content, message):
    write("gowalla/train.txt", content)
    write("gowalla/test.txt", "0 3\n")
    with pytest.raises(DataError, match=message):
        datasets.load("gowalla", tmp_path)


@pytest.mark.parametrize(
    ("train", "message"),
    [("1 2\n1\n", "row 2 has 1 numbers, the first row has 2"), ("1 2 3\n", "one shape"), ("", "is empty")],
)
def test_damaged_matrices(write, tmp_path, train, message):
    write("coat/train.ascii", train)
    write("coat/test.ascii", "1 0\n")
    with pytest.raises(DataError, match=message):
        datasets.load("coat", tmp_path)


def test_truncated_files(write, tmp_path):
    write(f"{FOLDER}/Musical_Instruments_5.json.gz", gzip.compress(bytes(range(256)) * 9)[:-20])
    with pytest.raises(DataError, match="may be incomplete"):
        datasets.load(FOLDER, tmp_path)
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "whole.parquet")
    write("ml-1m/ratings.parquet", (tmp_path / "whole.parquet").read_bytes()[:-20])
    with pytest.raises(DataError, match=r"ratings\.parquet: cannot be read"):
        datasets.load("ml-1m", tmp_path)
    (tmp_path / "whole.parquet").rename(tmp_path / "ml-1m/ratings.parquet")
    with pytest.raises(DataError, match="has no column 'rating'"):
        datasets.load("ml-1m", tmp_path)


def test_one_class_ids_count_from_one(write, tmp_path):
    write("ml-1m-oc50/ml1m_oc_50_train_ratings.csv", "0,2,1\n")
    write("ml-1m-oc50/ml1m_oc_50_test_ratings.csv", "1,4,1\n")
    with pytest.raises(DataError, match="count from 1"):
        datasets.load("ml-1m-oc50", tmp_path)


def test_parts_share_one_pair_of_vocabularies(write, tmp_path):
    write("gowalla/train.txt", "5 10\n")
    write("gowalla/test.txt", "3 7\n")
    data = datasets.load("gowalla", tmp_path)
    assert data.train.users.ids.to_list() == data.test.users.ids.to_list() == [3, 5]
    assert np.diff(data.train.indptr).tolist() == [0, 1] and data.train.indices.tolist() == [1]


# -- Online Retail
