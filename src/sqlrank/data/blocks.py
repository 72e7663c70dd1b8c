"""Bytes of a text file, decompressed, in blocks that end where a record ends."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sqlrank.data.sources import reading
from sqlrank.errors import DataError

__all__ = ["Block", "first_bytes", "text_blocks"]

_CHUNK = 1 << 23
_LONGEST_RECORD = 1 << 28
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_WITHIN_UTF8 = ("utf-8", "utf-8-sig", "ascii")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Block:
    """Whole records; ``line`` is the number of the first line, counted from 1."""

    data: bytes
    line: int


def first_bytes(path: Path, n: int = 4) -> bytes:
    """The first bytes of the file as it lies on the disk."""
    with path.open("rb") as file:
        return file.read(n)


def text_blocks(path: Path, encoding: str, quote: str | None) -> Iterator[Block]:
    """The file's text as UTF-8 in blocks of whole records; gzip and zstd are unpacked."""
    with reading(str(path)):
        chunks = _chunks(path, encoding)
        yield from _records(_utf8(chunks, path, encoding), path, quote.encode() if quote else None)


def _chunks(path: Path, encoding: str) -> Iterator[bytes]:
    magic = first_bytes(path)
    if magic == _ZSTD:
        yield from _zstd_lines(path, encoding)
        return
    with gzip.open(path) if magic.startswith(_GZIP) else path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _zstd_lines(path: Path, encoding: str) -> Iterator[bytes]:
    # Python learns zstd in 3.14; until then polars unpacks it, and it takes nothing but UTF-8.
    advice = "zstd files are read as UTF-8 only: pack it with gzip, or convert it to UTF-8 first."
    if codecs.lookup(encoding).name not in _WITHIN_UTF8:
        raise DataError(f"{path} cannot be read with encoding={encoding!r}; {advice}")
    try:
        for frame in pl.scan_lines(path, name="line", glob=False).collect_batches():
            yield "\n".join(frame["line"].to_list()).encode() + b"\n"
    except pl.exceptions.ComputeError as error:
        if "utf8" not in str(error):
            raise
        raise DataError(f"{path} is not UTF-8; {advice}") from error


def _utf8(chunks: Iterable[bytes], path: Path, encoding: str) -> Iterator[bytes]:
    """The chunks as UTF-8 without a byte order mark (UTF-8 itself is checked by the parser)."""
    native = codecs.lookup(encoding).name == "utf-8"
    decode = codecs.getincrementaldecoder(encoding)().decode
    for position, chunk in enumerate(chunks):
        if position == 0 and native and chunk.startswith(_UTF16):
            raise DataError(f"{path} is UTF-16, not UTF-8; pass encoding='utf-16'.")
        text = chunk if native else decode(chunk).encode()
        yield text.removeprefix(codecs.BOM_UTF8) if position == 0 else text


def _records(chunks: Iterable[bytes], path: Path, quote: bytes | None) -> Iterator[Block]:
    line, rest = 1, b""
    for chunk in chunks:
        rest += chunk
        cut = _last_record_end(rest, quote)
        if cut:
            yield Block(rest[:cut], line)
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]
        elif len(rest) > _LONGEST_RECORD:
            raise DataError(_endless(path, line, rest, quote))
    if rest:
        if quote and rest.count(quote) % 2:
            raise DataError(_endless(path, line, rest, quote))
        yield Block(rest, line)


def _last_record_end(data: bytes, quote: bytes | None) -> int:
    """The end of the last line outside quotes: one before which the number of quotes is even."""
    end = data.rfind(b"\n")
    if quote is None or end < 0:
        return end + 1
    quotes = data.count(quote, 0, end + 1)
    while end >= 0 and quotes % 2:
        previous = data.rfind(b"\n", 0, end)
        quotes -= data.count(quote, previous + 1, end + 1)
        end = previous
    return end + 1


def _endless(path: Path, line: int, rest: bytes, quote: bytes | None) -> str:
    if quote is None or quote not in rest:
        return (
            f"{path}, line {line}: this line is longer than {_LONGEST_RECORD >> 20} MB; is this a text file?"
        )
    opened = line
    for number, text in enumerate(rest.split(b"\n")):
        if text.count(quote) % 2:
            opened = line + number
            break
    return (
        f"{path}, line {opened}: the quote {quote.decode()} is opened here and never closed; "
        "if the file uses it as an ordinary character, pass quote=None."
    )
