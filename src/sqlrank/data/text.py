"""Delimited text (CSV, TSV, ``::`` …): separator and header found out, every broken line named."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sqlrank.data.blocks import Block, text_blocks
from sqlrank.data.columns import is_usual_name
from sqlrank.data.sources import Batch, Part, reading
from sqlrank.errors import ConfigError, DataError

__all__ = ["TextOptions", "text_part"]

_SEPARATORS = ("::", "\t", ",", ";", "|", " ")
_STAND_IN = b"\x1f"  # the parser knows separators of one byte only: longer ones are replaced by this one
_LINES_TO_LOOK_AT = 20
_NUMBER_OR_DATE = re.compile(r"\s*[-+]?\d[\d\s.,:/TZ+-]*")
_HEADER_NOTES = {
    True: "line 1 was taken for column names; pass header=False if it is an event",
    False: "line 1 was taken for an event; pass header=True if it holds column names",
}


@dataclass(frozen=True)
class TextOptions:
    """How to read delimited text; None means: find out."""

    separator: str | None = None
    header: bool | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"
    by_position: bool = False
    """User and item are positions: nothing says that line 1 holds names."""

    def __post_init__(self) -> None:
        if self.separator == "":
            raise ConfigError("separator='' separates nothing; give one or more characters.")
        if self.quote is not None and (len(self.quote) != 1 or not self.quote.isascii()):
            raise ConfigError(
                f"quote={self.quote!r} must be one ASCII character, or None where nothing is quoted."
            )


@dataclass(frozen=True)
class _Layout:
    separator: str
    columns: Sequence[str]
    header: bool
    quote: str | None
    notes: tuple[str, ...]


def text_part(path: Path, options: TextOptions) -> Part:
    """A delimited text file; its columns arrive as text."""
    start = next(text_blocks(path, options.encoding, None), None)
    if start is None or not start.data.strip():
        raise DataError(f"{path} is empty.")
    layout = _layout(path, start.data, options)

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        records = 0
        for block in text_blocks(path, options.encoding, layout.quote):
            if block.line == 1 and layout.header:
                end = block.data.find(b"\n") + 1 or len(block.data)
                block = Block(block.data[end:], 2)
            if block.data:
                batch = _parsed(path, block, layout, names, records)
                records += batch.frame.height
                yield batch

    return Part(str(path), layout.columns, batches, header=layout.header, text=True, notes=layout.notes)


def _layout(path: Path, data: bytes, options: TextOptions) -> _Layout:
    if b"\n" not in data and b"\r" in data:
        raise DataError(f"{path}: lines end in a lone carriage return; convert them to newlines first.")
    lines = [
        _decoded(line, path, i + 1)
        for i, line in enumerate(data.split(b"\n", _LINES_TO_LOOK_AT)[:-1] or [data])
    ]
    lines = [line.rstrip("\r") for line in lines]
    separator = options.separator or _likely_separator(lines, options.quote)
    quote = options.quote if separator is not None and len(separator) == 1 else None
    first = _fields(lines[0], separator, quote) if separator else [lines[0]]
    if separator is None or len(first) < 2:
        raise DataError(_one_column(path, lines[0], options))
    notes: tuple[str, ...] = ()
    header = options.header
    if header is None:
        header = not any(_is_number(field) for field in first)
        if header and options.by_position:
            header = _names_columns(first, [_fields(line, separator, quote) for line in lines[1:]])
            notes = (_HEADER_NOTES[header],)
    columns = _distinct(first) if header else [f"column_{i + 1}" for i in range(len(first))]
    return _Layout(separator, columns, header, quote, notes)


def _names_columns(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a line without numbers is a header: a usual name, or a word above numbers or dates."""
    if any(is_usual_name(field) for field in first):
        return True
    rows = [row for row in below if len(row) == len(first)]
    words = [i for i, name in enumerate(first) if name.strip() and not re.search(r"\d", name)]
    return bool(rows) and any(all(_NUMBER_OR_DATE.fullmatch(row[i]) for row in rows) for i in words)


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        bad = line[error.start : error.start + 1]
        raise DataError(
            f"{path}, line {number}: the byte {bad!r} is not UTF-8; pass encoding='latin-1' or what it is."
        ) from error


def _fields(line: str, separator: str, quote: str | None) -> list[str]:
    if quote is None or len(separator) > 1 or quote not in line:
        return line.split(separator)
    return next(csv.reader([line], delimiter=separator, quotechar=quote))


def _likely_separator(lines: Sequence[str], quote: str | None) -> str | None:
    """The one by which most lines fall into as many fields as the first line; the most fields win a tie."""
    best, best_score = None, (0, 1)
    for separator in _SEPARATORS:
        sizes = [len(_fields(line, separator, quote)) for line in lines if line.strip()]
        score = (sum(size == sizes[0] for size in sizes), sizes[0]) if sizes and sizes[0] > 1 else (0, 1)
        if score > best_score:
            best, best_score = separator, score
    return best


def _one_column(path: Path, line: str, options: TextOptions) -> str:
    shown = line if len(line) <= 80 else line[:77] + "..."
    if options.separator is None:
        return f"{path}, line 1: no usual separator splits {shown!r}; pass separator= if there is one."
    others = [s for s in _SEPARATORS if s != options.separator and len(_fields(line, s, options.quote)) > 1]
    hint = f"; {' or '.join(repr(s) for s in others)} would split it" if others else ""
    return f"{path}, line 1: the separator {options.separator!r} leaves one column, {shown!r}{hint}."


def _is_number(field: str) -> bool:
    try:
        float(field.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _distinct(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    columns = []
    for name in (name.strip() for name in names):
        seen[name] = seen.get(name, 0) + 1
        columns.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return columns


def _parsed(path: Path, block: Block, layout: _Layout, names: Mapping[str, str], records: int) -> Batch:
    data, separator = block.data, layout.separator
    if len(separator) > 1 or not separator.isascii():
        if _STAND_IN in data:
            raise DataError(f"{path}: text that contains the byte 0x1f cannot be split at {separator!r}.")
        data, separator = data.replace(separator.encode(), _STAND_IN), _STAND_IN.decode()
    # Positions as names: the file's own may be empty. The last column shows where a line is too short.
    schema = {str(i): pl.String for i in range(len(layout.columns))}
    wanted = {role: layout.columns.index(name) for role, name in names.items()}
    last = len(layout.columns) - 1
    try:
        frame = (
            pl.scan_csv(
                data,
                has_header=False,
                schema=schema,
                separator=separator,
                quote_char=layout.quote,
                infer_schema=False,
            )
            .select(
                *(pl.col(str(i)).alias(role) for role, i in wanted.items()), pl.col(str(last)).alias("last")
            )
            .collect()
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _explain(path, block, layout)
        with reading(
            f"{path}, block from line {block.line} on", "; if quotes are ordinary characters pass quote=None"
        ):
            raise error
    return _checked(path, block, layout, frame, records)


def _checked(path: Path, block: Block, layout: _Layout, frame: pl.DataFrame, records: int) -> Batch:
    """Name short lines, skip blank ones, and number the rest."""
    lines = block.data.count(b"\n") + (not block.data.endswith(b"\n"))
    by_line = lines == frame.height
    unit, first = ("line", block.line) if by_line else ("row", records + 1)
    suspects = frame["last"].is_null()
    frame = frame.drop("last")
    if not suspects.any():
        return Batch(frame, first, unit)
    if not by_line:
        return Batch(frame, first, unit, skip=_explain(path, block, layout, frame.height))
    texts = block.data.split(b"\n")
    blank = []
    for row in suspects.arg_true().to_list():
        text = _decoded(texts[row].rstrip(b"\r"), path, block.line + row)
        if not text.strip():
            blank.append(row)
        else:
            _check_width(path, block.line + row, len(_fields(text, layout.separator, layout.quote)), layout)
    return Batch(frame, first, unit, skip=tuple(blank))


def _check_width(path: Path, line: int, width: int, layout: _Layout) -> None:
    if width != len(layout.columns):
        raise DataError(
            f"{path}, line {line}: {width} field{'s' if width != 1 else ''} where line 1 has "
            f"{len(layout.columns)} (separator {layout.separator!r})."
        )


def _explain(path: Path, block: Block, layout: _Layout, records: int = 0) -> tuple[int, ...]:
    """Slow and exact: raise for the first line that is not text or not as wide as the first one.

    Returns which of the first ``records`` records are blank lines.
    """
    texts = [_decoded(line, path, block.line + i) for i, line in enumerate(block.data.split(b"\n"))]
    blank = []
    with reading(f"{path}, block from line {block.line} on"):
        for number, (line, row) in enumerate(_rows(texts, layout)):
            if not row or (len(row) == 1 and not row[0].strip()):
                blank.append(number)
            else:
                _check_width(path, block.line + line, len(row), layout)
    return tuple(number for number in blank if number < records)


def _rows(texts: Sequence[str], layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """The fields of every record and the line, counted from 0, on which it starts."""
    if layout.quote is None:
        yield from ((line, text.rstrip("\r").split(layout.separator)) for line, text in enumerate(texts))
        return
    rows = csv.reader((text + "\n" for text in texts), delimiter=layout.separator, quotechar=layout.quote)
    line = 0
    for row in rows:
        yield line, row
        line = rows.line_num
