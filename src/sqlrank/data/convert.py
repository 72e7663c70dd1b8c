"""Raw columns to clean ones: ids, numbers and times, with every bad value named by file, row and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sqlrank.data.ids import integers_of, normalize_ids, with_none
from sqlrank.data.sources import Batch
from sqlrank.errors import DataError

__all__ = ["Column", "as_rating", "as_text_ids", "as_time", "as_typed_ids", "with_nulls"]

_ISO_LOCAL = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_ISO_ZONED = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")  # %#z: offsets may be mere hours


@dataclass(frozen=True)
class Column:
    """A raw column, and how to name one of its values in a message."""

    part: str
    name: str
    batch: Batch
    values: pl.Series

    @property
    def where(self) -> str:
        """File and column."""
        return f"{self.part}, column {self.name!r}"

    def fail(self, wrong: pl.Series, problem: str) -> DataError:
        """An error that names the first row where ``wrong`` holds; ``{}`` in the problem is its value."""
        row = int(wrong.arg_max() or 0)
        return DataError(
            f"{self.part}, {self.batch.place(row)}, column {self.name!r}: " + problem.format(self.shown(row))
        )

    def shown(self, row: int) -> str:
        """The value in this row, shortened."""
        text = repr(self.values[row])
        return text if len(text) <= 60 else text[:57] + "..."


def with_nulls(values: pl.Series, nulls: Sequence[Any]) -> pl.Series:
    """Empty texts, NaN and the listed values become nulls."""
    dtype = values.dtype
    nulls = [null for null in with_none(nulls) if null is not None]  # "None" may be a name
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        return _nulled(values, ["", *map(str, nulls)])
    if dtype.is_float():
        values = values.fill_nan(None)
    if dtype.is_numeric():
        return _nulled(values, [fitting for null in nulls if (fitting := _fitting(null, dtype)) is not None])
    return values


def _nulled(values: pl.Series, nulls: Sequence[Any]) -> pl.Series:
    for null in nulls:
        same = values == null
        if same.any():
            values = values.set(same.fill_null(False), None)
    return values


def _fitting(value: Any, dtype: pl.DataType) -> float | int | None:
    """The value as a number that a column of this type can hold, or None: then it is nowhere in the column."""
    try:
        number = _number(value)
        if dtype.is_integer():
            whole = int(number)
            return whole if whole == number and _holds(dtype, whole) else None
        return float(number)
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value)  # exact, where a float would round
    except ValueError:
        return float(value)


def _holds(dtype: pl.DataType, number: int) -> bool:
    bits = int(str(dtype).lstrip("UInt"))
    lowest = -(1 << (bits - 1)) if dtype.is_signed_integer() else 0
    return lowest <= number < lowest + (1 << bits)


def as_typed_ids(column: Column) -> pl.Series:
    """Ids from a typed source: Int64 or String."""
    return normalize_ids(column.values, column.where, column.batch.first, column.batch.unit)


def as_text_ids(column: Column) -> pl.Series:
    """Ids from a text file: Int64 when every one is written as an integer writes itself, else String.

    "007" and "7" are different ids, so a column that holds "007" stays text.
    """
    numbers = integers_of(column.values)
    return numbers if numbers.null_count() == column.values.null_count() else column.values


def as_rating(column: Column, decimal_comma: bool) -> pl.Series:
    """Float32, finite or null."""
    values = column.values
    if values.dtype == pl.String:
        numbers = _plain_numbers(values, decimal_comma).cast(pl.Float64, strict=False)
        bad = numbers.is_null() & values.is_not_null()
        if bad.any():
            comma = "," in str(values.filter(bad)[0]) and not decimal_comma
            hint = (
                "pass decimal_comma=True if commas mark decimals"
                if comma
                else "rating=False leaves the column out"
            )
            raise column.fail(bad, f"{{}} is not a number; {hint}.")
    elif values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null):
        numbers = values.cast(pl.Float64)
    else:
        raise DataError(f"{column.where}: ratings must be numbers, not {values.dtype}.")
    ratings = numbers.fill_nan(None).cast(pl.Float32)
    infinite = ratings.is_infinite().fill_null(False)
    if infinite.any():
        raise column.fail(infinite, "the rating {} is infinite (or beyond 3.4e38); ratings must be finite.")
    return ratings


def _plain_numbers(values: pl.Series, decimal_comma: bool) -> pl.Series:
    values = values.str.strip_chars()
    if not decimal_comma:
        return values
    # 1.234,5 has its thousands marked by dots; 12.5 without any comma is taken as it stands.
    frame = values.alias("v").to_frame()
    without_dots = pl.col("v").str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    has_comma = pl.col("v").str.contains(",", literal=True)
    return frame.select(pl.when(has_comma).then(without_dots).otherwise("v").alias("v"))["v"]


def as_time(column: Column, time_format: str | None) -> tuple[pl.Series, str]:
    """Int64 and what it is: "numbers" as they came, or "dates" as microseconds since 1970 in UTC."""
    values = column.values
    dtype = values.dtype
    if time_format is not None and (dtype.is_integer() or dtype == pl.String):
        return _formatted(column, values.cast(pl.String), time_format), "dates"
    if dtype == pl.Null:
        return values.cast(pl.Int64), ""
    if dtype.is_integer():
        return normalize_ids(values, column.where, column.batch.first, column.batch.unit), "numbers"
    if dtype.is_float():
        return _whole(column, values), "numbers"
    if isinstance(dtype, (pl.Date, pl.Datetime)):
        zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
        return values.cast(pl.Datetime("us", zone)).cast(pl.Int64), "dates"
    if dtype == pl.String:
        return _from_text(column, values)
    raise DataError(f"{column.where}: times must be dates, numbers or text, not {dtype}.")


def _whole(column: Column, values: pl.Series) -> pl.Series:
    whole = values.cast(pl.Int64, strict=False)
    wrong = (whole.cast(pl.Float64) != values.cast(pl.Float64)).fill_null(
        whole.is_null() & values.is_not_null()
    )
    if wrong.any():
        raise column.fail(wrong, "the time {} is not a whole number; scale and round it, or give dates.")
    return whole


def _from_text(column: Column, values: pl.Series) -> tuple[pl.Series, str]:
    values = values.str.strip_chars()
    filled = values.is_not_null()
    numbers = values.cast(pl.Int64, strict=False)
    if (numbers.is_not_null() == filled).all():
        return numbers, "numbers" if filled.any() else ""
    floats = values.cast(pl.Float64, strict=False)
    if (floats.is_not_null() == filled).all():
        return _whole(column, floats), "numbers"
    return _iso(column, values), "dates"


def _iso(column: Column, values: pl.Series) -> pl.Series:
    """ISO 8601 dates and times; without a zone they count as UTC."""
    text = values.str.replace(r"^([0-9-]+)[Tt]", "$1 ").str.replace(r"(?i)\s*(z|utc)$", "+0000")
    parsed = pl.Series([None] * len(text), dtype=pl.Int64)
    for form in (*_ISO_LOCAL, *_ISO_ZONED):
        if (parsed.is_not_null() | text.is_null()).all():
            break
        times = text.str.to_datetime(form, strict=False, time_unit="us", ambiguous="null")
        parsed = parsed.fill_null(times.cast(pl.Int64))
    bad = parsed.is_null() & text.is_not_null()
    if bad.any():
        numbers = values.cast(pl.Float64, strict=False).is_not_null()
        if not (bad & ~numbers).any():
            raise column.fail(parsed.is_not_null(), "the time {} is a date, but other rows hold numbers.")
        bad = bad & ~numbers
        raise column.fail(
            bad,
            "the time {} is neither a number nor an ISO date; pass time_format=, e.g. '%d.%m.%Y %H:%M', "
            "or time=False to leave the column out.",
        )
    return parsed


def _formatted(column: Column, values: pl.Series, time_format: str) -> pl.Series:
    try:
        times = values.str.strip_chars().str.to_datetime(time_format, strict=False, time_unit="us")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{column.where}: time_format={time_format!r} cannot be used: {error}") from error
    bad = times.is_null() & values.is_not_null()
    if bad.any():
        raise column.fail(bad, f"the time {{}} does not have the form {time_format!r}.")
    return times.cast(pl.Int64)
