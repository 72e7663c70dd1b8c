"""A model whose scores are written down, for tests of the evaluation alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank.data import Interactions, Vocabulary
from sqlrank.data.layout import compressed_rows
from sqlrank.models import ItemLists, RankedLists


class FakeModel:
    """Scores are a dense array users x items; lists are sorted by score, then by item code."""

    def __init__(self, train: Interactions, scores: NDArray[np.float32]) -> None:
        self.users, self.items = train.users, train.items
        self.seen = ItemLists(train.indptr, train.indices)
        self.scores = np.asarray(scores, np.float32)

    def get_params(self) -> dict[str, Any]:
        return {}

    def rank_codes(
        self,
        users: NDArray[np.int32],
        n: int,
        *,
        exclude: tuple[NDArray[np.int64], NDArray[np.int32]] | None,
        candidates: NDArray[np.int32] | None = None,
        threads: int | None = None,
    ) -> RankedLists:
        codes = np.arange(len(self.items), dtype=np.int32) if candidates is None else candidates
        lists = []
        for row, user in enumerate(users):
            out = [] if exclude is None else exclude[1][exclude[0][row] : exclude[0][row + 1]]
            mine = codes[~np.isin(codes, out)]
            lists.append(mine[np.lexsort((mine, -self.scores[user, mine]))][:n])
        indptr = np.cumsum([0, *map(len, lists)])
        items = np.concatenate([*lists, np.empty(0, np.int32)]).astype(np.int32)
        return RankedLists(indptr, items, self.scores[np.repeat(users, np.diff(indptr)), items])

    def score_codes(
        self, users: NDArray[np.int32], items: NDArray[np.int32], threads: int | None = None
    ) -> NDArray[np.float32]:
        return self.scores[users, items]


def interactions(
    pairs: list[tuple[Any, Any]],
    values: list[float] | None = None,
    users: Vocabulary | None = None,
    items: Vocabulary | None = None,
) -> Interactions:
    """Interactions of (user, item) pairs, in given vocabularies or those of the pairs."""
    users = users or Vocabulary.from_values([pair[0] for pair in pairs])
    items = items or Vocabulary.from_values([pair[1] for pair in pairs])
    arrays = compressed_rows(
        users.encode([pair[0] for pair in pairs]),
        items.encode([pair[1] for pair in pairs]),
        None if values is None else np.array(values, np.float32),
        None,
        len(users),
    )
    return Interactions.from_csr(users, items, *arrays)


def random_world(
    seed: int, n_users: int = 40, n_items: int = 30, *, levels: int = 6
) -> tuple[FakeModel, Interactions, Interactions]:
    """A model with many tied scores, and train and test that are disjoint; some users have neither."""
    rng = np.random.default_rng(seed)
    part = rng.choice(3, size=(n_users, n_items), p=[0.7, 0.15, 0.15])
    part[rng.random(n_users) < 0.15] = 0
    users, items = Vocabulary.range(n_users), Vocabulary.range(n_items)
    train, test = (
        interactions([(int(u), int(i)) for u, i in np.argwhere(part == side)], None, users, items)
        for side in (1, 2)
    )
    values = rng.integers(1, 6, len(test)).astype(np.float32)
    graded = Interactions.from_csr(users, items, test.indptr, test.indices, values)
    return FakeModel(train, rng.integers(0, levels, (n_users, n_items))), train, graded
