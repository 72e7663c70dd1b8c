"""BPR: Bayesian personalised ranking (Rendle, Freudenthaler, Gantner, Schmidt-Thieme, UAI 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlrank.losses import BayesianPairs, ListLoss
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings
from sqlrank.settings import Search, setting


@dataclass(frozen=True)
class BPRSettings(ListwiseSettings):
    """What BPR learns with. See :class:`ListwiseSettings` for the settings all list models share."""

    regularization: float = setting(
        10.0,
        "lambda, the weight of the squared factors; sums over a list are not divided by its length",
        float,
        low=0,
        search=Search(0.3, 30.0, log=True),
    )


class BPR(ListwiseModel):
    """Low-rank scores that put the better item of a pair first.

    The objective, over pairs of an event and a drawn unseen item::

        sum over pairs of  log(1 + exp(-(x_better - x_worse)))   +   lambda/2 (|U|² + |V|²)

    Every event meets `negatives` unseen items, drawn anew in every epoch. With explicit feedback every entry meets
    one entry of another level, at random. Where the original takes a step after every pair, this takes one for a
    whole list: the same seed gives the same bits for any number of threads.

    >>> import sqlrank
    >>> events = [(user, item) for user in range(20) for item in range(10) if (user + item) % 2]
    >>> model = sqlrank.BPR(rank=4, regularization=0.3).fit(sqlrank.read(events, verbose=False), seed=1)
    >>> model.recommend(users=[0], n=2, exclude_seen=False)["item"].to_list()[0] % 2
    1
    """

    settings_class: ClassVar[type[BPRSettings]] = BPRSettings
    settings: BPRSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # The one-class experiment on MovieLens-1M: 50 positives a user, three negatives each.
        "paper": {"feedback": "implicit", "rank": 100, "regularization": 10.0, "negatives": 3},
    }

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return BayesianPairs()
