"""UCI's Online Retail: the invoice lines of a shop, with all the mess of real life, as implicit feedback.

The same events come out of one call on a raw file whose dates read ``1.12.2010 08:26``::

    sqlrank.read("online_retail.parquet", user="CustomerID", item="StockCode", rating="Quantity",
                 time="InvoiceDate", time_format="%d.%m.%Y %H:%M", null_values={"user": [0]},
                 drop_nulls=True, min_value=1, implicit=True)
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import read_bytes, read_parquet
from sqlrank.errors import DataError

__all__ = ["SPECS"]

_COLUMNS = ("StockCode", "Description", "Quantity", "InvoiceDate", "UnitPrice", "CustomerID", "Country")
_ROLES = {"user": "CustomerID", "item": "StockCode", "rating": "Quantity", "time": "InvoiceDate"}
# How the date column was written by the programs that exported it; the first that fits every row is taken.
_DATES = (
    "%d.%m.%Y %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
)


def _load_parquet(folder: Path, *, file: str) -> Loaded:
    return _loaded(read_parquet(folder / file, _COLUMNS), folder / file)


def _load_csv(folder: Path, *, file: str) -> Loaded:
    path = folder / file
    content = read_bytes(path)
    header = content.split(b"\n", 1)[0]
    try:
        frame = pl.read_csv(
            content,
            separator=";" if header.count(b";") > header.count(b",") else ",",
            infer_schema=False,
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read as CSV ({error}).") from error
    return _loaded(_complete(frame, path), path)


def _load_excel(folder: Path, *, file: str) -> Loaded:
    path = folder / file
    if find_spec("fastexcel") is None:
        raise DataError(
            f"{path}: reading Excel files needs the package fastexcel (pip install fastexcel); "
            "or save the sheet as 'Online Retail.csv' beside it."
        )
    try:
        # Stock codes are numbers in some rows and text in others.
        frame = pl.read_excel(path, schema_overrides={"StockCode": pl.String, "InvoiceNo": pl.String})
    except Exception as error:
        raise DataError(f"{path}: cannot be read as an Excel file ({error}).") from error
    return _loaded(_complete(frame, path), path)


def _complete(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]!r}; it has {', '.join(frame.columns)}.")
    return frame.select(_COLUMNS)


def _loaded(raw: pl.DataFrame, path: Path) -> Loaded:
    lines = pl.DataFrame(
        {
            "CustomerID": _number(raw["CustomerID"], path).cast(pl.Int64),
            "StockCode": raw["StockCode"].cast(pl.String).str.strip_chars(),
            "Quantity": _number(raw["Quantity"], path),
            "InvoiceDate": _dates(raw["InvoiceDate"], path),
            "price": _number(raw["UnitPrice"], path),
            "description": raw["Description"].cast(pl.String).str.strip_chars(),
            "country": raw["Country"].cast(pl.String),
        }
    )
    # The owner leaves the customer empty where nobody is known; copies write 0. Returns have negative quantities.
    cleaning: dict[str, Any] = {
        "null_values": {"user": [0]},
        "drop_nulls": True,
        "min_value": 1,
        "implicit": True,
    }
    train = to_interactions(lines, path, columns=_ROLES, duplicates="last", **cleaning)
    bought = lines.filter(pl.col("CustomerID") != 0, pl.col("Quantity") >= 1)
    bought = bought.rename({name: role for role, name in _ROLES.items()})
    return Loaded({"train": train}, _items(bought), _users(bought))


def _number(column: pl.Series, path: Path) -> pl.Series:
    """A column of numbers, which may be text with a decimal comma; empty cells stay empty."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    text = column.cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    _refuse(column, text.is_not_null() & numbers.is_null(), "a number", path)
    return numbers


def _dates(column: pl.Series, path: Path) -> pl.Series:
    """Microseconds since 1970 (the shop's own clock)."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us"))
    text = column.cast(pl.String).str.strip_chars()
    parsed = [text.str.to_datetime(pattern, strict=False, time_unit="us") for pattern in _DATES]
    best = min(parsed, key=lambda dates: dates.null_count())
    _refuse(column, best.is_null(), "a date that is written like the others", path)
    return best


def _refuse(column: pl.Series, bad: pl.Series, what: str, path: Path) -> None:
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(f"{path}: row {row + 1}, column {column.name!r}: {column[row]!r} is not {what}.")


def _items(bought: pl.DataFrame) -> pl.DataFrame:
    """Stock code, its most frequent description, and the median price."""
    prices = bought.group_by("item").agg(price=pl.col("price").median().round(3))
    named = (
        bought.group_by("item", "description")
        .len()
        .sort(["item", "len", "description"], descending=[False, True, False])
    )
    return (
        named.group_by("item", maintain_order=True)
        .first()
        .drop("len")
        .join(prices, on="item", maintain_order="left")
    )


def _users(bought: pl.DataFrame) -> pl.DataFrame:
    """Customer and the country of the latest purchase."""
    last = bought.sort("user", "time", maintain_order=True).group_by("user", maintain_order=True).last()
    return last.select("user", "country")


def _layouts() -> tuple[Layout, ...]:
    loaders = {".csv": _load_csv, ".parquet": _load_parquet, ".xlsx": _load_excel}
    # Text and parquet first: reading the original Excel sheet takes longer and needs another package.
    files = (
        "online_retail.parquet",
        "Online Retail.csv",
        "online_retail.csv",
        "Online Retail.xlsx",
        "online_retail.xlsx",
    )
    return tuple(
        Layout(f"from {file}", (file,), partial(loaders[Path(file).suffix], file=file)) for file in files
    )


SPECS = (
    Spec(
        name="online-retail",
        title="Online Retail: who bought what in a British shop, 2010 and 2011; returns and unknown customers left out",
        folders=("online-retail",),
        layouts=_layouts(),
        source=Source(
            "https://archive.ics.uci.edu/dataset/352/online+retail",
            (
                Download(
                    ("https://archive.ics.uci.edu/static/public/352/online+retail.zip",), "online+retail.zip"
                ),
            ),
        ),
        citation="D. Chen (2015), Online Retail, UCI Machine Learning Repository, doi:10.24432/C5BW33 (CC BY 4.0).",
        counts=Counts(4_339, 3_665, 266_802),
    ),
)
