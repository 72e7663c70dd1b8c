"""Squared error: scores that are the ratings themselves."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrank.losses.base import ListLoss


@dataclass(frozen=True)
class SquaredError(ListLoss):
    r"""Half the squared difference of scores and levels; implicit lists have levels 1 and 0.

    .. math::
        loss = \tfrac12 \sum_l (x_l − r_l)^2, \qquad c_l = x_l − r_l

    >>> from sqlrank.losses import SquaredError
    >>> SquaredError().evaluate([3.0, 3.0], levels=[4, 2]).gradient.tolist()
    [-1.0, 1.0]
    """

    @property
    def kernel(self) -> str:
        """Name of the compiled loss."""
        return "squared"
