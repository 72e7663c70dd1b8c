"""New events joined to those a model has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank.data import Interactions, Vocabulary
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
    users = users.extended(new.users.decode(used_users))
    items = items.extended(new.items.decode(used_items))
    user_map, item_map = np.zeros(new.n_users, np.int64), np.zeros(new.n_items, np.int32)
    user_map[used_users] = users.encode(new.users.decode(used_users))
    item_map[used_items] = items.encode(new.items.decode(used_items))

    rows = np.concatenate([seen.row_numbers, user_map[new.user_codes]])
    codes = np.concatenate([seen.indices, item_map[new.indices]])
    order = np.lexsort((codes, rows))  # stable: of equal pairs the new one comes last
    rows, codes = rows[order], codes[order]
    last = np.ones(len(rows), np.bool_)
    last[:-1] = (rows[1:] != rows[:-1]) | (codes[1:] != codes[:-1])
    if values is not None and new.values is not None:
        values = np.concatenate([values, new.values])[order][last]
    indptr = np.zeros(len(users) + 1, np.int64)
    np.cumsum(np.bincount(rows[last], minlength=len(users)), out=indptr[1:])
    return MergedEvents(users, items, indptr, codes[last].astype(np.int32), values)
