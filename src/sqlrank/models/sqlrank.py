"""SQL-Rank: stochastic queuing listwise collaborative ranking (Wu, Hsieh, Sharpnack, ICML 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlrank.losses import ListLoss, PlackettLuce
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings
from sqlrank.settings import Search, setting


@dataclass(frozen=True)
class SQLRankSettings(ListwiseSettings):
    """What SQL-Rank learns with. See :class:`ListwiseSettings` for the settings all list models share."""

    link: str = setting(
        "sigmoid",
        "g in the weight exp g(x): the paper's sigmoid, which bounds the weights, or the identity (softmax)",
        words=("sigmoid", "identity"),
        search=Search(choices=("sigmoid", "identity")),
    )
    k: int | str | None = setting(
        None,
        "how many positions of the list the likelihood looks at: None for all of them",
        int,
        low=1,
        words=("positives",),
        optional=True,
    )


class SQLRank(ListwiseModel):
    """Low-rank scores x = u·v that make the users' ranked lists most likely under Plackett-Luce.

    The objective, over the factors U and V of all users and items::

        sum over users, t <= K of  log(sum over l >= t of exp g(x_l)) - g(x_t)   +   lambda/2 (|U|² + |V|²)

    Each epoch

    1. draws a new *queue*: every user's list, best level first, ties in random order; with implicit feedback the
       user's items are followed by `negatives` fresh unseen items each;
    2. steps every user's row against its gradient, the items held fixed;
    3. steps every item's row against its gradient at the new users.

    >>> import sqlrank
    >>> events = [(user, item) for user in range(20) for item in range(10) if (user + item) % 2]
    >>> model = sqlrank.SQLRank(rank=4, epochs=20).fit(sqlrank.read(events, verbose=False), seed=1)
    >>> model.recommend(users=[0], n=2, exclude_seen=False)["item"].to_list()[0] % 2
    1
    """

    settings_class: ClassVar[type[SQLRankSettings]] = SQLRankSettings
    settings: SQLRankSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # The released one-class experiment on MovieLens-1M: 50 positives a user, three negatives each, full lists. The
        # settings with which the method gives the paper's numbers; a search on validation data finds better ones.
        "paper-implicit": {
            "feedback": "implicit",
            "rank": 100,
            "epochs": 40,
            "learning_rate": 0.2,
            "decay": 0.9,
            "regularization": 4.0,
            "negatives": 3,
        },
        # MovieLens-1M with its stars: 50 ratings a user. The paper chose its regularization on validation data and does
        # not print it; so did we, for all models alike (benchmarks/losses.py tune).
        "paper-explicit": {
            "feedback": "explicit",
            "rank": 100,
            "epochs": 60,
            "learning_rate": "auto",
            "decay": 0.97,
            "regularization": 3.5,
        },
    }

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return PlackettLuce(link=self.settings.link, k=self.settings.k)
