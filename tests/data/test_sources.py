"""The same data from every kind of source gives equal arrays and equal vocabularies."""

import gzip
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix

from sqlrank.data import read
from sqlrank.errors import ConfigError, DataError

COLUMNS = ["user", "item", "rating", "timestamp"]


def write_zstd(path, text):
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(text.encode())


def write_parts(folder, frame, write):
    """Three parts, one of them empty, beside files that are not data."""
    folder.mkdir(exist_ok=True)
    (folder / "_SUCCESS").touch()
    (folder / ".part.crc").write_bytes(b"x")
    third = len(frame) // 3
    for number, part in enumerate((frame[:third], frame[third:third], frame[third:])):
        write(part, folder / f"part-{number}")
    return folder


def sources(frame: pl.DataFrame, folder) -> dict:
    """The same table in many shapes; files lie below `folder`."""
    rows = frame.rows()
    frame.write_parquet(folder / "events.parquet", row_group_size=7)
    frame.write_csv(folder / "events.csv")
    frame.write_csv(folder / "events.tsv", separator="\t")
    text = frame.write_csv()
    (folder / "semicolons.txt").write_text(frame.write_csv(separator=";", quote_style="always"))
    (folder / "crlf.csv").write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode() + b"\r\n")
    (folder / "no_end.csv").write_text(text.rstrip("\n"))
    (folder / "latin.csv").write_text(text, encoding="utf-16")
    (folder / "events.csv.gz").write_bytes(gzip.compress(text.encode()))
    write_zstd(folder / "events.csv.zst", text)
    (folder / "events.ndjson").write_text("\n".join(json.dumps(row) for row in frame.to_dicts()))
    (folder / "events.jsonl.gz").write_bytes(
        gzip.compress("\n".join(json.dumps(row) for row in frame.to_dicts()).encode())
    )
    parts = write_parts(folder / "parts", frame, lambda part, path: part.write_parquet(f"{path}.parquet"))
    csvs = write_parts(folder / "csvs", frame, lambda part, path: part.write_csv(f"{path}.csv"))
    files = ("events.parquet", "events.csv", "events.tsv", "semicolons.txt", "crlf.csv", "no_end.csv")
    packed = ("events.csv.gz", "events.csv.zst", "events.ndjson", "events.jsonl.gz")
    return {
        **{name: (folder / name, {}) for name in (*files, *packed)},
        "utf-16": (folder / "latin.csv", {"encoding": "utf-16"}),
        "text path": (str(folder / "events.csv"), {}),
        "folder": (parts, {}),
        "folder of csv": (csvs, {}),
        "glob": (f"{parts}/part-*.parquet", {}),
        "polars": (frame, {}),
        "lazy": (frame.lazy(), {}),
        "pandas": (pd.DataFrame(frame.to_dict(as_series=False)), {}),
        "pandas objects": (pd.DataFrame(frame.to_dict(as_series=False), dtype=object), {}),
        "pyarrow": (frame.to_arrow(), {}),
        "pyarrow stream": (pa.RecordBatchReader.from_stream(frame.to_arrow()), {}),
        "duckdb": (duckdb.from_arrow(frame.to_arrow()), {}),
        "dict of lists": (frame.to_dict(as_series=False), {}),
        "dict of arrays": ({name: frame[name].to_numpy() for name in frame.columns}, {}),
        "dict of series": (
            dict(zip(frame.columns, map(pd.Series, zip(*rows, strict=True)), strict=True)),
            {},
        ),
        "tuples": (iter(rows), {}),
        "list of tuples": (rows, {}),
        "shuffled": (frame.sample(fraction=1, shuffle=True, seed=1), {}),
    }


names = st.text("abcdefgh 'ñ漢,;\"", min_size=1, max_size=14).map(lambda s: f"n{s}n")
ratings = st.integers(-8, 8).map(lambda n: n / 2)


def events(ids):
    pair = st.tuples(ids, ids)
    return st.dictionaries(pair, st.tuples(ratings, st.integers(0, 2**40)), min_size=1, max_size=25)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=events(st.integers(-(10**12), 10**12)) | events(names))
def test_equal_from_everywhere(tmp_path, table):
    rows = [(u, i, r, t) for (u, i), (r, t) in table.items()]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    expected = read(rows, verbose=False)
    assert sorted(expected.to_table().rows()) == sorted(rows)
    for name, (source, options) in sources(frame, tmp_path).items():
        assert read(source, verbose=False, **options) == expected, name


def test_equal_from_sparse_matrices():
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (20, 30)) * (rng.random((20, 30)) < 0.3)
    users, items = np.nonzero(dense)
    expected = read({"user": users, "item": items, "rating": dense[users, items]}, verbose=False)
    for build in (csr_array, csr_matrix, coo_array):
        assert read(build(dense), verbose=False) == expected
    names = [f"u{n:02}" for n in range(20)]
    named = read(csr_array(dense), user_ids=names, item_ids=np.arange(30) + 100, verbose=False)
    assert named.users.ids.to_list() == [names[n] for n in sorted(set(users))]
    assert named.items.ids.to_list() == sorted(set(items + 100))
    assert np.array_equal(named.indices, expected.indices)


@pytest.mark.parametrize("n", [1, 8, 20_000])
def test_large_blocks_and_threads(n, tmp_path, monkeypatch):
    """Several batches, blocks and segments give what one gives, for any number of threads."""
    rng = np.random.default_rng(n)
    frame = pl.DataFrame({"user": rng.integers(0, 5000, n), "item": rng.integers(0, 300, n)}).unique()
    frame = frame.with_columns(
        pl.format("the user {}", "user").alias("user"), rating=pl.Series(np.arange(frame.height))
    )
    expected = read(frame, verbose=False, threads=1)
    monkeypatch.setattr("sqlrank.data.sources.BATCH_ROWS", 1000)
    monkeypatch.setattr("sqlrank.data.files.BATCH_ROWS", 1000)
    monkeypatch.setattr("sqlrank.data.blocks._CHUNK", 5000)
    monkeypatch.setattr("sqlrank.data.assemble.SEGMENT_ROWS", 777)
    for name, (source, options) in sources(frame, tmp_path).items():
        assert read(source, verbose=False, threads=3, **options) == expected, name


def test_headless_and_many_separators(tmp_path):
    rows = [(196, 242, 3.0, 881250949), (186, 302, 3.5, 891717742), (22, 377, 1.0, 878887116)]
    expected = read(rows, verbose=False)
    for number, separator in enumerate(("::", "\t", ",", ";", "|", " ", "~~")):
        path = tmp_path / f"{number}.dat"
        path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
        options = {"separator": separator} if separator == "~~" else {}
        assert read(path, verbose=False, **options) == expected


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("ann,tea\nbob,jam\nann,jam\n", False),
        ("ann,tea\n", False),
        ("85123A,tea\n22423,jam\n", False),
        ('"ann","tea, green"\nbob,jam\n', False),
        ("kunde,ware\nann,tea\n", False),
        ("user,ware\nann,tea\n", True),
        ("kunde,Product_ID\nann,tea\n", True),
        ("user_id:token,w\nann,tea\n", True),
        ("kunde,ware\n1,tea\n2,jam\n", True),
        ("kunde,ware,sterne\nann,tea,5\nbob,jam,3\n", True),
        ("ware,kunde,tag\nann,tea,2020-01-31\nbob,jam,31.12.2019 10:15\n", True),
    ],
)
def test_first_line_of_a_file_with_columns_by_position(text, header, tmp_path, capsys):
    path = tmp_path / "events.csv"
    path.write_text(text)
    data = read(path, user=0, item=1)
    assert len(data) == text.count("\n") - header
    note = "taken for column names; pass header=False" if header else "taken for an event; pass header=True"
    assert f"line 1 was {note}" in str(data.report)
    assert note in capsys.readouterr().err
    said = read(path, user=0, item=1, header=header, verbose=False)
    assert (said == data, said.report.notes) == (True, ())


def test_first_line_by_name_is_a_header(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("kunde,ware\nann,tea\nbob,jam\n")
    for options in ({"user": "kunde", "item": "ware"}, {"user": "kunde", "item": 1}):
        data = read(path, verbose=False, **options)
        assert (len(data), data.report.notes) == (2, ())
    path.write_text("1,2\n3,4\n")
    assert read(path, user=0, item=1, verbose=False).report.notes == ()


def test_columns_called_by_numbers():
    for table in ({0: ["a"], 1: ["b"]}, pd.DataFrame({0: ["a"], 1: ["b"]})):
        assert read(table, user=0, item=1, verbose=False).to_table().rows() == [("a", "b")]


def test_quoted_newlines_and_blank_lines(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text('user,item,note\nann,tea,"two\nlines, one field"\n\nbob,"ja""m",\n\n')
    data = read(path, verbose=False)
    assert data.to_table().rows() == [("ann", "tea"), ("bob", 'ja"m')]
    assert data.report.rows == 2
    path.write_text('user\titem\tn\nann\t7" vinyl\t1\n')
    assert read(path, quote=None, verbose=False).items.ids.to_list() == ['7" vinyl']


def test_text_ids_stay_text_once_one_of_them_is(tmp_path, monkeypatch):
    """A column may look like integers for many batches; the ids seen so far then turn into their own text."""
    monkeypatch.setattr("sqlrank.data.blocks._CHUNK", 64)
    ids = [str(n) for n in range(200)] + ["007"] + [str(n) for n in range(-5, 0)]
    path = tmp_path / "events.csv"
    path.write_text("user,item\n" + "".join(f"{i},9\n" for i in ids))
    data = read(path, verbose=False)
    assert data.users.ids.to_list() == sorted(ids)
    assert data.items.ids.to_list() == [9]


def test_dates_of_all_kinds():
    import datetime as dt

    moment = dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    micros = int(moment.timestamp()) * 10**6
    plain = moment.replace(tzinfo=None)
    east = moment.astimezone(dt.timezone(dt.timedelta(hours=2)))
    for when in (
        [moment],
        [plain],
        [pd.Timestamp(plain)],
        ["2020-01-02 03:04:05"],
        ["2020-01-02T03:04:05.000"],
        ["2020-01-02T03:04:05Z"],
        [east.isoformat()],
        np.array(["2020-01-02T03:04:05"], "datetime64[s]"),
        pd.Series([moment]).dt.tz_convert("Asia/Tokyo"),
        pl.Series([plain]).cast(pl.Datetime("ns")),
    ):
        data = read({"user": ["a"], "item": ["b"], "time": when}, verbose=False)
        assert data.timestamps.tolist() == [micros], when
    for day in ([moment.date()], ["2020-01-02"], np.array(["2020-01-02"], "datetime64[D]")):
        data = read({"user": ["a"], "item": ["b"], "time": day}, verbose=False)
        assert data.timestamps.tolist() == [1577923200 * 10**6]
    for number in ([7], ["7"], [7.0], ["7.0"], np.array([7], np.uint8)):
        assert read({"user": ["a"], "item": ["b"], "time": number}, verbose=False).timestamps.tolist() == [7]
    for written in (["2.1.2020"], ["02.01.2020"]):
        data = read({"user": ["a"], "item": ["b"], "time": written}, time_format="%d.%m.%Y", verbose=False)
        assert data.timestamps.tolist() == [1577923200 * 10**6]


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2020-01-01T10:00:00Z", 10),
        ("2020-01-01t10:00z", 10),
        ("2020-01-01 10:00:00 UTC", 10),
        ("2020-01-01T10:00:00.000 utc", 10),
        ("2020-01-01 10:00UTC", 10),
        ("2020-01-01 10:00:00+02", 8),
        ("2020-01-01T10:00-02", 12),
        ("2020-01-01 10:00:00 +02", 8),
        ("2020-01-01T10:00:00+0200", 8),
        ("2020-01-01 10:00:00+02:30", 7.5),
    ],
)
def test_iso_times_with_zones(text, hour):
    table = {"user": [1, 2], "item": [1, 2], "time": [text, "2020-01-01"]}
    midnight = 1_577_836_800_000_000
    assert read(table, verbose=False).timestamps.tolist() == [midnight + hour * 3_600_000_000, midnight]


def test_columns_are_guessed_and_said(capsys):
    table = {"CustomerID": [1], "Product ID": [2], "STARS": [3], "InvoiceDate": ["2020-01-01"], "note": ["x"]}
    data = read(table)
    assert data.report.columns == {
        "user": "CustomerID",
        "item": "Product ID",
        "rating": "STARS",
        "time": "InvoiceDate",
    }
    assert "rating = 'STARS' (guessed)" in capsys.readouterr().err
    data = read(table, rating=False, time=3, user="note")
    assert (data.values, data.users.ids.to_list()) == (None, ["x"])
    assert data.report.guessed == ("item",)
    assert "user = 'note', item" in capsys.readouterr().err
    read(table, user="CustomerID", item="Product ID", rating="STARS", time="InvoiceDate")
    read(table, verbose=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"user": "usr"}, DataError, "no column 'usr' (did you mean 'user'?)"),
        ({"rating": "Stars"}, DataError, "no column 'Stars' (did you mean 'stars'?)"),
        ({"user": 7}, DataError, "has 3 columns; user=7"),
        ({"user": True}, ConfigError, "neither a column name nor a position"),
        ({"user": "user", "item": "user"}, ConfigError, "cannot be both"),
        ({"duplicates": "newest"}, ConfigError, "use one of auto, first"),
        ({"min_user_events": -1}, ConfigError, "negative"),
        ({"min_user_events": None}, ConfigError, "must be a whole number"),
        ({"min_item_events": 1.5}, ConfigError, "must be a whole number"),
        ({"min_value": float("nan")}, ConfigError, "finite"),
        ({"min_value": "3"}, ConfigError, "min_value='3' must be a finite number"),
        ({"min_value": 1, "rating": False}, ConfigError, "needs a rating column"),
        ({"null_values": "NA"}, ConfigError, "must be a list"),
        ({"null_values": {"customer": [0]}}, ConfigError, "its keys are user"),
        ({"separator": ""}, ConfigError, "separates nothing"),
        ({"quote": "''"}, ConfigError, "one ASCII character"),
        ({"user_ids": ["a"]}, ConfigError, "sparse matrix"),
        ({"duplicates": "mean", "rating": False}, ConfigError, "needs ratings"),
        ({"threads": 0}, ConfigError, "threads"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error) as caught:
        read({"user": [1], "item": [2], "stars": [3]}, verbose=False, **options)
    assert message in str(caught.value)
