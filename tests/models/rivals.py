"""What the tests of the rivals share: a small world of two tastes, ratings and events of it."""

import numpy as np

from sqlrank import Interactions
from sqlrank.data import Vocabulary


def two_tastes(n_users=60, n_items=40, length=20, explicit=False, seed=0):
    """Users like items of their own parity: implicit users only have these, explicit ones rate them 4 or 5."""
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for user in range(n_users):
        pool = np.arange(n_items) if explicit else np.arange(user % 2, n_items, 2)
        row = np.sort(rng.choice(pool, min(length, len(pool)) - (0 if explicit else 5), replace=False))
        rows.append(row)
        liked = row % 2 == user % 2
        values.append(np.where(liked, rng.integers(4, 6, len(row)), rng.integers(1, 3, len(row))))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Interactions.from_csr(
        Vocabulary.range(n_users),
        Vocabulary.range(n_items),
        indptr,
        np.concatenate(rows).astype(np.int32),
        np.concatenate(values).astype(np.float32) if explicit else None,
    )


def taste_share(model, n=5):
    """The share of recommended items that are of the user's parity."""
    table = model.recommend(n=n)
    return float((table["user"] % 2 == table["item"] % 2).mean())
