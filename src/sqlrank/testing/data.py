"""Small data for the contract: made from a seed, with ids as people have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sqlrank.data import Interactions, Vocabulary, read

__all__ = ["example_events", "example_table", "with_silent_ids"]


def example_table(*, ratings: bool = False, seed: int = 0) -> pl.DataFrame:
    """Events of 40 users on 25 items, some items much more popular than others; ratings from 1 to 5 if wanted."""
    random = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(2, 27)
    pairs = random.random((40, 25)) < np.minimum(0.9, 4 * popularity)
    pairs[:, 0] |= ~pairs.any(axis=1)
    pairs[0, :] |= ~pairs.any(axis=0)
    users, items = np.nonzero(pairs)
    columns: dict[str, Any] = {
        "user": [f"user {code:02}" for code in users],
        "item": [f"item {code:02}" for code in items],
    }
    if ratings:
        columns["rating"] = (1 + (users * 7 + items * 3) % 5).astype(np.float32)
    return pl.DataFrame(columns)


def example_events(*, ratings: bool = False, seed: int = 0) -> Interactions:
    """The events of :func:`example_table`, read."""
    return read(example_table(ratings=ratings, seed=seed), verbose=False)


def with_silent_ids(data: Interactions) -> Interactions:
    """The same events, and a user and an item of whom there are none."""
    users = Vocabulary(pl.concat([data.users.ids, pl.Series("id", ["user without events"])]))
    items = Vocabulary(pl.concat([data.items.ids, pl.Series("id", ["item without events"])]))
    return data.with_vocabularies(users, items)
