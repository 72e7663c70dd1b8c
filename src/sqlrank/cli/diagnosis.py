"""Looks at the raw table behind a file and says which flags it needs, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from sqlrank.cli.common import Reading
from sqlrank.data.columns import ColumnChoice, are_positions, choose_columns
from sqlrank.data.convert import with_nulls
from sqlrank.data.files import file_parts
from sqlrank.data.options import ReadOptions
from sqlrank.data.text import TextOptions
from sqlrank.errors import DataError

__all__ = ["Diagnosis", "Finding", "diagnose"]

_ROWS = 1 << 20
_TIMES = (
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d",
    "%Y%m%d",
)
_AMOUNTS = (
    "quantity",
    "qty",
    "count",
    "plays",
    "playcount",
    "amount",
    "units",
    "pieces",
    "weight",
    "listens",
)
_NOBODY = ("0", "-1", "null", "none", "na", "n/a", "nan", "unknown", "anonymous", "guest")


@dataclass(frozen=True)
class Finding:
    """Something about the data, and the flags that deal with it."""

    text: str
    flags: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The raw table, the roles of its columns, and what was found."""

    raw: pl.DataFrame
    whole: bool
    """Whether the raw table is the whole file, or its beginning."""
    choice: ColumnChoice
    reading: Reading
    """How to read the file: what was asked for, and what was found to be needed."""
    findings: list[Finding] = field(default_factory=list)


def diagnose(path: str, reading: Reading) -> Diagnosis:
    """Look at a file; what was asked for with flags is taken as given."""
    wanted: Mapping[str, Any] = {
        role: reading.arguments()[role] for role in ("user", "item", "rating", "time")
    }
    places = are_positions(wanted["user"], wanted["item"])
    options = TextOptions(reading.separator, reading.header, encoding=reading.encoding, by_position=places)
    parts = file_parts(path, options)
    choice = choose_columns(parts[0].columns, wanted, path, header=parts[0].header)
    raw, whole = _raw(parts)
    found = Diagnosis(raw, whole, choice, reading)
    if parts[0].header is False and len(parts[0].columns) > 20:
        text = (
            f"{len(parts[0].columns)} columns without names: this looks like a matrix of users and items; sqlrank "
            "reads one row per event (in Python, sqlrank.read takes SciPy matrices)"
        )
        found = _with(found, text)
    for look in (_missing, _nobody, _amounts, _commas, _times, _repeats):
        found = look(found)
    return found


def _raw(parts: Any) -> tuple[pl.DataFrame, bool]:
    frames: list[pl.DataFrame] = []
    rows = 0
    for part in parts:
        for batch in part.batches({name: name for name in part.columns}):
            frames.append(batch.frame)
            rows += batch.frame.height
            if rows >= _ROWS:
                return pl.concat(frames, how="vertical_relaxed"), False
    if not frames:
        raise DataError(f"{parts[0].name} has no rows")
    return pl.concat(frames, how="vertical_relaxed"), True


def _with(found: Diagnosis, text: str, **changes: Any) -> Diagnosis:
    reading = replace(found.reading, **changes)
    finding = Finding(text, Reading(**changes).flags())
    return replace(found, reading=reading, findings=[*found.findings, finding])


def _missing(found: Diagnosis) -> Diagnosis:
    if found.reading.drop_nulls:
        return found
    options = ReadOptions(null_values=found.reading.arguments()["null_values"])
    for role, name in found.choice.names.items():
        column = with_nulls(found.raw[name], options.nulls_of(role))
        blank = (column.cast(pl.String).str.strip_chars() == "").fill_null(False)
        empty = int((column.is_null() | blank).sum())
        if empty == len(column) and found.whole and role in ("rating", "time"):
            found = _with(found, f"no row has a {role}: do without", **{role: "none"})
        elif empty:
            so = "they can teach nothing" if role in ("user", "item") else "drop those"
            found = _with(found, f"{empty:,} rows have no {role}: {so}", drop_nulls=True)
    return found


def _nobody(found: Diagnosis) -> Diagnosis:
    for role in ("user", "item"):
        column = found.raw[found.choice.names[role]]
        texts = column.cast(pl.String).str.strip_chars().str.to_lowercase()
        if found.reading.null_values:
            continue
        for word in _NOBODY:
            rows = int((texts == word).sum())
            # One of many ids may well be 0; one that has a hundredth of all rows is a stand-in.
            if rows > 0.01 * len(column) and rows > 10:
                raw_word = column.cast(pl.String).filter(texts == word)[0]
                text = (
                    f"{role} {raw_word!r} has {rows / len(column):.0%} of all rows: it looks like 'unknown'"
                )
                found = _with(found, text, null_values=(f"{role}={raw_word}",), drop_nulls=True)
                break
    return found


def _amounts(found: Diagnosis) -> Diagnosis:
    if "rating" in found.choice.names or found.reading.rating is not None:
        return found
    for name in found.raw.columns:
        if re.sub(r"[\W_]", "", name.lower()) not in _AMOUNTS or name in found.choice.names.values():
            continue
        numbers = _numbers(found.raw[name])
        below = int((numbers < 1).sum())
        if numbers.null_count() == found.raw.height or not below:
            continue
        text = f"{name} is not a rating, but {below:,} rows have less than 1 of it (returns?): drop those"
        choice = replace(found.choice, names={**found.choice.names, "rating": name})
        found = _with(found, text, rating=name, min_value=1.0, implicit=True)
        return replace(found, choice=choice)
    return found


def _commas(found: Diagnosis) -> Diagnosis:
    name = found.choice.names.get("rating")
    if name is None or found.reading.decimal_comma or found.raw[name].dtype != pl.String:
        return found
    if found.raw[name].str.contains(r"^\s*-?\d+,\d+\s*$").any():
        return _with(found, f"{name} is written with a decimal comma", decimal_comma=True)
    return found


def _times(found: Diagnosis) -> Diagnosis:
    name = found.choice.names.get("time")
    if name is None or found.reading.time_format or found.raw[name].dtype != pl.String:
        return found
    texts = found.raw[name].drop_nulls().str.strip_chars()
    sample = texts.head(100_000)
    if len(sample) == 0 or sample.str.contains(r"^-?\d+(\.\d+)?$|^\d{4}-\d\d-\d\d").all():
        return found
    for pattern in _TIMES:
        if sample.str.to_datetime(pattern, strict=False, time_unit="us").null_count() == 0:
            text = f"times are written like {sample[0]!r}"
            return _with(found, text, time_format=pattern)
    text = (
        f"times are written like {sample[0]!r}, which no usual format fits: give --time-format, or do without"
    )
    return _with(found, text, time="none")


def _repeats(found: Diagnosis) -> Diagnosis:
    names = found.choice.names
    rows = found.raw.select(names["user"], names["item"])
    repeats = rows.height - rows.n_unique()
    if not repeats:
        return found
    text = f"{repeats:,} rows repeat a user and item that were there before"
    if "time" in names and found.reading.time != "none":
        return _with(found, f"{text}: the latest one counts")
    if found.reading.duplicates != "auto":
        return found
    return _with(found, f"{text}: take the last of them", duplicates="last")


def _numbers(column: pl.Series) -> pl.Series:
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    text = column.cast(pl.String).str.strip_chars().str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)
