"""Matrix factorisation with biases (Koren, KDD 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank.losses import ListLoss, SquaredError
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings
from sqlrank.settings import Search, setting
from sqlrank.training.trainer import FixedColumns


@dataclass(frozen=True)
class MatrixFactorizationSettings(ListwiseSettings):
    """What matrix factorisation learns with. See :class:`ListwiseSettings` for the settings all list models share."""

    regularization: float = setting(
        10.0,
        "lambda, the weight of the squared factors and biases; sums over a list are not divided by its length",
        float,
        low=0,
        search=Search(0.5, 50.0, log=True),
    )
    biases: bool = setting(
        True, "whether users, items and the data as a whole have a bias; the paper's rival has none", bool
    )


class MatrixFactorization(ListwiseModel):
    """Scores that are the ratings themselves, in the least squares.

    The objective, with m the mean rating, b and d the biases of users and items::

        1/2 sum over ratings of  (r - m - b_i - d_j - u_i·v_j)²   +   lambda/2 (|U|² + |V|² + |b|² + |d|²)

    Biases are columns of the factors beside a column of constants, so that every score is still one inner product:
    a user's row is (u, b, m, 1), an item's is (v, 1, 1, d), and the constants do not move. Implicit lists have
    ratings 1 (events) and 0 (drawn unseen items).

    >>> import sqlrank
    >>> rows = [(user, item, 5.0 if (user + item) % 2 else 1.0) for user in range(20) for item in range(10)]
    >>> model = sqlrank.MatrixFactorization(rank=4, regularization=0.1).fit(sqlrank.read(rows, verbose=False), seed=1)
    >>> model.score([0, 0], [0, 1]).round(1).tolist()
    [1.0, 5.0]
    """

    settings_class: ClassVar[type[MatrixFactorizationSettings]] = MatrixFactorizationSettings
    settings: MatrixFactorizationSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # MovieLens-1M with its stars, 50 ratings a user, chosen on validation data.
        "paper": {"feedback": "explicit", "rank": 100, "regularization": 15.0, "biases": False},
    }

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return SquaredError()

    @property
    def user_biases(self) -> NDArray[np.float32]:
        """One number per user, 0 where biases are off."""
        return self._bias(self.user_factors, 0)

    @property
    def item_biases(self) -> NDArray[np.float32]:
        """One number per item, 0 where biases are off."""
        return self._bias(self.item_factors, 2)

    def _bias(self, factors: NDArray[np.float32], column: int) -> NDArray[np.float32]:
        if not self.settings.biases:
            return np.zeros(len(factors), np.float32)
        return factors[:, self.settings.rank + column]

    def _columns(self) -> int:
        return self.settings.rank + (3 if self.settings.biases else 0)

    def _fixed_columns(self) -> FixedColumns:
        rank = self.settings.rank
        if not self.settings.biases:
            return FixedColumns()
        return FixedColumns(users=(rank + 1, rank + 3), items=(rank, rank + 2))

    def _constants(self, owner: str) -> slice:
        fixed = self._fixed_columns()
        return slice(*(fixed.users if owner == "user" else fixed.items))

    def _first_rows(
        self, n_users: int, n_items: int, seed: int, threads: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        users, items = super()._first_rows(n_users, n_items, seed, threads)
        if self.settings.biases:
            rank = self.settings.rank
            users[:, rank + 1], users[:, rank + 2] = self._mean_level(), 1.0
            items[:, rank : rank + 2] = 1.0
        return users, items

    def _mean_level(self) -> float:
        if self._values is None:
            return 1.0 / (1 + self.settings.negatives)
        return float(self._values.mean(dtype=np.float64))
