"""``RankedLists``: the best items of many users, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank.models.lists import offsets

__all__ = ["RankedLists"]


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Row ``r`` is ``items[indptr[r]:indptr[r + 1]]`` and its ``scores``: best first, ties by lower code.

    A list is shorter than asked for when fewer items compete; nothing is filled up.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of every list."""
        return np.diff(self.indptr)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The row of every entry."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def ranks(self) -> NDArray[np.int32]:
        """The place of every entry within its list, from 1."""
        places = np.arange(1, len(self.items) + 1) - np.repeat(self.indptr[:-1], self.lengths)
        return places.astype(np.int32)

    def row(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Items and scores of one list."""
        span = slice(self.indptr[number], self.indptr[number + 1])
        return self.items[span], self.scores[span]

    @classmethod
    def from_padded(
        cls, items: NDArray[np.int32], scores: NDArray[np.float32], counts: NDArray[np.int32]
    ) -> RankedLists:
        """From rows of equal width of which the first ``counts[r]`` entries are meant."""
        indptr = offsets(counts.astype(np.int64))
        if indptr[-1] == items.size:
            return cls(indptr, items.reshape(-1), scores.reshape(-1))
        used = np.arange(items.shape[1]) < counts[:, None]
        return cls(indptr, items[used], scores[used])

    @classmethod
    def concatenate(cls, parts: Sequence[RankedLists]) -> RankedLists:
        """The lists of several blocks of users, one block after the other."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        items = np.concatenate([np.zeros(0, np.int32), *(part.items for part in parts)])
        scores = np.concatenate([np.zeros(0, np.float32), *(part.scores for part in parts)])
        return cls(offsets(lengths), items, scores)
