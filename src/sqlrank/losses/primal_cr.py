"""The loss of Primal-CR: all pairs of different levels, a margin apart."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrank.losses.base import ListLoss


@dataclass(frozen=True)
class PairwiseHinge(ListLoss):
    r"""Squared hinge over all pairs of different levels, margin 1.

    .. math::
        loss = \sum_{r_i > r_j} \max(0, 1 − (x_i − x_j))^2

    The kernel sorts the scores and walks down them with two pointers (Primal-CR++): a list of L entries costs
    O(L log L), never its L² pairs.

    >>> from sqlrank.losses import PairwiseHinge
    >>> value = PairwiseHinge().evaluate([0.5, 0.0], levels=[5, 3])  # half the margin is missing
    >>> value.value, value.gradient.tolist()
    (0.25, [-1.0, 1.0])
    """

    @property
    def kernel(self) -> str:
        """Name of the compiled loss."""
        return "primal-cr"
