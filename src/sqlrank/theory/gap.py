"""How much the training objective gives away by Jensen's inequality, on a fitted model and real ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sqlrank.errors import ConfigError, DataError
from sqlrank.theory.likelihood import Floats
from sqlrank.theory.plackett_luce import PlackettLuce
from sqlrank.theory.ties import log_factorial, split_levels

if TYPE_CHECKING:
    from sqlrank.data import Interactions
    from sqlrank.models import SQLRank


@dataclass(frozen=True)
class JensenGap:
    """Sums over lists, in nats."""

    lists: int
    exact: float
    """-log of the summed probability of all orders that agree with the levels."""
    bound: float
    """The same with the mean of the logarithms for the logarithm of the mean: never below `exact`."""
    bound_error: float
    """Monte Carlo standard error of `bound`."""
    log_ties: float
    """Sum of log(ties!), which both numbers have already been credited with."""

    @property
    def relative(self) -> float:
        """Return (bound - exact) / exact; 0 where every list is of one level, which is certain: both are 0."""
        return (self.bound - self.exact) / self.exact if self.exact else 0.0

    def __str__(self) -> str:
        return (
            f"{self.lists} lists: exact {self.exact:.1f}, bound {self.bound:.1f} (+- {self.bound_error:.1f}), "
            f"gap {100 * self.relative:.3f} %; sum of log(ties!) {self.log_ties:.1f}"
        )


def jensen_gap(
    model: SQLRank,
    data: Interactions,
    *,
    negatives: int | None = None,
    users: int | None = None,
    samples: int = 64,
    seed: int = 0,
) -> JensenGap:
    """Compare the objective's bound with the exact likelihood of the users' lists in `data`.

    With ratings the levels are the ratings. Without, a user's items are one level above `negatives` (the model's own
    number by default) unseen items each, as in training. `users` takes that many users at random.
    """
    link = getattr(model.settings, "link", None)
    if link is None or getattr(model.settings, "k", None) is not None:
        raise ConfigError(
            "jensen_gap compares likelihoods of full lists: it needs an SQLRank model with k=None"
        )
    if data.users != model.users or data.items != model.items:
        raise DataError(
            "data and model have different ids; use data.with_vocabularies(model.users, model.items), or the data "
            "that the model was fitted on"
        )
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.diff(data.indptr) > 0)
    if users is not None and users < len(rows):
        rows = np.sort(rng.choice(rows, users, replace=False))
    rho = model.settings.negatives if negatives is None else negatives
    sums = np.zeros(4)
    for user in rows:
        items, levels = _one_list(data, int(user), model.is_explicit, rho, rng)
        scores = model.item_factors[items].astype(np.float64) @ model.user_factors[user].astype(np.float64)
        law = PlackettLuce(scores, link)
        bound = law.jensen_bound(levels, samples, seed=int(rng.integers(1 << 62)))
        ties = sum(log_factorial(len(part)) for part in split_levels(levels))
        sums += -float(law.log_prob_ties(levels)), -float(bound), float(bound.standard_error) ** 2, ties
    return JensenGap(len(rows), sums[0], sums[1], float(np.sqrt(sums[2])), sums[3])


def _one_list(
    data: Interactions, user: int, explicit: bool, negatives: int, rng: np.random.Generator
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    span = slice(int(data.indptr[user]), int(data.indptr[user + 1]))
    seen = data.indices[span].astype(np.int64)
    if explicit and data.values is not None:
        return seen, data.values[span].astype(np.float64)
    unseen = np.setdiff1d(np.arange(data.n_items), seen)
    extra = rng.choice(unseen, min(len(unseen), negatives * len(seen)), replace=False)
    return np.concatenate([seen, extra]), np.repeat([1.0, 0.0], [len(seen), len(extra)])
