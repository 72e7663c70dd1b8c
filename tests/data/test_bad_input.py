"""Everything that can be wrong with a source ends in one DataError that says where."""

import gzip
import io
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from sqlrank.data import Interactions, read, vocabulary
from sqlrank.errors import ConfigError, DataError

GOOD = "user,item,rating,ts\nann,tea,1,5\nbob,tea,2,6\nzoe,jam,3,7\n"

BAD_TEXT = {
    "missing column": ("a,b\n1,x\n", "has no column that looks like the user: its columns are 'a', 'b'"),
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "header only": ("user,item\n", "has no rows"),
    "null user": (GOOD.replace("bob", ""), "line 3, column 'user': the user id is missing"),
    "null item": (GOOD.replace("jam", ""), "line 4, column 'item': the item id is missing"),
    "null rating": (GOOD.replace(",2,", ",,"), "line 3, column 'rating': the rating is missing"),
    "nan rating": (GOOD.replace(",2,", ",nan,"), "line 3, column 'rating': the rating is missing"),
    "text rating": (GOOD.replace(",2,", ",good,"), "line 3, column 'rating': 'good' is not a number"),
    "comma rating": (
        GOOD.replace(",2,", ',"2,5",'),
        "line 3, column 'rating': '2,5' is not a number; pass decimal",
    ),
    "infinite rating": (
        GOOD.replace(",2,", ",-inf,"),
        "line 3, column 'rating': the rating '-inf' is infinite",
    ),
    "huge rating": (GOOD.replace(",2,", ",1e39,"), "line 3, column 'rating': the rating '1e39' is infinite"),
    "bad time": (GOOD.replace(",6\n", ",soon\n"), "line 3, column 'ts': the time 'soon' is neither"),
    "mixed times": (
        GOOD.replace(",6\n", ",2020-01-01\n"),
        "line 3, column 'ts': the time '2020-01-01' is a date, but other",
    ),
    "fractional time": (
        GOOD.replace(",6\n", ",6.5\n"),
        "line 3, column 'ts': the time '6.5' is not a whole number",
    ),
    "line too long": (GOOD.replace("2,6", "2,6,9"), "line 3: 5 fields where line 1 has 4"),
    "line too short": (GOOD.replace("2,6", "2"), "line 3: 3 fields where line 1 has 4"),
    "last line too short": (GOOD + "tim,tea", "line 5: 2 fields where line 1 has 4"),
    "no separator": ("user_item\nann_tea\n", "line 1: no usual separator splits 'user_item'"),
    "open quote": (GOOD.replace("bob", '"bob'), 'line 3: the quote " is opened here and never closed'),
    "stray quote": (GOOD.replace("bob", 'b"o"b"').replace("zoe", 'z"oe'), "quote"),
    "carriage returns": (GOOD.replace("\n", "\r"), "lone carriage return"),
}


@pytest.mark.parametrize("name", BAD_TEXT)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_text(name, packed, tmp_path):
    text, message = BAD_TEXT[name]
    path = tmp_path / ("events.csv.gz" if packed else "events.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(DataError) as caught:
        read(path, verbose=False)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_bad_line_is_named_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr("sqlrank.data.blocks._CHUNK", 50)
    path = tmp_path / "events.csv"
    good = [f"u{n},i{n},{n}" for n in range(100)]
    for wrong, message in (("u,i,x", "line 78, column 'rating': 'x'"), ("u,i", "line 78: 2 fields")):
        path.write_text("\n".join(["user,item,rating", *good[:76], wrong, *good[76:]]))
        with pytest.raises(DataError, match=re.escape(message)):
            read(path, verbose=False)


def test_wrong_separator(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("user;item\n1;2\n")
    with pytest.raises(DataError, match="separator ',' leaves one column, 'user;item'; ';' would split it"):
        read(path, separator=",", verbose=False)


def test_not_text(tmp_path):
    path = tmp_path / "events.csv"
    path.write_bytes("user,item\nann,tea\njosé,thé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 3: the byte b'\\xe9' is not UTF-8"):
        read(path, verbose=False)
    assert read(path, encoding="latin-1", verbose=False).users.ids.to_list() == ["ann", "josé"]
    path.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        read(path, verbose=False)
    path.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match="spreadsheet"):
        read(path, verbose=False)


def test_zstd_is_read_as_utf8_only(tmp_path):
    text = "user,item\njosé,thé\n"
    path = tmp_path / "events.csv.zst"
    for encoding in ("latin-1", "utf-16"):
        path.write_bytes(pa.Codec("zstd").compress(text.encode(encoding), asbytes=True))
        with pytest.raises(DataError, match=rf"encoding='{encoding}'; zstd .* pack it with gzip"):
            read(path, encoding=encoding, verbose=False)
    path.write_bytes(pa.Codec("zstd").compress(text.encode("latin-1"), asbytes=True))
    with pytest.raises(DataError, match=r"is not UTF-8; zstd files .* pack it with gzip"):
        read(path, verbose=False)
    path.write_bytes(pa.Codec("zstd").compress(text.encode(), asbytes=True))
    for encoding in ("UTF8", "utf-8-sig"):
        assert read(path, encoding=encoding, verbose=False).users.ids.to_list() == ["josé"]


def test_damaged_archives(tmp_path):
    rng = np.random.default_rng(0)
    whole = gzip.compress(b"user,item\n" + b"".join(b"%d,%d\n" % (n, rng.integers(1e9)) for n in range(5000)))
    for name, data in (("a.csv.gz", whole[:5000]), ("b.csv.gz", whole[:900] + b"zz" + whole[902:])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=name):
            read(tmp_path / name, verbose=False)
    (tmp_path / "c.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd and then nothing good")
    with pytest.raises(DataError, match=r"c\.csv\.zst"):
        read(tmp_path / "c.csv.zst", verbose=False)


def test_paths(tmp_path):
    (tmp_path / "events.csv").write_text(GOOD)
    (tmp_path / "folder").mkdir()
    for path, message in (
        (tmp_path / "event.csv", r"does not exist \(did you mean 'events.csv'\?\)"),
        (tmp_path / "nowhere" / "x.csv", "nor does the folder"),
        (tmp_path / "*.parquet", "No file matches"),
        (tmp_path / "folder", r"holds no parquet, CSV or NDJSON parts \(it is empty\)"),
    ):
        with pytest.raises(DataError, match=message):
            read(path, verbose=False)
    (tmp_path / "folder" / "_SUCCESS").touch()
    (tmp_path / "folder" / "notes.md").touch()
    with pytest.raises(DataError, match=r"it holds notes\.md"):
        read(tmp_path / "folder", verbose=False)
    (tmp_path / "folder" / "a.csv").write_text(GOOD)
    (tmp_path / "folder" / "b.ndjson").write_text("{}")
    with pytest.raises(DataError, match="mixes NDJSON and text"):
        read(tmp_path / "folder", verbose=False)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


TABLE = pl.DataFrame({"user": ["a", "b"], "item": [1, 2], "rating": [1.0, 2.0]})


def test_bad_parquet(tmp_path):
    path = tmp_path / "events.parquet"
    whole = parquet(TABLE)
    for data, message in (
        (b"", "0 bytes"),
        (whole[:-20], "cannot be read as parquet"),
        (whole[: len(whole) // 2], "cannot be read as parquet"),
        (b"user,item\n1,2\n", "cannot be read as parquet"),
        (parquet(TABLE.clear()), "has no rows"),
        (parquet(TABLE.drop("item")), "no column that looks like the item"),
        (
            parquet(TABLE.with_columns(item=pl.Series([1, None]))),
            "row 2, column 'item': the item id is missing",
        ),
        (
            parquet(TABLE.with_columns(item=pl.Series([1.0, float("nan")]))),
            "row 2, column 'item': the item id",
        ),
        (parquet(TABLE.with_columns(item=pl.Series([1.0, 2.5]))), "column 'item': row 2 has the id 2.5"),
        (parquet(TABLE.with_columns(item=pl.Series([True, False]))), "column 'item': values of type Boolean"),
        (
            parquet(TABLE.with_columns(rating=pl.Series([1.0, float("inf")]))),
            "row 2, column 'rating': the rating inf",
        ),
        (
            parquet(TABLE.with_columns(rating=pl.Series(["1", "x"]))),
            "row 2, column 'rating': 'x' is not a number",
        ),
        (
            parquet(TABLE.with_columns(rating=pl.Series([[1], [2]]))),
            "column 'rating': ratings must be numbers",
        ),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError) as caught:
            read(path, verbose=False)
        assert str(path) in str(caught.value)
        assert message in str(caught.value)


def test_parts_that_do_not_fit_together(tmp_path):
    TABLE.write_parquet(tmp_path / "1.parquet")
    TABLE.with_columns(user=pl.Series([1, 2])).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2\.parquet, row 1, column 'user': the user id 1 is of mixed type"):
        read(tmp_path, verbose=False)
    TABLE.rename({"item": "product"}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2\.parquet: its columns .*'product'.* differ"):
        read(tmp_path, verbose=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"user": 1, "item": 2}\n{"user": "1", "item": 2}',
            "line 2, column 'user': the user id '1' is of mixed type",
        ),
        ('{"user": 1, "item": 2}\n{"user": 1', "line 2: not a JSON object"),
        ('[{"user": 1, "item": 2}]', "line 1: expected one JSON object per line (NDJSON), got list"),
        ('{"user": 1, "item": 2}\n{"user": 1}', "line 2, column 'item': the item id is missing"),
        ('{"user": 1, "item": [2]}', "column 'item': [2] (list, row 1) cannot be an id"),
        ('{"user": 1, "item": 2, "rating": {}}', "column 'rating': row 1 has {}, which is not a number"),
    ],
)
def test_bad_json(text, message, tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read(path, verbose=False)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([(1, "a"), ("1", "b")], "column 'user': ids of mixed type: 1 (int, row 1), '1' (str, row 2)"),
        (
            pd.DataFrame({"user": [1, "1"], "item": [1, 2]}),
            "the pandas table, column 'user': ids of mixed type",
        ),
        ([(1, 2), (1, 3, 4)], "row 2: (1, 3, 4) has 3 fields, row 1 has 2"),
        ([(1,)], "row 1: expected (user, item"),
        (["ab"], "row 1: expected (user, item"),
        ([], "has no rows"),
        ([(1, 2, "x")], "row 1, column 'rating': 'x' is not a number"),
        ([(1, 2, 3.0, "x")], "row 1, column 'time': the time 'x'"),
        ({"user": [1, 2], "item": [1]}, "the columns differ in length: 'user' has 2, 'item' has 1"),
        ({"user": [1], "item": [np.ones(2)]}, "column 'item'"),
        ({"user": np.ones((1, 2)), "item": [1]}, "one-dimensional"),
        (
            pl.DataFrame({"user": [2**64 - 1], "item": [1]}, schema={"user": pl.UInt64, "item": pl.Int8}),
            "64 signed",
        ),
        (coo_array(np.ones(3)), "shape (3,); it must be users × items"),
        (3, "Cannot read a int"),
        (b"user,item", "Cannot read a bytes"),
    ],
)
def test_bad_tables(source, message):
    with pytest.raises(DataError) as caught:
        read(source, verbose=False)
    assert message in str(caught.value)


@pytest.mark.parametrize(("side", "what"), [("user", "users"), ("item", "items")])
@pytest.mark.parametrize("ids", [list(range(5)), list("abcde")])
def test_too_many_ids(side, what, ids, monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_IDS", 4)
    table = {"user": [0] * 5, "item": [0] * 5} | {side: ids}
    with pytest.raises(DataError, match=f"more than 4 different {what}"):
        read(table, duplicates="first", verbose=False)
    assert (
        len(read({name: column[:4] for name, column in table.items()}, duplicates="first", verbose=False))
        == 4
    )


def test_too_many_rows(monkeypatch):
    monkeypatch.setattr("sqlrank.data.assemble.MAX_ROWS", 4)
    with pytest.raises(DataError, match="more than 4 rows"):
        read({"user": range(5), "item": range(5)}, verbose=False)


SUFFIXES = (".csv", ".tsv", ".dat", ".ndjson", ".parquet", ".csv.gz", ".csv.zst")
NAMES = ["user", "item", "rating", "time", "a", "é", "\ufeff", "\x00"]
VALUES = ["1", "-0", "7.5", "nan", "inf", "2020-01-01", "9" * 30, "null"]
MARKS = [",", ";", "\t", "::", "\n", "\r\n", '"', " ", "{", "}", "[", '"user":', '"item":']
pieces = st.sampled_from([*NAMES, *VALUES, *MARKS])
garbage = st.binary(max_size=200) | st.lists(pieces, max_size=60).map(lambda p: "".join(p).encode())
tables = st.lists(st.lists(pieces.filter(str.isalnum), min_size=2, max_size=4).map(",".join), min_size=1).map(
    lambda lines: "\n".join(lines).encode()
)
WHOLE = parquet(TABLE)
damaged = st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=6)).map(
    lambda cut: WHOLE[: cut[0]] + cut[1] + WHOLE[cut[0] + len(cut[1]) :]
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=garbage | tables | damaged,
    suffix=st.sampled_from(SUFFIXES),
    pack=st.booleans(),
    options=st.fixed_dictionaries(
        {},
        optional={
            "user": st.sampled_from(["user", 0, "time"]),
            "item": st.sampled_from(["item", 1]),
            "separator": st.sampled_from([",", "::", "é", "\n"]),
            "quote": st.sampled_from([None, "'"]),
            "header": st.booleans(),
            "drop_nulls": st.booleans(),
            "time_format": st.sampled_from(["%Y", "%Q", ""]),
            "duplicates": st.sampled_from(["first", "sum"]),
            "decimal_comma": st.booleans(),
        },
    ),
)
@example(data=b'user,item\n"', suffix=".csv", pack=False, options={})
@example(data=b'user,item\n"a"b,c\n', suffix=".csv", pack=False, options={})
@example(data=b",user", suffix=".csv", pack=False, options={"user": "user", "item": 1})
def test_garbage_never_gets_further_than_a_data_error(tmp_path, data, suffix, pack, options):
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(gzip.compress(data) if pack else data)
    try:
        result = read(path, verbose=False, **options)
    except DataError as error:
        assert str(error)
    except ConfigError as error:  # a name and a position that are the same column: the question is wrong
        assert "cannot be both the user and the item" in str(error)
        assert {type(column) for column in options.values()} >= {int, str}
    else:
        assert isinstance(result, Interactions)
        assert len(result) > 0
        assert result.values is None or np.isfinite(result.values).all()
