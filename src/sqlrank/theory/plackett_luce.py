"""The Plackett-Luce distribution over rankings (the paper's eq. 1, 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqlrank.errors import ConfigError, DataError
from sqlrank.theory.estimate import Estimate, check_samples
from sqlrank.theory.likelihood import Floats, list_log_prob, log_weights, suffix_logsumexp, suffix_mean
from sqlrank.theory.subsets import expected_over_prefixes, summed_exactly

Ranking = NDArray[np.int64]


class PlackettLuce:
    r"""Draw the list from the top, each item with probability proportional to its weight.

    .. math::
        P(\pi) = \prod_{t=1}^{\min(k, \bar m)} \frac{φ(x_{\pi_t})}{\sum_{l=t}^{\bar m} φ(x_{\pi_l})},
        \qquad φ = \exp g

    `scores` are one list's `(m,)` or many lists' `(n, m)`; every method then returns one answer per list.
    `link` is g: the paper's ``"sigmoid"`` or ``"identity"``. `k` is how many positions count, None for all.

    >>> import numpy as np
    >>> from sqlrank.theory import PlackettLuce
    >>> law = PlackettLuce(np.log([3.0, 2.0, 1.0]), link="identity")
    >>> float(np.exp(law.log_prob([0, 1, 2])).round(6))  # 3/6 * 2/3
    0.333333
    >>> law.marginal_top1().round(3).tolist()
    [0.5, 0.333, 0.167]
    """

    def __init__(self, scores: ArrayLike, link: str = "sigmoid", k: int | None = None) -> None:
        self.scores: Floats = np.array(scores, np.float64)
        if self.scores.ndim not in (1, 2) or self.scores.shape[-1] == 0:
            raise DataError(f"scores have the shape {self.scores.shape}; give (items,) or (lists, items)")
        if not np.isfinite(self.scores).all():
            raise DataError("scores must be finite numbers; one is not")
        if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1):
            raise ConfigError(f"k is {k!r}; it must be a whole number >= 1 or None")
        self.link = link
        self.k = k
        self.log_weights: Floats = log_weights(self.scores, link)

    @property
    def n_items(self) -> int:
        """Return m, the number of items."""
        return int(self.scores.shape[-1])

    def __repr__(self) -> str:
        return f"PlackettLuce(scores of shape {self.scores.shape}, link={self.link!r}, k={self.k})"

    # ---- probabilities ------------------------------------------------------------------------------------------

    def log_prob(self, ranking: ArrayLike, rest: str = "absent") -> Floats:
        """Return the log-probability of rankings: item codes along the last axis, best first.

        Leading axes come before the lists' axis, as :meth:`sample` makes them. A ranking of fewer than m items is the
        paper's eq. 3 with ``rest="absent"``: only the listed items took part. With ``rest="behind"`` the listed
        items came out on top of all the others: the marginal probability of a top list.
        """
        order = self._checked(ranking)
        if rest not in ("absent", "behind"):
            raise ConfigError(f"rest is {rest!r}; it must be 'absent' or 'behind'")
        y = np.take_along_axis(*self._aligned(order), axis=-1)
        if rest == "absent" or order.shape[-1] == self.n_items:
            return list_log_prob(y, self.k)
        weights, codes = self._aligned(order)
        others = np.array(np.broadcast_to(weights, (*order.shape[:-1], self.n_items)))
        np.put_along_axis(others, codes, -np.inf, axis=-1)
        last = np.logaddexp.reduce(others, axis=-1, keepdims=True)
        sums = np.logaddexp(suffix_logsumexp(y), last)
        return np.asarray((y - sums)[..., : self.k].sum(axis=-1))

    def log_prob_ties(self, levels: ArrayLike, method: str = "auto") -> Floats:
        """Return the log of the sum of P over all orders that agree with the levels (higher is better).

        NaN marks items that took no part. With `k` it is the probability that the first k positions agree, each
        distinct top list counted once. `method`: ``"subsets"`` (exact, levels up to 20 items), ``"quadrature"``
        (any size, accurate to about 1e-10), or ``"auto"``.

        >>> law = PlackettLuce([0.3, 0.3, 0.3, 0.3], link="identity")
        >>> float(np.exp(law.log_prob_ties([1, 1, 0, 0])).round(6))  # one of six pairs comes first
        0.166667
        """
        from sqlrank.theory.ties import log_prob_levels

        return self._per_list(levels, lambda y, row: log_prob_levels(y, row, self.k, method))

    def jensen_bound(self, levels: ArrayLike, samples: int = 256, seed: int = 0) -> Estimate:
        """Return what training maximises in place of :meth:`log_prob_ties`: a lower bound of it.

        ``log N + mean of log P over the N orders that agree``. Levels of up to 12 items are averaged exactly, larger
        ones over `samples` random queues. It looks at full lists.
        """
        from sqlrank.theory.ties import jensen_bound_levels

        check_samples(samples)
        if self.k is not None:
            raise ConfigError("jensen_bound is defined for full lists; make the distribution without k")
        rows = self._rows(levels)
        rngs = np.random.SeedSequence(seed).spawn(len(rows))
        parts = [
            jensen_bound_levels(y, row, samples, np.random.default_rng(state))
            for (y, row), state in zip(rows, rngs, strict=True)
        ]
        shape = self.scores.shape[:-1]
        value = np.array([p[0] for p in parts]).reshape(shape)
        error = np.array([p[1] for p in parts]).reshape(shape)
        return Estimate(value, error, exact=bool((error == 0).all()))

    def marginal_top1(self) -> Floats:
        """Return every item's probability of coming first: its share of the weight."""
        total = np.logaddexp.reduce(self.log_weights, axis=-1, keepdims=True)
        return np.asarray(np.exp(self.log_weights - total))

    def expected_rank(self) -> Floats:
        """Return every item's expected position, counted from 1: 1 + sum of P(another comes before it)."""
        y = self.log_weights
        ranks = np.empty_like(y)
        for item in range(self.n_items):  # item by item keeps the memory at (lists, items)
            ahead = 0.5 * (1.0 + np.tanh(0.5 * (y - y[..., item : item + 1])))
            ranks[..., item] = 0.5 + ahead.sum(axis=-1)  # the item itself counts one half in the sum
        return ranks

    def mode(self) -> Ranking:
        """Return the most likely ranking: by score descending, then by item code."""
        return np.asarray(np.argsort(-self.scores, axis=-1, kind="stable"), np.int64)

    def entropy(self, samples: int = 1000, seed: int = 0, exact: bool | None = None) -> Estimate:
        """Return the entropy in nats of the first k positions (of the whole ranking without k).

        Exact by dynamic programming over the sets of items still to come, for up to 12 items unless `exact` says
        otherwise; else the mean, over sampled rankings, of the summed entropies of the single draws.
        """
        if summed_exactly(self.n_items, exact):

            def step(p: Floats) -> Floats:
                return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)

            return Estimate.of(self._per_list(None, lambda y, _: expected_over_prefixes(y, step, self.k)))
        check_samples(samples)
        return Estimate.mean(np.stack([self._draw_entropies(r) for r in self._draws(samples, seed)]))

    def _draw_entropies(self, order: Ranking) -> Floats:
        y = np.take_along_axis(self.log_weights, order, axis=-1)
        steps = suffix_logsumexp(y) - suffix_mean(y, y)
        return np.asarray(steps[..., : self.k].sum(axis=-1))

    # ---- draws --------------------------------------------------------------------------------------------------

    def sample(self, size: int | None = None, seed: int = 0) -> Ranking:
        """Draw rankings `(m,)` or `(n, m)`, with `size` in front: Theorem 1's race of exponential clocks.

        Clock j rings after an exponential time of rate phi(x_j); the ranking is the order in which they ring.
        """
        return self._race(1 if size is None else size, np.random.default_rng(seed))[
            0 if size is None else ...
        ]

    def _race(self, size: int, rng: np.random.Generator) -> Ranking:
        rings = rng.standard_exponential((size, *self.scores.shape))
        # The logarithm keeps the order and cannot overflow with the identity link.
        return np.asarray(np.argsort(np.log(rings) - self.log_weights, axis=-1), np.int64)

    def _draws(self, samples: int, seed: int) -> list[Ranking]:
        rng = np.random.default_rng(seed)
        return [self._race(1, rng)[0] for _ in range(samples)]

    # ---- plumbing -----------------------------------------------------------------------------------------------

    def _checked(self, ranking: ArrayLike) -> Ranking:
        order = np.asarray(ranking)
        batch = self.scores.shape[:-1]
        if (
            order.ndim <= len(batch)
            or (batch and order.shape[-2] != batch[0])
            or order.dtype.kind not in "iu"
        ):
            raise DataError(
                f"rankings of the shape {order.shape} and type {order.dtype} do not fit scores of the shape "
                f"{self.scores.shape}; give whole numbers shaped (..., {', '.join(map(str, (*batch, 'length')))})"
            )
        ordered = np.sort(order, axis=-1)
        if order.size and (ordered.min() < 0 or ordered.max() >= self.n_items):
            raise DataError(f"a ranking names an item outside 0..{self.n_items - 1}")
        if (np.diff(ordered, axis=-1) == 0).any():
            raise DataError("a ranking names an item twice")
        return order.astype(np.int64)

    def _aligned(self, order: Ranking) -> tuple[Floats, Ranking]:
        """Return the weights and the ranking with equal leading axes."""
        lead = order.shape[:-1]
        return np.broadcast_to(self.log_weights, (*lead, self.n_items)), order

    def _rows(self, levels: ArrayLike | None) -> list[tuple[Floats, Floats]]:
        y = self.log_weights.reshape(-1, self.n_items)
        if levels is None:
            return [(row, row) for row in y]
        grid = np.asarray(levels, np.float64)
        if grid.shape not in (self.scores.shape, self.scores.shape[-1:]):
            raise DataError(
                f"levels of the shape {grid.shape} do not fit scores of the shape {self.scores.shape}"
            )
        grid = np.broadcast_to(grid, self.scores.shape).reshape(-1, self.n_items)
        return list(zip(y, grid, strict=True))

    def _per_list(self, levels: ArrayLike | None, f: Callable[[Floats, Floats], float]) -> Floats:
        values = [f(y, row) for y, row in self._rows(levels)]
        return np.array(values, np.float64).reshape(self.scores.shape[:-1])
