"""NumPy twins of the losses of the rivals, in float64: every pair is looked at."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    weights = np.exp(x - np.max(x))
    return weights / weights.sum()


def listrank(x, levels):
    """Value and gradient of the top-1 cross-entropy."""
    g, p = sigmoid(x), softmax(levels)
    q = softmax(g)
    return -(p * np.log(q)).sum(), g * (1 - g) * (q - p)


def primal_cr(x, levels):
    """Value and gradient of the squared hinge: the explicit L^2 sum."""
    value, gradient = 0.0, np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            gap = 1 - (x[i] - x[j])
            if levels[i] > levels[j] and gap > 0:
                value += gap**2
                gradient[i] -= 2 * gap
                gradient[j] += 2 * gap
    return value, gradient


def primal_cr_hessian(x, levels):
    """The Hessian in the scores: a weighted graph of the active pairs."""
    active = (np.subtract.outer(levels, levels) > 0) & (1 - np.subtract.outer(x, x) > 0)
    both = 2.0 * (active | active.T)
    return np.diag(both.sum(axis=1)) - both


def bpr_pairs(levels, implicit):
    """The (better, worse) positions of a list."""
    n = len(levels)
    if implicit:
        positives = int((levels > 0).sum())
        return [(t % positives, positives + t) for t in range(n - positives)] if positives else []
    pairs = []
    for i in range(n):
        same = np.flatnonzero(levels == levels[i])
        others = np.flatnonzero(levels != levels[i])
        if len(others) == 0:
            return []
        place = int((2 * (i - same[0]) + 1) * len(others) // (2 * len(same)))
        pairs.append(tuple(sorted((i, int(others[place])))))
    return pairs


def bpr(x, levels, implicit=False):
    """Value and gradient of the logistic loss over the list's pairs."""
    value, gradient = 0.0, np.zeros(len(x))
    for better, worse in bpr_pairs(levels, implicit):
        gap = x[better] - x[worse]
        value += np.logaddexp(0, -gap)
        gradient[better] -= sigmoid(-gap)
        gradient[worse] += sigmoid(-gap)
    return value, gradient


def squared(x, levels):
    """Value and gradient of half the squared error."""
    return 0.5 * ((x - levels) ** 2).sum(), x - levels


TWINS = {
    "listrank": listrank,
    "primal-cr": primal_cr,
    "bpr": bpr,
    "bpr-implicit": lambda x, levels: bpr(x, levels, implicit=True),
    "squared": squared,
}


def epoch(twin, users, items, lists, levels, rate, lam):
    """One fixed step of all users, then of all items, on the given lists; returns (users, items, loss before)."""
    users, items = users.astype(np.float64), items.astype(np.float64)
    before, new_users, gradient = 0.0, users.copy(), lam * items
    for u, (codes, r) in enumerate(zip(lists, levels, strict=True)):
        if len(codes) == 0:
            new_users[u] -= rate * lam * users[u]
            continue
        value, c = twin(items[codes] @ users[u], r)
        before += value
        new_users[u] -= rate * (c @ items[codes] + lam * users[u])
        c = twin(items[codes] @ new_users[u], r)[1]
        np.add.at(gradient, codes, c[:, None] * new_users[u])
    return new_users, items - rate * gradient, before
