"""Primal-CR++ (Wu, Hsieh, Sharpnack, KDD 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank.losses import ListLoss, PairwiseHinge
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings
from sqlrank.settings import Search, setting
from sqlrank.training.loop import ListwiseTrainer
from sqlrank.training.newton import NewtonTrainer
from sqlrank.training.steps import StepRule


@dataclass(frozen=True)
class PrimalCRSettings(ListwiseSettings):
    """What Primal-CR learns with. The loss is a sum over pairs, so lambda is large."""

    regularization: float = setting(
        300.0,
        "lambda, the weight of the squared factors; a list of L ratings has some L²/3 pairs",
        float,
        low=0,
        search=Search(10.0, 3000.0, log=True),
    )
    solver: str = setting(
        "gradient",
        "gradient takes the steps that all list models share; newton solves for second-order steps by conjugate "
        "gradients and searches along them: fewer epochs, each some ten times as long; it needs no learning rate",
        words=("gradient", "newton"),
    )


class PrimalCR(ListwiseModel):
    """Low-rank scores that keep a margin of 1 between all pairs of different ratings.

    The objective::

        sum over users and pairs r_i > r_j of  max(0, 1 - (x_i - x_j))²   +   lambda/2 (|U|² + |V|²)

    A list of L ratings costs O(L log L), never its L² pairs. Implicit lists have ratings 1 (events) and 0 (drawn
    unseen items).

    >>> import sqlrank
    >>> rows = [(user, item, 5.0 if (user + item) % 2 else 1.0) for user in range(20) for item in range(10)]
    >>> model = sqlrank.PrimalCR(rank=4, regularization=1.0).fit(sqlrank.read(rows, verbose=False), seed=1)
    >>> model.recommend(users=[0], n=1, exclude_seen=False)["item"].to_list()[0] % 2
    1
    """

    settings_class: ClassVar[type[PrimalCRSettings]] = PrimalCRSettings
    settings: PrimalCRSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # MovieLens-1M with its stars, 50 ratings a user, chosen on validation data.
        "paper": {"feedback": "explicit", "rank": 100, "regularization": 940.0},
    }

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return PairwiseHinge()

    def _trainer(
        self,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        steps: StepRule,
        seed: int,
        threads: int,
    ) -> ListwiseTrainer:
        settings = self.settings
        if settings.solver == "gradient":
            return super()._trainer(users, items, steps, seed, threads)
        return NewtonTrainer(
            self._lists(*self.seen, self._values, threads),
            self.loss(),
            users,
            items,
            regularization=settings.regularization,
            negatives=settings.negatives,
            queue=settings.queue,
            seed=seed,
            first_epoch=self._epochs_done,
            threads=threads,
        )
