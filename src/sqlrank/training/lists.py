"""From interactions to the arrays that the engine makes lists of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core


@dataclass(frozen=True)
class ListData:
    """The users' events, user by user: ascending items (implicit), or the best level first (explicit)."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    levels: NDArray[np.float32] | None
    catalogue: int

    @property
    def n_users(self) -> int:
        """How many lists there are."""
        return len(self.starts) - 1

    @classmethod
    def from_rows(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        catalogue: int,
        threads: int,
    ) -> ListData:
        """Make list data from compressed rows; with values the lists are explicit, without they are implicit."""
        if values is None:
            return cls(indptr, indices, None, catalogue)
        items, levels = np.empty_like(indices), np.empty_like(values)
        _core.sort_by_level(indptr, indices, values, items, levels, threads)
        return cls(indptr, items, levels, catalogue)
