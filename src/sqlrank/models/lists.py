"""Lists of item codes, one per user: what was seen, what is denied, what is allowed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ItemLists"]


class ItemLists(NamedTuple):
    """Row ``r`` holds ``indices[indptr[r]:indptr[r + 1]]``: item codes, ascending and distinct.

    >>> lists = ItemLists.from_pairs([0, 1, 1], [7, 5, 2], n_rows=2)
    >>> lists.row(1)
    array([2, 5], dtype=int32)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def from_pairs(cls, rows: object, items: object, n_rows: int) -> ItemLists:
        """From (row, item) pairs in any order; a pair given twice counts once."""
        row_numbers = np.asarray(rows, np.int64)
        codes = np.asarray(items, np.int64)
        # One integer per pair sorts both at once: rows above, codes (below 2**31) beneath.
        keys = np.unique((row_numbers << 31) | codes)
        counts = np.bincount(keys >> 31, minlength=n_rows)
        return cls(offsets(counts), (keys & 0x7FFFFFFF).astype(np.int32))

    @property
    def n_rows(self) -> int:
        """How many lists there are."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of every list."""
        return np.diff(self.indptr)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The row of every entry."""
        return np.repeat(np.arange(self.n_rows), self.lengths)

    def row(self, number: int) -> NDArray[np.int32]:
        """One list."""
        return self.indices[self.indptr[number] : self.indptr[number + 1]]

    def take(self, rows: NDArray[np.int32]) -> ItemLists:
        """These rows, in this order; a row may be asked for twice."""
        if len(rows) == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            return self
        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        indptr = offsets(lengths)
        positions = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        return ItemLists(indptr, self.indices[positions])

    def union(self, other: ItemLists | None) -> ItemLists:
        """Row by row, the items of either."""
        if other is None or len(other.indices) == 0:
            return self
        if len(self.indices) == 0:
            return other
        rows = np.concatenate([self.row_numbers, other.row_numbers])
        return ItemLists.from_pairs(rows, np.concatenate([self.indices, other.indices]), self.n_rows)


def offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each list starts, and the end."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr
