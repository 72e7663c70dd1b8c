"""``read``: any table of events to ``Interactions``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sqlrank._threads import resolve_threads
from sqlrank.data.assemble import Assembler, Assembly
from sqlrank.data.clean import Cleaner, nothing_left
from sqlrank.data.cleaning import CleaningReport, Step
from sqlrank.data.columns import ColumnChoice, are_positions, choose_columns
from sqlrank.data.files import file_parts
from sqlrank.data.ids import as_ids
from sqlrank.data.interactions import Interactions
from sqlrank.data.options import ReadOptions
from sqlrank.data.sources import Part, frame_part, lazy_part, mapping_part, reading, tuple_part
from sqlrank.data.text import TextOptions
from sqlrank.errors import ConfigError, DataError

__all__ = ["read"]


def read(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | bool | None = None,
    time: str | int | bool | None = None,
    duplicates: str = "auto",
    min_user_events: int = 1,
    min_item_events: int = 1,
    min_value: float | None = None,
    drop_nulls: bool = False,
    null_values: Sequence[Any] | Mapping[str, Sequence[Any]] = (),
    implicit: bool = False,
    time_format: str | None = None,
    decimal_comma: bool = False,
    separator: str | None = None,
    header: bool | None = None,
    quote: str | None = '"',
    encoding: str = "utf-8",
    user_ids: Any = None,
    item_ids: Any = None,
    threads: int | None = None,
    verbose: bool = True,
) -> Interactions:
    """Read events (user, item and optionally a rating and a time) from a file or a table.

    >>> data = read({"user": ["ann", "bob", "ann"], "item": ["tea", "tea", "jam"]}, verbose=False)
    >>> data
    Interactions(2 users × 2 items, 3 events)

    A shop's raw export as implicit feedback: missing customers and returns are dropped and counted, repeat
    purchases merge into the latest::

        sqlrank.read("online_retail.parquet", user="CustomerID", item="StockCode", rating="Quantity",
                     time="InvoiceDate", time_format="%d.%m.%Y %H:%M", null_values={"user": [0]},
                     drop_nulls=True, min_value=1, implicit=True)

    Parameters
    ----------
    source
        A path: parquet, CSV or any delimited text (``::`` too), NDJSON, also gzip or zstd, a folder of
        parts or a glob. Or a table: polars, pandas, pyarrow, a DuckDB relation or anything with an Arrow
        C stream; a dict of columns; a SciPy sparse matrix; an iterable of (user, item[, rating[, time]])
        tuples.
    user, item, rating, time
        Column names, or positions from 0. None: found by the usual names (without a header: by position),
        which is said on stderr. ``rating=False`` or ``time=False`` leaves that column out. Where a text
        file's user and item are positions, its first line counts as an event unless a field is a usual
        column name, or a word above numbers or dates; ``header=`` decides it.
    duplicates
        What becomes of several events of one pair: ``"first"`` or ``"last"`` (by time where there is one,
        else by row), ``"max"``, ``"sum"``, ``"mean"`` of the rating with the last time, or ``"error"``.
        ``"auto"`` is ``"last"`` with times and ``"error"`` without. Without ratings ``"sum"`` counts the
        events.
    min_user_events, min_item_events
        Drop rarer users and items, repeatedly until none is left (k-core).
    min_value
        Drop rows with a smaller rating, before duplicates are merged.
    drop_nulls, null_values
        A missing id, rating or time is an error unless ``drop_nulls``. Empty text, NaN, pandas' NA and
        masked entries are missing, and so are the ``null_values``: a list for all columns, or a mapping
        such as ``{"user": [0]}``.
    implicit
        Use the rating for cleaning only, then forget it.
    time_format, decimal_comma
        How times are written (``"%d.%m.%Y %H:%M"``; default ISO 8601 or integers), and that ratings read
        "2,55". Dates become microseconds since 1970, UTC unless they say otherwise; integers are kept.
    separator, header, quote, encoding
        Of delimited text; separator and header are found out when None. ``quote=None``: nothing is
        quoted.
    user_ids, item_ids
        For a sparse matrix: the ids of its rows and columns (else their numbers).
    threads
        How many threads (None: see :func:`sqlrank.set_threads`); the result does not depend on it.
    verbose
        Say on stderr which columns were guessed and what was dropped; ``data.report`` has it in any case.

    Raises
    ------
    DataError
        For anything wrong with the data; the message names file, row, column and value.
    """
    options = ReadOptions(
        columns={"user": user, "item": item, "rating": rating, "time": time},
        duplicates=duplicates,
        min_user_events=min_user_events,
        min_item_events=min_item_events,
        min_value=min_value,
        drop_nulls=drop_nulls,
        null_values=null_values,
        implicit=implicit,
        time_format=time_format,
        decimal_comma=decimal_comma,
    )
    text = TextOptions(separator, header, quote, encoding, by_position=are_positions(user, item))
    name, parts = _open(source, text, user_ids, item_ids)
    data = _read_parts(name, parts, options, resolve_threads(threads))
    if verbose and (data.report.guessed or data.report.steps or data.report.notes):
        print(data.report, file=sys.stderr)
    return data


def _open(source: Any, text: TextOptions, user_ids: Any, item_ids: Any) -> tuple[str, list[Part]]:
    if hasattr(source, "tocoo"):
        return "the sparse matrix", [_sparse_part(source, user_ids, item_ids)]
    if user_ids is not None or item_ids is not None:
        raise ConfigError("user_ids and item_ids name the rows and columns of a sparse matrix; this is none.")
    if isinstance(source, (str, Path)):
        return str(source), file_parts(source, text)
    part = _table_part(source)
    return part.name, [part]


def _table_part(source: Any) -> Part:
    if isinstance(source, pl.DataFrame):
        return frame_part("the polars table", source)
    if isinstance(source, pl.LazyFrame):
        return lazy_part("the polars query", source)
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        # Column by column, so that a column which nobody asked for cannot fail.
        return _labelled_part("the pandas table", source.columns, source)
    if isinstance(source, Mapping):
        return _labelled_part("the dict", source, source)
    if hasattr(source, "__arrow_c_stream__"):
        name = f"the {type(source).__name__}"
        with reading(name):
            return frame_part(name, pl.DataFrame(source))
    if hasattr(source, "__iter__") and not isinstance(source, (bytes, np.ndarray, pl.Series)):
        return tuple_part(source)
    raise DataError(
        f"Cannot read a {type(source).__name__}; "
        "give a path, a table, a dict of columns, a sparse matrix or an iterable of tuples."
    )


def _labelled_part(name: str, columns: Iterable[Any], table: Any) -> Part:
    labels = {str(label): label for label in columns}  # columns may be called 0, 1, 2
    return mapping_part(name, list(labels), lambda column: table[labels[column]])


def _sparse_part(matrix: Any, user_ids: Any, item_ids: Any) -> Part:
    if len(matrix.shape) != 2:
        raise DataError(f"The sparse matrix has the shape {matrix.shape}; it must be users × items.")
    entries = matrix.tocoo()
    columns: dict[str, pl.Series] = {}
    for side, codes, ids, n in (
        ("user", entries.row, user_ids, entries.shape[0]),
        ("item", entries.col, item_ids, entries.shape[1]),
    ):
        if ids is None:
            columns[side] = pl.Series(np.asarray(codes, np.int64))
            continue
        names = as_ids(ids, f"{side}_ids")
        if len(names) != n:
            raise DataError(f"{side}_ids has {len(names)} ids, but the sparse matrix has {n} {side}s.")
        columns[side] = names.gather(pl.Series(np.asarray(codes, np.int64)))
    if entries.data.dtype.kind not in "biuf":
        raise DataError(f"The sparse matrix holds {entries.data.dtype} values; ratings must be real numbers.")
    return frame_part("the sparse matrix", pl.DataFrame({**columns, "rating": pl.Series(entries.data)}))


def _read_parts(name: str, parts: Sequence[Part], options: ReadOptions, threads: int) -> Interactions:
    choices = [choose_columns(part.columns, options.columns, part.name, header=part.header) for part in parts]
    choice = choices[0]
    for part, other in zip(parts, choices, strict=True):
        if other.names != choice.names:
            raise DataError(
                f"{part.name}: its columns {dict(other.names)} differ from {dict(choice.names)} before it."
            )
    cleaner = Cleaner(options, choice.names)
    known = [part.rows for part in parts]
    assembler = Assembler(
        name,
        threads,
        rows=None if None in known else sum(rows or 0 for rows in known),
        pairs_only=not {"rating", "time"} & cleaner.kept_roles and options.duplicates != "sum",
        from_text=all(part.text for part in parts),
    )
    for part in parts:
        for batch in _guarded(part, choice):
            assembler.add(cleaner.clean(part, batch))
    if assembler.events == 0:
        raise nothing_left(name, cleaner.rows)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return _finished(name, choice, cleaner, assembler, options, notes)


def _guarded(part: Part, choice: ColumnChoice) -> Iterator[Any]:
    with reading(part.name):
        yield from part.batches(choice.names)


def _finished(
    name: str,
    choice: ColumnChoice,
    cleaner: Cleaner,
    assembler: Assembler,
    options: ReadOptions,
    notes: tuple[str, ...],
) -> Interactions:
    policy = options.duplicates
    if policy == "auto":
        policy = "last" if "time" in choice.names else "error"
    if policy in ("max", "mean") and ("rating" not in choice.names or options.implicit):
        raise ConfigError(f"duplicates={policy!r} needs ratings; name their column with rating=.")
    before = assembler.events
    done = assembler.finish(policy)
    if done.merged and policy == "error":
        raise DataError(_duplicates_message(name, done))
    steps = cleaner.steps()
    if done.merged:
        steps.append(Step(f"merged into another event of the same user and item ({policy})", done.merged))
    report = CleaningReport(
        source=name,
        columns=choice.names,
        guessed=choice.guessed,
        rows=cleaner.rows,
        steps=tuple(steps),
        notes=notes,
        events=before - done.merged,
    )
    # The sum of events without ratings is their number: a value that implicit feedback has no use for.
    rows = done.rows._replace(values=None) if options.implicit else done.rows
    data = Interactions.from_csr(done.users, done.items, *rows, report=report)
    return _core_of(data, name, options)


def _core_of(data: Interactions, name: str, options: ReadOptions) -> Interactions:
    if max(options.min_user_events, options.min_item_events) <= 1:
        return data
    data = data.filter(min_user_events=options.min_user_events, min_item_events=options.min_item_events)
    if len(data) == 0:
        raise DataError(
            f"{name}: no event is left after the k-core; lower min_user_events or min_item_events."
        )
    return data


def _duplicates_message(name: str, done: Assembly) -> str:
    indptr, indices = done.rows.indptr, done.rows.indices
    again = np.flatnonzero(indices[1:] == indices[:-1]) + 1
    again = again[~np.isin(again, indptr)]
    users = np.searchsorted(indptr, again, side="right") - 1
    pairs = list(dict.fromkeys(zip(users.tolist(), indices[again].tolist(), strict=True)))[:3]
    shown = ", ".join(f"({done.users.ids[u]!r}, {done.items.ids[i]!r})" for u, i in pairs)
    return (
        f"{name}: {done.merged:,} rows repeat a (user, item) pair that was there before, such as {shown}; "
        "pass duplicates='last' (or first, max, sum, mean), or time= so that the latest one counts."
    )
