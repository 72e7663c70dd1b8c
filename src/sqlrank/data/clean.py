"""Batch by batch: convert every column, drop what the options allow to drop, and count it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from sqlrank.data.cleaning import Step
from sqlrank.data.convert import Column, as_rating, as_text_ids, as_time, as_typed_ids, with_nulls
from sqlrank.data.options import ReadOptions
from sqlrank.data.sources import Batch, Part
from sqlrank.errors import ConfigError, DataError

__all__ = ["Cleaner"]

_MISSING = {"user": "user id", "item": "item id", "rating": "rating", "time": "time"}


@dataclass
class _Tally:
    rows: int = 0
    below: int = 0
    negative: int = 0


class Cleaner:
    """Turns raw batches into clean frames (user, item, rating, time) and remembers the counts."""

    def __init__(self, options: ReadOptions, names: Mapping[str, str]) -> None:
        if options.min_value is not None and "rating" not in names:
            raise ConfigError(
                f"min_value={options.min_value:g} needs a rating column; name one with rating=."
            )
        self._options = options
        self._names = names
        self._id_types: dict[str, pl.DataType] = {}
        self._time_kind = ""
        self._nulls: Counter[str] = Counter()
        self._tally = _Tally()

    @property
    def rows(self) -> int:
        """Rows seen so far."""
        return self._tally.rows

    @property
    def kept_roles(self) -> set[str]:
        """The columns that clean batches have."""
        return set(self._names) - ({"rating"} if self._options.implicit else set())

    def clean(self, part: Part, batch: Batch) -> pl.DataFrame:
        """The rows of this batch that stay: ids as Int64 or String, rating Float32, time Int64, no nulls."""
        columns = {
            role: Column(part.name, name, batch, with_nulls(batch.frame[role], self._options.nulls_of(role)))
            for role, name in self._names.items()
        }
        frame = pl.DataFrame({role: self._convert(role, column, part) for role, column in columns.items()})
        self._tally.rows += frame.height - len(batch.skip)
        frame = self._without_nulls(frame, columns, batch)
        frame = self._without_small(frame)
        return frame.drop("rating") if self._options.implicit and "rating" in frame else frame

    def steps(self) -> list[Step]:
        """What was dropped, and why."""
        steps = [
            Step(f"without {_MISSING[role]} ({name!r})", self._nulls[role])
            for role, name in self._names.items()
        ]
        if self._options.min_value is not None:
            negative = (
                f" ({self._tally.negative:,} of them negative, such as returns)"
                if self._tally.negative
                else ""
            )
            reason = f"with {self._names['rating']!r} below {self._options.min_value:g}{negative}"
            steps.append(Step(reason, self._tally.below))
        return [step for step in steps if step.rows]

    def _convert(self, role: str, column: Column, part: Part) -> pl.Series:
        if role in ("user", "item"):
            return self._ids(role, column, part)
        if role == "rating":
            return as_rating(column, self._options.decimal_comma)
        times, kind = as_time(column, self._options.time_format)
        if kind and self._time_kind and kind != self._time_kind:
            first = column.values.is_not_null()
            raise column.fail(first, f"the time {{}} does not go with the {self._time_kind} in earlier rows.")
        self._time_kind = self._time_kind or kind
        return times

    def _ids(self, role: str, column: Column, part: Part) -> pl.Series:
        before = self._id_types.get(role)
        if part.text:
            ids = column.values if before == pl.String else as_text_ids(column)
        else:
            ids = as_typed_ids(column)
            if before is not None and ids.dtype != before and ids.null_count() < len(ids):
                mine, earlier = ("integers", "strings") if ids.dtype == pl.Int64 else ("strings", "integers")
                problem = (
                    f"the {_MISSING[role]} {{}} is of mixed type: earlier rows hold {earlier}, these {mine}."
                )
                raise column.fail(ids.is_not_null(), problem)
        if ids.null_count() < len(ids):
            self._id_types[role] = ids.dtype
        return ids

    def _without_nulls(
        self, frame: pl.DataFrame, columns: Mapping[str, Column], batch: Batch
    ) -> pl.DataFrame:
        if not any(frame[role].null_count() for role in frame.columns):
            return frame
        gone = pl.Series([False]).new_from_index(0, frame.height)
        if batch.skip:
            gone = gone.scatter(list(batch.skip), True)
        for role, column in columns.items():
            nulls = frame[role].is_null() & ~gone
            count = int(nulls.sum())
            if count and not self._options.drop_nulls:
                wanted = "the " + _MISSING[role] + " is missing"
                raise column.fail(
                    nulls, f"{wanted}; pass drop_nulls=True to drop such rows and have them counted."
                )
            self._nulls[role] += count
            gone = gone | nulls
        return frame.filter(~gone)

    def _without_small(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self._options.min_value is None:
            return frame
        small = frame["rating"] < self._options.min_value
        self._tally.below += int(small.sum())
        self._tally.negative += int((small & (frame["rating"] < 0)).sum())
        return frame.filter(~small) if small.any() else frame


def nothing_left(source: str, rows: int) -> DataError:
    """The error for a source of which no row remains."""
    if rows == 0:
        return DataError(f"{source} has no rows.")
    return DataError(
        f"{source}: none of its {rows:,} rows is left after cleaning; loosen min_value or drop_nulls."
    )
