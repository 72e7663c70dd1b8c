"""ListRank-MF (Shi, Larson, Hanjalic, RecSys 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank.losses import ListLoss, ListRank
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings
from sqlrank.settings import Search, setting
from sqlrank.training.lists import ListData


@dataclass(frozen=True)
class ListRankMFSettings(ListwiseSettings):
    """What ListRank-MF learns with. A list's loss is of the size of one entry's, so lambda is small."""

    regularization: float = setting(
        0.03,
        "lambda, the weight of the squared factors",
        float,
        low=0,
        search=Search(0.003, 0.3, log=True),
    )
    rating_scale: float = setting(
        1.0,
        "explicit feedback: factor on the ratings before their softmax; 1 is the paper's, smaller is flatter",
        float,
        low=0,
        above_low=True,
        search=Search(0.1, 2.0, log=True),
    )


class ListRankMF(ListwiseModel):
    """Low-rank scores whose top-1 distribution is that of the ratings.

    The objective, with p the softmax of the user's ratings and q the softmax of the sigmoids of the scores::

        - sum over users and their items of  p log q   +   lambda/2 (|U|² + |V|²)

    It is trained like :class:`~sqlrank.SQLRank`; the order of equal ratings does not matter. Implicit lists have
    ratings 1 (events) and 0 (drawn unseen items).

    >>> import sqlrank
    >>> rows = [(user, item, 5.0 if (user + item) % 2 else 1.0) for user in range(20) for item in range(10)]
    >>> model = sqlrank.ListRankMF(rank=4).fit(sqlrank.read(rows, verbose=False), seed=1)
    >>> model.recommend(users=[0], n=1, exclude_seen=False)["item"].to_list()[0] % 2
    1
    """

    settings_class: ClassVar[type[ListRankMFSettings]] = ListRankMFSettings
    settings: ListRankMFSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # MovieLens-1M with its stars, 50 ratings a user, chosen on validation data.
        "paper": {"feedback": "explicit", "rank": 100, "regularization": 0.05, "rating_scale": 0.5},
    }

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return ListRank()

    def _lists(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int,
    ) -> ListData:
        scaled = None if values is None else values * np.float32(self.settings.rating_scale)
        return super()._lists(indptr, indices, scaled, threads)
