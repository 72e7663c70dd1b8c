"""NumPy twins of the list loss and of one epoch, in float64 and without cleverness."""

import numpy as np

LINKS = {
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
    "identity": (lambda x: x, np.ones_like),
}


def depth(n, k, positives):
    return n if k is None else min(n, positives if k == "positives" else k)


def loss(x, link="sigmoid", k=None, positives=0):
    g = LINKS[link][0](np.asarray(x, np.float64))
    return sum(np.log(np.exp(g[t:]).sum()) - g[t] for t in range(depth(len(g), k, positives)))


def coefficients(x, link="sigmoid", k=None, positives=0):
    x = np.asarray(x, np.float64)
    g, slope = (f(x) for f in LINKS[link])
    c = np.zeros(len(x))
    for t in range(depth(len(x), k, positives)):
        share = np.exp(g[t:]) / np.exp(g[t:]).sum()
        c[t:] += slope[t:] * share
        c[t] -= slope[t]
    return c


def epoch(users, items, lists, rate, lam, link="sigmoid", k=None, positives=None):
    """One fixed step of all users, then of all items, on the given lists; returns (users, items, loss before)."""
    users, items = users.astype(np.float64), items.astype(np.float64)
    positives = [0] * len(lists) if positives is None else positives
    before, new_users, gradient = 0.0, users.copy(), lam * items
    for u, (codes, p) in enumerate(zip(lists, positives, strict=True)):
        before += loss(items[codes] @ users[u], link, k, p)
        c = coefficients(items[codes] @ users[u], link, k, p)
        new_users[u] -= rate * (c @ items[codes] + lam * users[u])
        c = coefficients(items[codes] @ new_users[u], link, k, p)
        np.add.at(gradient, codes, c[:, None] * new_users[u])
    return new_users, items - rate * gradient, before
