"""What goes to stdout (data) and to stderr (talk)."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FORMATS",
    "format_of",
    "print_json",
    "print_table",
    "say",
    "table_lines",
    "wrapped",
    "write_table",
]

FORMATS = (".parquet", ".csv", ".tsv", ".ndjson", ".jsonl")


def say(line: str, quiet: bool = False) -> None:
    """Talk: one line on stderr, broken between words where a terminal would break it anywhere."""
    if quiet:
        return
    if sys.stderr.isatty():
        line = wrapped(line)
    print(line, file=sys.stderr, flush=True)


def wrapped(text: str, indent: str = "") -> str:
    """Text broken between words to the width of the terminal; commands and paths stay whole."""
    width = shutil.get_terminal_size((100, 24)).columns
    lines = [
        textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


def print_json(value: Any) -> None:
    """Data for machines: one JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False, default=str))


def print_table(table: pl.DataFrame, indent: str = "") -> None:
    """Data for people: aligned columns on stdout, nothing cut off."""
    for line in table_lines(table):
        print(indent + line)


def table_lines(table: pl.DataFrame) -> list[str]:
    """The table as aligned text: a header, then the rows; numbers to the right."""
    columns = []
    for series in table.iter_columns():
        cells = [series.name, *(_cell(value) for value in series.to_list())]
        width = max(map(_width, cells))
        right = series.dtype.is_numeric()
        columns.append([_padded(cell, width, right) for cell in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def format_of(path: Path) -> str:
    """The suffix of an output file, if it is one we can write."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(f"{path}: the name of an output file ends with {', '.join(FORMATS)}")
    return suffix


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table in the format of its suffix: all of it, or nothing."""
    suffix = format_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if suffix == ".parquet":
            table.write_parquet(fresh)
        elif suffix in (".csv", ".tsv"):
            table.write_csv(fresh, separator="," if suffix == ".csv" else "\t")
        else:
            table.write_ndjson(fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
