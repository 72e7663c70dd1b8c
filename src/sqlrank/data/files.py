"""Paths: a file, a folder of parts, or a glob; parquet, delimited text or NDJSON."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.data.blocks import Block, first_bytes, text_blocks
from sqlrank.data.ids import close_matches
from sqlrank.data.sources import BATCH_ROWS, Batch, Part, object_series, reading
from sqlrank.data.text import TextOptions, text_part
from sqlrank.errors import DataError

__all__ = ["file_parts"]

_PACKED = (".gz", ".zst", ".zstd")
_PARQUET = (".parquet", ".pq", ".parq")
_JSON = (".ndjson", ".jsonl", ".json")
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".tab", ".psv", ".inter")
_COLUMNS_FROM = 1000  # lines of NDJSON in which to look for keys


def file_parts(path: str | Path, options: TextOptions) -> list[Part]:
    """The parts behind a path."""
    return [_part(file, options) for file in _expand(Path(path).expanduser())]


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        return _parts_of_folder(path)
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        base = Path(path.anchor or ".")
        files = sorted(file for file in base.glob(str(path.relative_to(path.anchor))) if file.is_file())
        if files:
            return files
        raise DataError(f"No file matches {path}.")
    raise DataError(f"{path} does not exist{_neighbour(path)}.")


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f", nor does the folder {path.parent}"
    names = [entry.name for entry in path.parent.iterdir()]
    return close_matches(path.name, names)


def _parts_of_folder(folder: Path) -> list[Path]:
    """Data files below the folder, in the order of their names; hidden ones and _SUCCESS are not data."""

    def visible(file: Path) -> bool:
        return not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)

    files = sorted(file for file in folder.rglob("*") if file.is_file() and visible(file))
    kinds = {file: _kind_by_name(file) for file in files}
    parts = [file for file in files if kinds[file] is not None]
    if not parts:
        found = f" (it holds {', '.join(file.name for file in files[:3])})" if files else " (it is empty)"
        raise DataError(f"The folder {folder} holds no parquet, CSV or NDJSON parts{found}.")
    if len({kinds[part] for part in parts}) > 1:
        shown = " and ".join(sorted({str(kinds[part]) for part in parts}))
        raise DataError(
            f"The folder {folder} mixes {shown} files; pick one kind with a glob such as {folder}/*.csv."
        )
    return parts


def _kind_by_name(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    kinds = (("parquet", _PARQUET), ("NDJSON", _JSON), ("text", _TEXT))
    return next((kind for kind, known in kinds if suffix in known), None)


def _part(path: Path, options: TextOptions) -> Part:
    with reading(str(path)):
        magic = first_bytes(path)
    if not magic:
        raise DataError(f"{path} is empty (0 bytes).")
    if magic == b"PAR1" or _kind_by_name(path) == "parquet":
        return _parquet_part(path)
    if magic.startswith(b"PK\x03\x04"):
        raise DataError(f"{path} is a zip archive or a spreadsheet; unpack it, or export it as CSV.")
    if _kind_by_name(path) == "NDJSON":
        return _json_part(path, options.encoding)
    return text_part(path, options)


def _parquet_part(path: Path) -> Part:
    advice = " as parquet (truncated, damaged, or something else?)"
    with reading(str(path), advice):
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        columns = lazy.collect_schema().names()
        rows = int(lazy.select(pl.len()).collect().item())

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        query = lazy.select(pl.col(name).alias(role) for role, name in names.items())
        # Slices, not a streaming query: one that prefetches keeps many row groups in memory at once.
        for start in range(0, rows, BATCH_ROWS):
            with reading(str(path), advice):
                frame = query.slice(start, BATCH_ROWS).collect()
            yield Batch(frame, start + 1)

    return Part(str(path), columns, batches, rows=rows)


def _json_part(path: Path, encoding: str) -> Part:
    columns = _json_columns(path, encoding)

    def batches(names: Mapping[str, str]) -> Iterator[Batch]:
        for first, records in _json_batches(path, encoding):
            frame = pl.DataFrame(
                {
                    role: object_series(
                        [r.get(name) for r in records], role, f"{path}, column {name!r}", first
                    )
                    for role, name in names.items()
                }
            )
            yield Batch(frame, first, "line")

    return Part(str(path), columns, batches)


def _json_columns(path: Path, encoding: str) -> list[str]:
    for _, records in _json_batches(path, encoding, size=_COLUMNS_FROM):
        return list(dict.fromkeys(key for record in records for key in record))
    raise DataError(f"{path} is empty.")


def _json_batches(
    path: Path, encoding: str, size: int = BATCH_ROWS // 4
) -> Iterator[tuple[int, Sequence[Mapping[str, Any]]]]:
    for block in text_blocks(path, encoding, None):
        lines = block.data.rstrip(b"\r\n").split(b"\n")
        for start in range(0, len(lines), size):
            chunk = lines[start : start + size]
            yield (
                block.line + start,
                [_json_record(path, block, start + i, line) for i, line in enumerate(chunk)],
            )


def _json_record(path: Path, block: Block, offset: int, line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}, line {block.line + offset}: not a JSON object: {error}.") from error
    if not isinstance(record, dict):
        raise DataError(
            f"{path}, line {block.line + offset}: expected one JSON object per line (NDJSON), "
            f"got {type(record).__name__}."
        )
    return record
