import numpy as np
import pandas as pd
import polars as pl
import pytest

from sqlrank.data import read
from sqlrank.errors import DataError

TWICE = {
    "user": ["a", "a", "b", "a"],
    "item": ["x", "x", "x", "x"],
    "rating": [1.0, 5.0, 2.0, 3.0],
    "time": [30, 10, 7, 20],
}
WITHOUT_TIME = {name: TWICE[name] for name in ("user", "item", "rating")}


@pytest.mark.parametrize(
    ("policy", "value", "time"),
    [("auto", 1, 30), ("last", 1, 30), ("first", 5, 10), ("max", 5, 30), ("sum", 9, 30), ("mean", 3, 30)],
)
def test_duplicates_with_time(policy, value, time):
    data = read(TWICE, duplicates=policy, verbose=False)
    assert data.to_table().rows() == [("a", "x", value, time), ("b", "x", 2, 7)]
    assert data.report.dropped("merged") == 2
    assert data.report.events == 2


@pytest.mark.parametrize(
    ("policy", "value"), [("last", 3), ("first", 1), ("max", 5), ("sum", 9), ("mean", 3)]
)
def test_duplicates_without_time(policy, value):
    data = read(WITHOUT_TIME, duplicates=policy, verbose=False)
    assert data.to_table().rows() == [("a", "x", value), ("b", "x", 2)]


def test_duplicates_are_an_error_without_time():
    for table, options in ((WITHOUT_TIME, {}), (TWICE, {"duplicates": "error"})):
        with pytest.raises(DataError, match=r"2 rows repeat a \(user, item\) pair.*\('a', 'x'\)"):
            read(table, verbose=False, **options)
    many = {"user": [1, 2, 3, 4] * 2, "item": [7, 8, 9, 10] * 2}
    with pytest.raises(DataError, match=r"4 rows .* \(1, 7\), \(2, 8\), \(3, 9\);"):
        read(many, verbose=False)
    # The end of one row and the start of the next are no pair.
    assert len(read({"user": [1, 2, 2], "item": [7, 7, 8]}, verbose=False)) == 3


def test_sum_without_ratings_counts():
    data = read({"user": ["a", "a", "b"], "item": ["x", "x", "x"]}, duplicates="sum", verbose=False)
    assert data.to_table().rows() == [("a", "x", 2), ("b", "x", 1)]


def test_implicit_uses_ratings_for_cleaning_only():
    data = read(TWICE, min_value=2, implicit=True, verbose=False)
    assert data.values is None
    assert data.to_table().rows() == [("a", "x", 20), ("b", "x", 7)]


@pytest.mark.parametrize("with_times", [False, True])
@pytest.mark.parametrize("policy", ["sum", "last"])
def test_implicit_data_has_no_values_after_merging(policy, with_times):
    table = TWICE if with_times else WITHOUT_TIME
    for source in (table, {name: table[name] for name in table if name != "rating"}):
        data = read(source, implicit=True, duplicates=policy, verbose=False)
        assert data.values is None
        assert data.to_table().select("user", "item").rows() == [("a", "x"), ("b", "x")]


def test_nulls_are_dropped_only_on_demand_and_counted(capsys):
    table = {
        "user": ["a", None, "b", "", "c", "-"],
        "item": [1.0, 2.0, float("nan"), 4.0, 5.0, 6.0],
        "rating": [1, 2, 3, 4, None, 6],
    }
    with pytest.raises(DataError, match="row 2, column 'user': the user id is missing; pass drop_nulls=True"):
        read(table, verbose=False)
    data = read(table, drop_nulls=True, null_values={"user": ["-"]})
    assert data.to_table().rows() == [("a", 1, 1.0)]
    assert (data.report.rows, data.report.events) == (6, 1)
    assert [data.report.dropped(word) for word in ("user id", "item id", "rating")] == [3, 1, 1]
    assert "3 without user id ('user')" in capsys.readouterr().err
    with pytest.raises(DataError, match="none of its 2 rows is left"):
        read({"user": [0, 0], "item": [1, 2]}, drop_nulls=True, null_values=[0], verbose=False)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("role", ["user", "item", "rating", "time"])
def test_missing_objects_are_nulls(role, missing):
    rows = [["a", "x", 1.0, "2020-01-01"], ["b", "y", 2.0, "2020-01-02"], ["c", "z", 3, "2020-01-03"]]
    place = ["user", "item", "rating", "time"].index(role)
    rows[1][place] = missing
    table = pd.DataFrame(rows, columns=["user", "item", "rating", "time"], dtype=object)
    lists = dict(zip(table.columns, map(list, zip(*rows, strict=True)), strict=True))
    for source in (table, lists, [tuple(row) for row in rows]):
        data = read(source, drop_nulls=True, verbose=False)
        assert data.to_table()["user"].to_list() == ["a", "c"]
        with pytest.raises(DataError, match=f"row 2, column '{role}': the .* is missing"):
            read(source, verbose=False)


def test_missing_times_among_moments():
    times = pd.Series([pd.Timestamp("2020-01-01"), pd.NaT], dtype=object)
    data = read({"user": [1, 2], "item": [1, 2], "time": times}, drop_nulls=True, verbose=False)
    assert data.timestamps.tolist() == [1_577_836_800_000_000]


def test_large_integers_beside_a_missing_one_stay_exact():
    table = {"user": [2**60 + 1, float("nan")], "item": [1, 2]}
    assert read(table, drop_nulls=True, verbose=False).users.ids.to_list() == [2**60 + 1]


@pytest.mark.parametrize("ids", [[5, 6], ["a", "b"], np.array(["a", "b"], object)])
def test_masked_entries_are_missing(ids):
    table = {
        "user": np.ma.array(ids, mask=[False, True]),
        "item": np.ma.array([1.0, 2.5], mask=[False, True]),
        "rating": np.ma.array([1.5, 2.5], mask=[False, True]),
    }
    with pytest.raises(DataError, match="row 2, column 'user': the user id is missing"):
        read(table, verbose=False)
    assert read(table, drop_nulls=True, verbose=False).to_table().rows() == [(ids[0], 1, 1.5)]


@pytest.mark.parametrize(
    ("ids", "nulls"),
    [
        (pl.Series([1, 2], dtype=pl.UInt32), [-1, 2**32, 2**64, 2.5, "x", float("inf"), 10**400]),
        (np.array([1, 2], np.uint8), [300, -1, None]),
        (np.array([1, 2], np.int8), [128, -129]),
        (np.array([1, 2], np.int64), [2**64, 2**63, -(2**63) - 1, "9" * 30]),
        (np.array([1.0, 2.0]), [2**64, 10**400, "1" + "0" * 400]),
        (["None", "a"], [None]),
    ],
)
def test_null_values_that_no_row_can_hold_are_nowhere(ids, nulls):
    data = read({"user": ids, "item": [1, 2]}, null_values={"user": nulls}, verbose=False)
    assert len(data) == 2


@pytest.mark.parametrize(
    ("ids", "null"),
    [
        (np.array([0, 7], np.uint8), 0),
        (np.array([-128, 7], np.int8), -128),
        (np.array([255, 7], np.uint8), "255"),
        (np.array([2**53 + 1, 7]), str(2**53 + 1)),
        (np.array([3.0, 7.0]), 3),
        (["0", "7"], 0),
    ],
)
def test_null_values_are_found_in_any_type(ids, null):
    data = read({"user": ids, "item": [1, 2]}, null_values=[null], drop_nulls=True, verbose=False)
    assert [str(user) for user in data.users.ids] == ["7"]


def test_min_value_counts_returns():
    table = {"user": [1, 1, 2], "item": [1, 2, 3], "rating": [-4, 0, 2]}
    report = read(table, min_value=1, verbose=False).report
    assert "2 with 'rating' below 1 (1 of them negative, such as returns)" in str(report)


def test_core_is_applied_and_reported():
    table = {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 3]}
    data = read(table, min_user_events=2, min_item_events=2, verbose=False)
    assert data.shape == (2, 2)
    assert data.report.dropped("fewer than 2") == 1
    with pytest.raises(DataError, match="no event is left"):
        read(table, min_user_events=4, verbose=False)


def test_decimal_commas():
    table = {"user": [1, 2, 3], "item": [1, 2, 3], "rating": ["2,55", "1.234,5", "7.5"]}
    data = read(table, decimal_comma=True, verbose=False)
    assert data.values.tolist() == pytest.approx([2.55, 1234.5, 7.5])
    with pytest.raises(DataError, match="'2,55' is not a number; pass decimal_comma=True"):
        read(table, verbose=False)


def test_a_shop_export_in_one_call(data_dir):
    """The documented call: missing customers, returns, string dates and repeat purchases at once."""
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
    assert (data.n_users, data.n_items, len(data)) == (4339, 3665, 266_802)
    assert data.values is None
    report = data.report
    assert (report.rows, report.dropped("user id"), report.dropped("below 1")) == (541_909, 135_080, 8_905)
    assert report.rows - report.dropped() == len(data)
    prices = read(
        data_dir / "online-retail" / "online_retail.parquet",
        user="CustomerID",
        item="StockCode",
        rating="UnitPrice",
        time=False,
        duplicates="mean",
        decimal_comma=True,
        verbose=False,
    )
    assert prices.report.rows == 541_909
    assert prices.values.min() < 0  # the shop books bad debts as prices below zero
