"""Turning whatever people use as ids into one of two column types: Int64 or String."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from sqlrank.errors import DataError

__all__ = [
    "READ_FROM_TEXT",
    "as_ids",
    "close_matches",
    "from_objects",
    "id_type",
    "integers_of",
    "normalize_ids",
    "with_none",
    "without_mask",
]

READ_FROM_TEXT = "id read from text"
"""The name of a series of integers that a text file spelt out.

Whether the ids of a file become integers depends on all of them, so the same id may be an integer today and a
string tomorrow. The name tells such integers from those that were integers in their source, and it stays with
whatever is picked from the series.
"""

_FLOAT_TYPES = (pl.Float32, pl.Float64)
_PANDAS_MISSING = ("NAType", "NaTType")


def as_ids(values: Any, what: str = "ids") -> pl.Series:
    """A series of Int64 or String from a series, array, Arrow column or Python sequence of ids.

    >>> as_ids(["b", "a"]).to_list()
    ['b', 'a']

    Nulls stay nulls. Raises :class:`DataError` when the ids are of mixed type, fractional, or of a type
    that cannot serve as an id.
    """
    return normalize_ids(_series(values, what), what)


def id_type(dtype: pl.DataType, what: str) -> type[pl.Int64] | type[pl.String]:
    """Int64 or String: the type in which ids of this column type are kept."""
    if dtype.is_integer():
        return pl.Int64
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return pl.String
    if isinstance(dtype, _FLOAT_TYPES):
        return pl.Int64
    raise DataError(f"{what}: values of type {dtype} cannot be ids; convert them to integers or strings.")


def normalize_ids(series: pl.Series, what: str, first: int = 1, unit: str = "row") -> pl.Series:
    """The same ids as Int64 or String; whole floats (a pandas column with gaps) become integers.

    ``first`` and ``unit`` say how messages number the rows.
    """
    if isinstance(series.dtype, pl.Null):
        return series.cast(pl.Int64)
    target = id_type(series.dtype, what)
    if isinstance(series.dtype, _FLOAT_TYPES):
        return _whole_numbers(series, what, first, unit)
    if isinstance(series.dtype, (pl.UInt64, pl.Int128, pl.UInt128)):
        return _narrowed(series, what, first, unit)
    return series if series.dtype == target else series.cast(target)


def integers_of(texts: pl.Series) -> pl.Series:
    """The texts that are written as an integer writes itself, as integers; the others are null.

    "007" and "7" are different ids, so "007" is no integer here.
    """
    numbers = texts.cast(pl.Int64, strict=False)
    same = numbers.cast(pl.String).eq_missing(texts)
    return numbers if same.all() else numbers.set(~same, None)


def _whole_numbers(series: pl.Series, what: str, first: int, unit: str) -> pl.Series:
    series = series.cast(pl.Float64).fill_nan(None)
    # Above 2**53 neighbouring integers share one float: two people would silently become one.
    bad = (series != series.floor()) | (series.abs() > 2.0**53)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(
            f"{what}: {unit} {row + first} has the id {series[row]!r}, which is not a whole number."
        )
    return series.cast(pl.Int64)


def _narrowed(series: pl.Series, what: str, first: int, unit: str) -> pl.Series:
    narrow = series.cast(pl.Int64, strict=False)
    lost = narrow.is_null() & series.is_not_null()
    if lost.any():
        row = int(lost.arg_max() or 0)
        raise DataError(
            f"{what}: {unit} {row + first} has the id {series[row]}, which does not fit into 64 signed bits."
        )
    return narrow


def _series(values: Any, what: str) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, (str, bytes, int)):
        raise DataError(
            f"{what}: expected a sequence of ids, got the single value {values!r}; wrap it in a list."
        )
    if isinstance(values, np.ndarray) and values.dtype != object:
        return _from_numpy(values, what)
    if hasattr(values, "__arrow_c_stream__") and not _is_object_column(values):
        return _from_arrow(values, what)
    return from_objects(values.tolist() if hasattr(values, "tolist") else values, what)


def _from_numpy(values: np.ndarray[Any, Any], what: str) -> pl.Series:
    if values.ndim != 1:
        raise DataError(f"{what}: expected one column of ids, got an array of shape {values.shape}.")
    if isinstance(values, np.ma.MaskedArray):
        return without_mask(values, lambda plain: _from_numpy(plain, what))
    return pl.Series(np.ascontiguousarray(values) if values.dtype.kind in "iuf" else values.tolist())


def without_mask(
    array: np.ma.MaskedArray[Any, Any], convert: Callable[[np.ndarray[Any, Any]], pl.Series]
) -> pl.Series:
    """The array as ``convert`` makes a series of it, with nulls where it is masked."""
    series = convert(array.data)
    return series.set(pl.Series(np.ma.getmaskarray(array)), None)


def _from_arrow(values: Any, what: str) -> pl.Series:
    try:
        return pl.Series(values)
    except Exception as error:
        raise DataError(f"{what}: this column cannot be read: {error}") from error


def _is_object_column(values: Any) -> bool:
    return str(getattr(values, "dtype", "")) == "object"


def from_objects(values: Iterable[Any], what: str, first: int = 1) -> pl.Series:
    """A series from Python objects: all integers or all strings (None, NaN and pandas' NA are nulls).

    ``first`` is the number of the first row in messages.
    """
    items = with_none(values)
    kinds = {type(value) for value in items} - {type(None)}
    if kinds == {str}:
        return pl.Series(items, dtype=pl.String)
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return _from_ints(items, what, first)
    if all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds):
        return pl.Series([None if value is None else float(value) for value in items], dtype=pl.Float64)
    if all(issubclass(kind, str) for kind in kinds):
        return pl.Series([None if value is None else str(value) for value in items], dtype=pl.String)
    raise DataError(_mixed_message(items, what, first))


def with_none(values: Iterable[Any]) -> Sequence[Any]:
    """The same values with None for whatever says "missing": NaN, and the NA and NaT of pandas."""
    items: Sequence[Any] = values if isinstance(values, (list, tuple)) else list(values)
    kinds = {type(value) for value in items}
    floats = {kind for kind in kinds if issubclass(kind, (float, np.floating))}
    # By name: pandas need not be there, and comparing its NA gives no truth value.
    missing = {kind for kind in kinds if kind.__name__ in _PANDAS_MISSING and "pandas" in kind.__module__}
    if not floats | missing:
        return items
    return [None if type(v) in missing or (type(v) in floats and math.isnan(v)) else v for v in items]


def _from_ints(items: Sequence[Any], what: str, first: int) -> pl.Series:
    try:
        return pl.Series([None if value is None else int(value) for value in items], dtype=pl.Int64)
    except (OverflowError, TypeError) as error:
        row = next(i for i, v in enumerate(items) if v is not None and not -(2**63) <= int(v) < 2**63)
        raise DataError(
            f"{what}: row {row + first} has the id {items[row]}, which does not fit into 64 signed bits."
        ) from error


def _mixed_message(items: Sequence[Any], what: str, start: int) -> str:
    first: dict[str, tuple[int, Any]] = {}
    for row, value in enumerate(items):
        if value is not None:
            first.setdefault(type(value).__name__, (row, value))
    shown = ", ".join(
        f"{value!r} ({kind}, row {row + start})" for kind, (row, value) in list(first.items())[:3]
    )
    if len(first) == 1:
        return f"{what}: {shown} cannot be an id; convert the ids to integers or strings."
    return f"{what}: ids of mixed type: {shown}; make them all integers or all strings."


def close_matches(wanted: str, known: Sequence[str]) -> str:
    """`` (did you mean 'x'?)`` when something similar is known, else an empty string."""
    matches = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    if not matches:
        lowered = {name.lower(): name for name in known}
        matches = difflib.get_close_matches(wanted.lower(), list(lowered), n=1, cutoff=0.6)
        matches = [lowered[name] for name in matches]
    return f" (did you mean {matches[0]!r}?)" if matches else ""
