"""Arrays in the safetensors format, written as a stream and mapped into memory.

The format is eight bytes of header length, a JSON header, and the arrays' bytes without gaps. The package of that name
copies what it reads; a model that many workers share should be mapped, and its rows should start on cache lines: hence
the padding of the header (which the format allows) and the order of the arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import FormatError

__all__ = ["header_of", "map_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(text): name for name, text in _TYPES.items()}
_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 24


def write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name; those that fill whole cache lines come first, so that they start on one."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    ordered = sorted(whole, key=lambda name: _place(name, whole[name]))
    header: dict[str, Any] = {}
    end = 0
    for name in ordered:
        array = whole[name]
        if array.dtype not in _NAMES:
            raise FormatError(f"Array {name!r} is of type {array.dtype}, which a model file cannot hold.")
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in ordered:
        file.write(whole[name].reshape(-1).view(np.uint8).data)


def _place(name: str, array: NDArray[Any]) -> tuple[bool, int, str]:
    return array.nbytes % _ALIGNMENT != 0, -array.dtype.itemsize, name


def header_of(path: Path) -> bytes:
    """The bytes before the arrays: enough to know that the file is of the kind and length it should be."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise FormatError(f"{path} is damaged: its header claims to be {length} bytes long.")
        file.seek(0)
        header = file.read(8 + length)
    if len(header) < 8 + length or length < 2:
        raise FormatError(f"{path} is truncated: it ends within its header.")
    return header


def map_arrays(path: Path) -> Arrays:
    """Read-only arrays that live in the file; nothing but the header is read."""
    header = header_of(path)
    try:
        entries = json.loads(header[8:])
        entries.pop("__metadata__", None)
        size = path.stat().st_size - len(header)
        memory = np.asarray(np.memmap(path, np.uint8, "r", offset=0))[len(header) :]
        arrays = {name: _view(memory, entry) for name, entry in entries.items()}
        used = sum(array.nbytes for array in arrays.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path} is damaged: {error}.") from error
    if used != size:
        raise FormatError(f"{path} holds {size} bytes of arrays where its header names {used}.")
    return arrays


def _view(memory: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(memory):
        raise ValueError(f"an array is said to end at byte {end} of {len(memory)}")
    array = memory[begin:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    return np.require(array, requirements="A")  # ours are aligned; another writer's may need a copy
