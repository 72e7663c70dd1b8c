"""Reading the text files that data sets are published in, with errors that name file, row and column."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from sqlrank.errors import DataError

__all__ = ["numbers", "read_bytes", "read_lists", "read_matrix", "read_parquet", "read_text_table"]

_CELL = "\x1f"  # the ASCII unit separator stands in for separators of several characters


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked when its name ends in ``.gz``."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                return stream.read()
        return path.read_bytes()
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read ({error}); it may be incomplete.") from error


def read_parquet(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """These columns of a parquet file."""
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path}: cannot be read as parquet ({error}); it may be incomplete.") from error
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]!r}; it has {', '.join(frame.columns)}.")
    return frame.select(columns)


def read_text_table(
    path: Path, separator: str, columns: Sequence[str], *, encoding: str = "utf-8", key: str | None = None
) -> pl.DataFrame:
    """A file without header as columns of strings; with ``key`` (a numeric column) a header line is left out.

    Nothing is a quote: titles may hold any character but the separator.
    """
    text = _text(path, encoding)
    rows = text.replace(separator, _CELL) if len(separator) > 1 else text
    schema = dict.fromkeys(columns, pl.String)
    try:
        frame = pl.read_csv(
            rows.encode(),
            separator=_CELL if len(separator) > 1 else separator,
            has_header=False,
            schema=schema,
            quote_char=None,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame(schema=schema)
    if frame.height == 0 or frame[columns[-1]].null_count():
        _check_width(path, text, separator, columns)
    if key is not None and frame.height and not str(frame[key][0]).strip().lstrip("-").isdigit():
        frame = frame.slice(1)
    return frame


def numbers(
    frame: pl.DataFrame, types: Mapping[str, pl.DataType | type[pl.DataType]], path: Path
) -> pl.DataFrame:
    """The same table with these columns as numbers."""
    cast = frame.with_columns(
        pl.col(name).str.strip_chars().cast(dtype, strict=False) for name, dtype in types.items()
    )
    for name, dtype in types.items():
        if cast[name].null_count():
            row = int(cast[name].is_null().arg_max() or 0)
            kind = "a number" if dtype in (pl.Float32, pl.Float64) else "a whole number"
            raise DataError(f"{path}: row {row + 1}, column {name!r}: {frame[name][row]!r} is not {kind}.")
    return cast


def read_lists(path: Path) -> pl.DataFrame:
    """LightGCN's layout, one user per line: ``user item item ...`` becomes the columns user and item."""
    lines = pl.Series("line", _text(path, "utf-8").splitlines(), dtype=pl.String)
    words = (
        lines.str.strip_chars()
        .str.replace_all(r"\s+", " ")
        .str.split(" ")
        .list.eval(pl.element().cast(pl.Int64, strict=False))
    )
    bad = words.list.eval(pl.element().is_null()).list.any() & (lines.str.strip_chars() != "")
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(f"{path}: row {row + 1} is not a list of whole numbers: {lines[row][:60]!r}.")
    frame = pl.DataFrame({"user": words.list.first(), "item": words.list.slice(1)})
    pairs = frame.explode("item").drop_nulls()
    if pairs.height == 0:
        raise DataError(f"{path}: holds no events; expected lines such as '0 17 4 23'.")
    return pairs


def read_matrix(path: Path, *, what: str = "ratings") -> pl.DataFrame:
    """A matrix in text form as a table with one column per matrix column (``column_0`` ...)."""
    lines = [line.split() for line in _text(path, "utf-8").splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    width = len(lines[0]) if lines else 0
    if width == 0:
        raise DataError(f"{path}: is empty; expected a matrix of {what}.")
    for row, cells in enumerate(lines):
        if len(cells) != width:
            raise DataError(f"{path}: row {row + 1} has {len(cells)} numbers, the first row has {width}.")
    names = [f"column_{j}" for j in range(width)]
    frame = pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row")
    return numbers(frame, dict.fromkeys(names, pl.Float64), path)


def _text(path: Path, encoding: str) -> str:
    content = read_bytes(path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        # Old files are latin-1, in which every byte is a character; converted copies of them are UTF-8. Latin-1
        # text that happens to be valid UTF-8, accents and all, does not occur.
        if encoding == "latin-1":
            return content.decode(encoding)
        row = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}: row {row} is not {encoding} text.") from error


def _check_width(path: Path, text: str, separator: str, columns: Sequence[str]) -> None:
    """Name the first row that has too few or too many fields."""
    lines = text.splitlines()
    if not any(lines):
        raise DataError(f"{path}: is empty; expected {separator.join(columns)} in every row.")
    for row, line in enumerate(lines):
        fields = line.count(separator) + 1
        if line and fields != len(columns):
            raise DataError(
                f"{path}: row {row + 1} has {fields} fields where {len(columns)} are expected "
                f"({separator.join(columns)}): {line[:60]!r}."
            )
