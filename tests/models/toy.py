"""Models for tests of what all models share: factors drawn from a seed, scores from a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sqlrank.data import Interactions
from sqlrank.models import FactorModel, ItemLists, ScoreModel
from sqlrank.models.factors import padded
from sqlrank.settings import Settings, setting


@dataclass(frozen=True)
class ToySettings(Settings):
    rank: int = setting(8, "columns", int, low=1)


class ToyFactors(FactorModel):
    """Random factors; a history is folded in as the mean of its item rows."""

    settings_class = ToySettings

    def fit(self, train: Interactions, *, seed: int = 0, **how: Any) -> Self:
        random = np.random.default_rng(seed)
        rank = self.settings.rank
        users = random.normal(0, 0.1, (train.n_users, rank))
        items = random.normal(0, 0.1, (train.n_items, rank))
        self._remember(train.users, train.items, ItemLists(train.indptr, train.indices))
        self._set_factors(padded(users), padded(items), rank)
        return self

    def _fold_in(self, indptr, indices, values, threads):
        weights = np.ones(len(indices), np.float32) if values is None else values
        sums = np.add.reduceat(self._item_factors[indices] * weights[:, None], indptr[:-1])
        return (sums / np.diff(indptr)[:, None]).astype(np.float32)


class ToyScores(ScoreModel):
    """The number of users an item has: many ties, and nothing to learn from a history."""

    settings_class = Settings
    counts: np.ndarray

    def fit(self, train: Interactions, **how: Any) -> Self:
        self._remember(train.users, train.items, ItemLists(train.indptr, train.indices))
        self.counts = np.bincount(train.indices, minlength=train.n_items).astype(np.float32)
        return self

    def _score_block(self, users, threads):
        return np.tile(self.counts, (len(users), 1))

    def _state(self):
        return {"counts": self.counts}

    def _restore(self, arrays, facts):
        self.counts = arrays["counts"]
