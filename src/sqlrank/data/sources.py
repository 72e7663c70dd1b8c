"""Every kind of source as the same thing: parts that yield batches of raw columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sqlrank.data.ids import from_objects, with_none, without_mask
from sqlrank.errors import DataError, SqlrankError

__all__ = ["BATCH_ROWS", "Batch", "Part", "frame_part", "lazy_part", "mapping_part", "reading", "tuple_part"]

BATCH_ROWS = 1 << 18
"""Rows per batch: large enough for parallel decoding, small beside any data that needs streaming."""


@dataclass(frozen=True)
class Batch:
    """Some rows: a frame whose columns are named by role (user, item, rating, time)."""

    frame: pl.DataFrame
    first: int
    """Number of the first row (or line) of this batch, counted from 1 within its part."""
    unit: str = "row"
    skip: tuple[int, ...] = ()
    """Positions that hold no record (blank lines)."""

    def place(self, position: int) -> str:
        """How messages name the row at this position of the frame."""
        return f"{self.unit} {self.first + position}"


@dataclass(frozen=True)
class Part:
    """One file, or one table in memory."""

    name: str
    columns: Sequence[str]
    batches: Callable[[Mapping[str, str]], Iterator[Batch]]
    """Batches of the columns chosen by role."""
    header: bool = True
    text: bool = False
    """Every column arrives as text (CSV), so that types are for the reader to find out."""
    rows: int | None = None
    notes: tuple[str, ...] = ()
    """What was decided about the file, for the report."""


@contextmanager
def reading(name: str, advice: str = "") -> Iterator[None]:
    """Turn whatever a foreign reader throws at a damaged source into one DataError that names it."""
    try:
        yield
    except (SqlrankError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{name} cannot be read{advice}: {first_line}") from error


def _selected(frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return frame.select(pl.col(name).alias(role) for role, name in names.items())


def _sliced(frame: pl.DataFrame) -> Iterator[Batch]:
    for start in range(0, frame.height, BATCH_ROWS):
        yield Batch(frame.slice(start, BATCH_ROWS), start + 1)


def frame_part(name: str, frame: pl.DataFrame) -> Part:
    """A polars table."""
    return Part(name, frame.columns, lambda names: _sliced(_selected(frame, names)), rows=frame.height)


def lazy_part(name: str, lazy: pl.LazyFrame) -> Part:
    """A polars query: run in streaming fashion."""
    with reading(name):
        columns = lazy.collect_schema().names()

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        query = lazy.select(pl.col(name).alias(role) for role, name in names.items())
        first = 1
        with reading(name):
            for frame in query.collect_batches(chunk_size=BATCH_ROWS):
                yield Batch(frame, first)
                first += frame.height

    return Part(name, columns, batches)


def mapping_part(name: str, columns: Sequence[str], column: Callable[[str], Any]) -> Part:
    """Separate columns of any kind: arrays, lists, pandas or Arrow columns."""

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        series = {
            role: to_series(column(key), role, f"{name}, column {key!r}") for role, key in names.items()
        }
        lengths = {names[role]: len(values) for role, values in series.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{key!r} has {n}" for key, n in lengths.items())
            raise DataError(f"{name}: the columns differ in length: {shown}.")
        return _sliced(pl.DataFrame(series))

    return Part(name, columns, batches)


def tuple_part(rows: Iterable[Any]) -> Part:
    """Tuples (user, item), (user, item, rating) or (user, item, rating, time)."""
    iterator = iter(rows)
    name = "the iterator of tuples"
    head = list(itertools.islice(iterator, 1))
    width = _width(head[0], 1, name) if head else 2
    roles = ("user", "item", "rating", "time")[:width]

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        first = 1
        everything = itertools.chain(head, iterator)
        while chunk := list(itertools.islice(everything, BATCH_ROWS)):
            for i, row in enumerate(chunk):
                if _width(row, first + i, name) != width:
                    raise DataError(
                        f"{name}, row {first + i}: {row!r} has {len(row)} fields, row 1 has {width}."
                    )
            fields = dict(zip(roles, zip(*chunk, strict=True), strict=True))
            frame = pl.DataFrame(
                {
                    role: object_series(fields[key], role, f"{name}, column {key!r}", first)
                    for role, key in names.items()
                }
            )
            yield Batch(frame, first)
            first += len(chunk)

    return Part(name, roles, batches)


def _width(row: Any, number: int, name: str) -> int:
    if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or not 2 <= len(row) <= 4:
        raise DataError(f"{name}, row {number}: expected (user, item[, rating[, time]]), got {row!r}.")
    return len(row)


def to_series(values: Any, role: str, where: str) -> pl.Series:
    """One column as a series, whatever holds it."""
    if isinstance(values, np.ma.MaskedArray):
        return without_mask(values, lambda plain: to_series(plain, role, where))
    if isinstance(values, pl.Series):
        return values if values.dtype != pl.Object else object_series(list(values), role, where)
    dtype = getattr(values, "dtype", None)
    if str(dtype) == "object" or isinstance(values, (list, tuple)):
        return object_series(list(values), role, where)
    if isinstance(dtype, np.dtype):
        return _from_array(np.asarray(values), where)
    with reading(where):
        return pl.Series(values)


def _from_array(array: np.ndarray[Any, Any], where: str) -> pl.Series:
    if array.ndim != 1:
        raise DataError(f"{where}: expected a one-dimensional array, got shape {array.shape}.")
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]")
    with reading(where):
        return pl.Series(array.tolist() if array.dtype.kind in "USO" else np.ascontiguousarray(array))


def object_series(values: Sequence[Any], role: str, where: str, first: int = 1) -> pl.Series:
    """A column from Python objects; what is allowed depends on what the column is for."""
    if role in ("user", "item"):
        return from_objects(values, where, first)
    if role == "rating":
        return _rating_objects(values, where, first)
    with reading(where):
        values = with_none(values)
        kinds = {type(value) for value in values} - {type(None)}
        as_floats = bool(kinds) and all(issubclass(kind, (int, float, np.number)) for kind in kinds)
        return pl.Series(values, dtype=pl.Float64 if float in kinds and as_floats else None, strict=True)


def _rating_objects(values: Sequence[Any], where: str, first: int) -> pl.Series:
    values = with_none(values)
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str}:
        return pl.Series(values, dtype=pl.String)
    numbers: list[float | None] = []
    for i, value in enumerate(values):
        try:
            numbers.append(None if value is None else float(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{where}: row {first + i} has {value!r}, which is not a number.") from error
    return pl.Series(numbers, dtype=pl.Float64)
