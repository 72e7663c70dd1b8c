"""The metrics on plain ranked lists: the definitions, to be read and to be tried by hand.

`sqlrank.evaluate` computes the same numbers in the compiled core; tests hold the two together. Everywhere:

- `ranked` is one user's list, best first, every item once; it may be shorter than k.
- `relevant` holds that user's relevant test items. A metric that needs one returns NaN when there is none,
  and such users take no part in a mean.
- Positions count from 1: l = 1 is the best place. A *hit* is a position l <= k whose item is relevant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from sqlrank.errors import ConfigError

Item = Hashable

__all__ = [
    "auc",
    "average_precision",
    "coverage",
    "gini",
    "hit",
    "ndcg",
    "novelty",
    "precision",
    "recall",
    "recall_capped",
    "reciprocal_rank",
]


def precision(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return precision@k = hits / k.

    The denominator is k, also when the list or the number of relevant items is shorter.

    >>> precision(["a", "b", "c"], {"a", "c", "z"}, k=2)
    0.5
    >>> precision(["a"], {"a"}, k=5)
    0.2
    """
    return _hits(ranked, relevant, k) / k if relevant else math.nan


def recall(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return recall@k = hits / number of relevant items.

    With more than k relevant items it stays below 1 even for a perfect list: see `recall_capped`.

    >>> recall(["a", "b", "c"], {"a", "c", "y", "z"}, k=3)
    0.5
    """
    return _hits(ranked, relevant, k) / len(relevant) if relevant else math.nan


def recall_capped(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return hits / min(k, number of relevant items), which a perfect list brings to 1.

    >>> recall_capped(["a", "b", "c"], {"a", "w", "x", "y", "z"}, k=2)
    0.5
    """
    return _hits(ranked, relevant, k) / min(_checked(k), len(relevant)) if relevant else math.nan


def ndcg(ranked: Sequence[Item], relevant: Collection[Item] | Mapping[Item, float], k: int) -> float:
    """Return NDCG@k = DCG@k / IDCG@k with DCG@k = sum over l <= k of gain(item at l) / log2(l + 1).

    A mapping item -> rating gives the gain 2^rating - 1; a plain collection of relevant items gives 1. Items
    outside have gain 0. IDCG@k is the DCG of the largest gains in falling order, also cut at k. NaN when no
    gain is positive.

    Relevant items at places 1 and 3 of 3: (1/log2(2) + 1/log2(4)) / (1/log2(2) + 1/log2(3)) = 1.5 / 1.6309.

    >>> round(ndcg(["a", "b", "c"], {"a", "c"}, k=3), 4)
    0.9197

    Ratings 3 and 1 (gains 7 and 1) the wrong way round: (1/1 + 7/1.585) / (7/1 + 1/1.585) = 5.4165 / 7.6309.

    >>> round(ndcg(["bad", "good"], {"good": 3, "bad": 1}, k=2), 4)
    0.7098
    """
    _checked(k)
    gains = dict.fromkeys(relevant, 1.0)
    if isinstance(relevant, Mapping):
        gains = {item: 2.0**rating - 1.0 for item, rating in relevant.items()}
    ideal = _dcg(sorted(gains.values(), reverse=True)[:k])
    return _dcg([gains.get(item, 0.0) for item in ranked[:k]]) / ideal if ideal > 0 else math.nan


def average_precision(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return AP@k = sum over the hits l <= k of precision@l / min(k, number of relevant items).

    `map@k` is its mean. The denominator is min(k, relevant), so that a perfect list has 1. (trec_eval divides
    by all relevant items, which is the same thing once k reaches their number.)

    Hits at 1 and 3, two relevant items: (1/1 + 2/3) / 2.

    >>> round(average_precision(["a", "b", "c"], {"a", "c"}, k=3), 4)
    0.8333
    """
    _checked(k)
    if not relevant:
        return math.nan
    hits, total = 0, 0.0
    for place, item in enumerate(ranked[:k], start=1):
        if item in relevant:
            hits += 1
            total += hits / place
    return total / min(k, len(relevant))


def reciprocal_rank(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return 1 / place of the first hit, or 0 without a hit in the top k; `mrr@k` is its mean.

    >>> reciprocal_rank(["a", "b", "c"], {"b", "c"}, k=3)
    0.5
    """
    if not relevant:
        return math.nan
    return next((1 / place for place, x in enumerate(ranked[: _checked(k)], start=1) if x in relevant), 0.0)


def hit(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> float:
    """Return 1 if a relevant item is in the top k, else 0.

    >>> hit(["a", "b", "c"], {"c"}, k=2)
    0.0
    """
    return float(_hits(ranked, relevant, k) > 0) if relevant else math.nan


def auc(scores: Mapping[Item, float], relevant: Collection[Item]) -> float:
    """Return the share of pairs (relevant, other candidate) in the right order of scores; ties count half.

    `scores` holds the score of every candidate; relevant items that are no candidates are left out. The
    denominator is (relevant candidates) x (other candidates); NaN when one of them is 0.

    a against b, c: won and tied. d against b, c: lost twice. 1.5 of 4 pairs.

    >>> auc({"a": 2.0, "b": 1.0, "c": 2.0, "d": 0.0}, {"a", "d"})
    0.375
    """
    good = [score for item, score in scores.items() if item in relevant]
    bad = [score for item, score in scores.items() if item not in relevant]
    if not good or not bad:
        return math.nan
    won = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return float(won / (len(good) * len(bad)))


def coverage(lists: Iterable[Sequence[Item]], k: int, n_items: int) -> float:
    """Return coverage@k = number of different items in all top-k lists / number of candidate items.

    >>> coverage([["a", "b"], ["a", "c"]], k=2, n_items=6)
    0.5
    """
    return len(_counts(lists, k)) / n_items


def novelty(ranked: Sequence[Item], item_users: Mapping[Item, int], n_users: int, k: int) -> float:
    """Return novelty@k = mean over the top k of -log2(users who have the item in training / users), in bits.

    The mean runs over the items that are there, so a short list is not punished; NaN for an empty list. An
    item that nobody has counts as if one user had it: its surprise stays finite, and is the largest possible.

    Half of the users have a (1 bit), an eighth has b (3 bits).

    >>> novelty(["a", "b"], {"a": 4, "b": 1}, n_users=8, k=2)
    2.0
    """
    bits = [-math.log2(max(item_users.get(item, 0), 1) / n_users) for item in ranked[: _checked(k)]]
    return sum(bits) / len(bits) if bits else math.nan


def gini(lists: Iterable[Sequence[Item]], k: int, n_items: int) -> float:
    """Return gini@k: how unequally the places in the top-k lists are shared out among the candidate items.

    With c_1 <= ... <= c_n the number of lists that hold each of the n candidates (0 for those never shown):
    G = sum over j of (2j - n - 1) c_j / (n sum over j of c_j). 0: all equally often; (n - 1)/n: always the
    same one.

    Counts 0, 0, 1, 3: (-3*0 - 1*0 + 1*1 + 3*3) / (4 * 4).

    >>> gini([["a"], ["a"], ["a"], ["b"]], k=1, n_items=4)
    0.625
    """
    counts = sorted(_counts(lists, k).values())
    total, zeros = sum(counts), n_items - len(counts)
    if total == 0:
        return math.nan
    weighted = sum((2 * (zeros + j) - n_items - 1) * count for j, count in enumerate(counts, start=1))
    return weighted / (n_items * total)


def _checked(k: int) -> int:
    if k < 1:
        raise ConfigError(f"k is {k}; a cut-off is at least 1")
    return k


def _hits(ranked: Sequence[Item], relevant: Collection[Item], k: int) -> int:
    return sum(item in relevant for item in ranked[: _checked(k)])


def _dcg(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def _counts(lists: Iterable[Sequence[Item]], k: int) -> Counter[Item]:
    return Counter(item for ranked in lists for item in ranked[: _checked(k)])
