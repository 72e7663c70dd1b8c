"""The loss of ListRank-MF: the cross-entropy of who comes first."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrank.losses.base import ListLoss


@dataclass(frozen=True)
class ListRank(ListLoss):
    r"""Cross-entropy between the top-1 distributions of the ratings and of the sigmoid scores.

    With the levels :math:`r_l`, the scores :math:`x_l` and the sigmoid g:

    .. math::
        p_l = \frac{\exp r_l}{\sum \exp r}, \quad q_l = \frac{\exp g(x_l)}{\sum \exp g(x)}, \qquad
        loss = -\sum_l p_l \log q_l, \quad c_l = g'(x_l) (q_l − p_l)

    >>> from sqlrank.losses import ListRank
    >>> two = ListRank().evaluate([0.0, 0.0], levels=[2, 2])  # a coin toss again: log 2
    >>> round(two.value, 6), two.gradient.tolist()
    (0.693147, [0.0, 0.0])
    """

    @property
    def kernel(self) -> str:
        """Name of the compiled loss."""
        return "listrank"
