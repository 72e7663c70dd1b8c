"""New events joined to those a model has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank.data import Interactions, Vocabulary
from sqlrank.data.layout import compressed_rows
from sqlrank.models.lists import ItemLists


@dataclass(frozen=True)
class MergedEvents:
    """Old and new events as compressed rows; old ids keep their codes, new ids follow."""

    users: Vocabulary
    items: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32] | None


def merge_events(
    users: Vocabulary,
    items: Vocabulary,
    seen: ItemLists,
    values: NDArray[np.float32] | None,
    new: Interactions,
) -> MergedEvents:
    """Join `new` to the rows of `seen`, whose ratings are `values`. A pair in both takes the new value."""
    used_users = np.flatnonzero(np.diff(new.indptr))
    used_items = np.unique(new.indices)
    user_ids, item_ids = new.users.decode(used_users), new.items.decode(used_items)
    users, items = users.extended(user_ids), items.extended(item_ids)
    user_map, item_map = np.zeros(new.n_users, np.int32), np.zeros(new.n_items, np.int32)
    user_map[used_users] = users.encode(user_ids)
    item_map[used_items] = items.encode(item_ids)

    rows = np.concatenate([seen.row_numbers, user_map[new.user_codes]], dtype=np.int32)
    codes = np.concatenate([seen.indices, item_map[new.indices]])
    values = None if values is None or new.values is None else np.concatenate([values, new.values])
    # The order of equal pairs is kept: the new one is the last.
    merged = compressed_rows(rows, codes, values, None, len(users), duplicates="last")
    return MergedEvents(users, items, merged.indptr, merged.indices, merged.values)
