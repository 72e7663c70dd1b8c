"""Tables in the user's own ids."""

from __future__ import annotations

import numpy as np
import polars as pl

from sqlrank.data import Vocabulary
from sqlrank.models.ranked import RankedLists

__all__ = ["ranked_table"]


def ranked_table(
    owners: pl.Series, ranked: RankedLists, items: Vocabulary, *, owner: str = "user", item: str = "item"
) -> pl.DataFrame:
    """One row per list entry: whose list, which item, its score, and its rank from 1."""
    rows = pl.Series(ranked.row_numbers.astype(np.uint32))
    return pl.DataFrame(
        {
            owner: owners.gather(rows),
            item: items.decode(ranked.items),
            "score": pl.Series(ranked.scores),
            "rank": pl.Series(ranked.ranks),
        }
    )
