"""From loose (user, item) pairs to compressed rows and back: the array work behind ``Interactions``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "compressed_rows", "ranges_of", "transpose"]


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
) -> Rows:
    """Bring distinct (user, item) pairs into canonical order."""
    order = np.lexsort((items, users))
    return Rows(
        offsets_of(np.bincount(users, minlength=n_users)),
        items[order],
        None if values is None else values[order],
        None if timestamps is None else timestamps[order],
    )


def transpose(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], n_items: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """(offsets, user codes, positions) of the same events item by item, users ascending within an item."""
    order = np.argsort(indices, kind="stable")
    users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return offsets_of(np.bincount(indices, minlength=n_items)), users[order], order


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each row starts, and the end: an array one longer than ``counts``."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def ranges_of(keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """New code of every old code when only the kept ones remain, in their old order."""
    return (np.cumsum(keep) - 1).astype(np.int32)
