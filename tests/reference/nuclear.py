"""Brute twin of the convex solver: accelerated projected gradient on the whole matrix, scalar loops in the loss."""

import numpy as np


def project(matrix, radius):
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    if s.sum() <= radius:
        return matrix
    low, high = 0.0, s.max()
    for _ in range(200):
        cut = (low + high) / 2
        low, high = (cut, high) if np.maximum(s - cut, 0).sum() > radius else (low, cut)
    return (u * np.maximum(s - high, 0)) @ vt


def objective(x, rankings):
    value, gradient = 0.0, np.zeros_like(x)
    for row, order in enumerate(rankings):
        for t in range(len(order)):
            left = order[t:]
            e = np.exp(x[row, left] - x[row, left].max())
            value += np.log(e.sum()) + x[row, left].max() - x[row, order[t]]
            gradient[row, left] += e / e.sum()
            gradient[row, order[t]] -= 1.0
    return value, gradient


def solve(rankings, shape, radius, steps, length=0.3):
    x = ahead = np.zeros(shape)
    t = 1.0
    for _ in range(steps):
        new = project(ahead - length * objective(ahead, rankings)[1], radius)
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / following * (new - x)
        x, t = new, following
    return x, objective(x, rankings)[0]
