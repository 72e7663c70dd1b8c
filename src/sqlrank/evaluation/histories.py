"""Strong generalisation: the model meets people it was not fitted on, and knows only their histories."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import ConfigError
from sqlrank.evaluation.kernels import Codes, Offsets
from sqlrank.models.base import Recommender
from sqlrank.models.lists import ItemLists, offsets
from sqlrank.models.ranked import RankedLists


class FoldedIn:
    """A fitted model whose users are the owners of these histories, as far as evaluation is concerned.

    Items that the model does not know leave the histories; who has nothing left is no user.
    """

    def __init__(self, model: Recommender, histories: Interactions) -> None:
        known = model.items.lookup(histories.items.ids)[1][histories.indices]
        kept = histories.take(known).filter(min_user_events=1, min_item_events=1)
        self._model = model
        self._histories = kept.with_vocabularies(kept.users, model.items)
        self.seen = ItemLists(self._histories.indptr, self._histories.indices)

    @property
    def users(self) -> Vocabulary:
        """The owners of the histories."""
        return self._histories.users

    @property
    def items(self) -> Vocabulary:
        """The model's items."""
        return self._model.items

    def rank_codes(
        self,
        users: Codes,
        n: int,
        *,
        exclude: tuple[Offsets, Codes] | None,
        candidates: Codes | None = None,
        threads: int | None = None,
    ) -> RankedLists:
        """Return the n best items of ascending user codes; to exclude means without their own histories."""
        table = self._model.recommend(
            histories=self._histories.take(np.isin(self._histories.user_codes, users)),
            n=n,
            exclude_seen=exclude is not None,
            candidates=None if candidates is None else self.items.decode(candidates),
            threads=threads,
        )
        # Lists come in the order of the users; who has none is not in the table.
        row_of = np.zeros(len(self.users), np.int64)
        row_of[users] = np.arange(len(users))
        rows = row_of[self.users.encode(table["user"])]
        lengths = np.bincount(rows, minlength=len(users))
        scores: NDArray[np.float32] = table["score"].to_numpy()
        return RankedLists(offsets(lengths), self.items.encode(table["item"]), scores)

    def score_codes(self, users: Codes, items: Codes, threads: int | None = None) -> NoReturn:
        """Refuse: models score pairs of users they were fitted on."""
        raise ConfigError(
            "'rated' candidates and auc need scores of (user, item) pairs, which a model does not give for "
            "histories; rank all or given candidates, and leave auc out"
        )
