"""The loss of BPR: one opponent for every entry."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrank.losses.base import ListLoss


@dataclass(frozen=True)
class BayesianPairs(ListLoss):
    r"""Logistic loss on pairs (better, worse).

    .. math::
        loss = \sum_{pairs} \log(1 + \exp(−(x_{better} − x_{worse})))

    An implicit list pairs every positive with ρ of the list's negatives (negative t with positive t mod P). An
    explicit list pairs every entry with one entry of another level. The queue shuffles the list within the levels
    in every epoch, so the opponents are random and new each time.

    >>> from sqlrank.losses import BayesianPairs
    >>> BayesianPairs().evaluate([0.0, 0.0, 0.0], positives=1).gradient.tolist()  # two coin tosses
    [-1.0, 0.5, 0.5]
    """

    @property
    def kernel(self) -> str:
        """Name of the compiled loss."""
        return "bpr"
