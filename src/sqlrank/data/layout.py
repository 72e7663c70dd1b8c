"""From loose (user, item) pairs to compressed rows and back: the array work behind ``Interactions``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._threads import resolve_threads

__all__ = ["Rows", "compressed_rows", "merge_rows", "offsets_of", "ranges_of", "transpose"]

_POLICIES = {"error": 0, "first": 1, "last": 2, "max": 3, "sum": 4, "mean": 5}


class Rows(NamedTuple):
    """Events in canonical order: by user code, then item code."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32] | None
    timestamps: NDArray[np.int64] | None


def compressed_rows(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    values: NDArray[np.float32] | None,
    timestamps: NDArray[np.int64] | None,
    n_users: int,
    threads: int | None = None,
    duplicates: str = "error",
) -> Rows:
    """Bring (user, item) pairs into canonical order; with "error" they are known to be distinct."""
    workers = resolve_threads(threads)
    counts = np.zeros(n_users, np.int64)
    _core.count_codes(users, None, counts)
    indptr = offsets_of(counts)
    places = users.copy()
    _core.positions(places, None, indptr[:-1].copy())
    positions = places.view(np.uint32)
    indices = np.empty(len(users), np.int32)
    _core.scatter_codes(items, positions, None, indices, workers)
    new_values, new_times = None, None
    if values is not None:
        new_values = np.empty(len(users), np.float32)
        _core.scatter_values(values, positions, new_values, workers)
    if timestamps is not None:
        new_times = np.empty(len(users), np.int64)
        _core.scatter_times(timestamps, positions, new_times, workers)
    return merge_rows(Rows(indptr, indices, new_values, new_times), duplicates, workers)[0]


def merge_rows(rows: Rows, duplicates: str, threads: int) -> tuple[Rows, int]:
    """Sort every row by item in place and merge equal pairs; also says how many events were beyond the first.

    With "error" nothing is merged: the caller decides what to say about the pairs.
    """
    indptr, indices, values, timestamps = rows
    if duplicates == "sum" and values is None:
        values = np.ones(len(indices), np.float32)  # the sum of events without a value is their number
    kept = np.empty(len(indptr) - 1, np.int64)
    extra = _core.sort_rows(indptr, indices, values, timestamps, _POLICIES[duplicates], kept, threads)
    if extra and duplicates != "error":
        new_indptr = np.empty_like(indptr)
        _core.compact_rows(indptr, indices, values, timestamps, kept, new_indptr)
        indptr = new_indptr
        for array in (indices, values, timestamps):
            _shrink(array, int(indptr[-1]))
    return Rows(indptr, indices, values, timestamps), extra


def _shrink(array: NDArray[Any] | None, n: int) -> None:
    """Give the memory behind the first n elements back."""
    if array is not None:
        array.resize(n, refcheck=False)


def transpose(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], n_items: int, threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """(offsets, user codes, positions) of the same events item by item, users ascending within an item."""
    offsets = np.empty(n_items + 1, np.int64)
    users = np.empty(len(indices), np.int32)
    order = np.empty(len(indices), np.int64)
    _core.transpose(indptr, indices, offsets, users, order, resolve_threads(threads))
    return offsets, users, order


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each row starts, and the end: an array one longer than ``counts``."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def ranges_of(keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """New code of every old code when only the kept ones remain, in their old order."""
    return (np.cumsum(keep) - 1).astype(np.int32)
