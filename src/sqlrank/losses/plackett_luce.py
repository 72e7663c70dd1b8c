"""The Plackett-Luce likelihood of whole ranked lists: the loss of SQL-Rank."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrank.errors import ConfigError
from sqlrank.losses.base import ListLoss


@dataclass(frozen=True)
class PlackettLuce(ListLoss):
    r"""Negative log-likelihood of drawing the list from the top down, each item by its weight exp g(x).

    With L scores :math:`x_1, …, x_L` in the list's order, :math:`e_l = \exp g(x_l)`, :math:`S_t = \sum_{l ≥ t} e_l`
    and :math:`K = \min(k, L)`:

    .. math::
        loss = \sum_{t ≤ K} (\log S_t − g(x_t)), \qquad
        c_l = g'(x_l) \Bigl( e_l \sum_{t ≤ \min(l, K)} 1/S_t − [l ≤ K] \Bigr)

    ``link="sigmoid"`` is the paper's g; ``"identity"`` gives the classical model. ``k`` is a number of positions,
    None for the full list, or ``"positives"`` for the entries above the list's lowest level.

    >>> from sqlrank.losses import PlackettLuce
    >>> two = PlackettLuce(link="identity").evaluate([0.0, 0.0], positives=1)  # a coin toss: log 2
    >>> round(two.value, 6), two.gradient.tolist()
    (0.693147, [-0.5, 0.5])
    """

    link: str = "sigmoid"
    k: int | str | None = None

    def __post_init__(self) -> None:
        if self.link not in ("sigmoid", "identity"):
            raise ConfigError(f"link is {self.link!r}; it must be 'sigmoid' or 'identity'")
        number = isinstance(self.k, int) and not isinstance(self.k, bool) and self.k >= 1
        if not (number or self.k is None or self.k == "positives"):
            raise ConfigError(f"k is {self.k!r}; it must be a whole number >= 1, 'positives' or None")

    @property
    def kernel(self) -> str:
        """Name of the compiled loss."""
        return f"plackett-luce-{self.link}"

    @property
    def kernel_k(self) -> int:
        """Positions the likelihood looks at."""
        if self.k is None:
            return -1
        return self.k if isinstance(self.k, int) else -2
