"""Simulated excess risk of the constrained maximum-likelihood estimators of Corollaries 1 and 2.

Truth, features and rankings are drawn, the estimator is computed inside its norm balls, and D(X*, X^) is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sqlrank.errors import ConfigError
from sqlrank.theory.likelihood import Floats, link_slope, log_weights, nll_and_gradient
from sqlrank.theory.plackett_luce import PlackettLuce, Ranking
from sqlrank.theory.risk import excess_risk

FEATURE_NORM = 4.0  # every |z_ij|
TRUE_BETA = 1.0
SETTINGS = ("features", "fixed-norms", "growing-norms")
SCATTERED = (
    0.1,
    0.1,
    0.3,
    0.3,
    1.0,
    1.0,
    2.0,
)  # norms, before the map into the ball, of the starts that know nothing of the truth
STARTS = 1 + len(SCATTERED)
SAME_OPTIMUM = 1e-4  # nats per list


@dataclass(frozen=True)
class Cell:
    """One simulated data set: n lists of m items; `size` is s in Corollary 1 and r in Corollary 2.

    `setting`: ``"features"`` is Corollary 1. ``"fixed-norms"`` is Corollary 2 with the norms of U and V constant, as
    its O-notation says; ``"growing-norms"`` keeps the *scores* of constant size: |U| grows as sqrt(n), |V| as sqrt(m).
    """

    setting: str
    n: int
    m: int
    size: int
    replicate: int = 0
    ball: float = 1.0
    """Radius of the estimator's balls over the truth's norms: 1 is the smallest class that holds the truth."""


@dataclass(frozen=True)
class Outcome:
    """What one data set gave."""

    risk: float
    """D(X*, X^)."""
    zero: float
    """D(X*, 0), the risk of equal scores: what guessing costs."""
    norm_ratio: float
    """Frobenius norm of X^ over that of X*."""
    confirmed: bool
    """Whether a second start reached the same objective: with low rank there are local optima."""


def simulate(cell: Cell, seed: int = 0, samples: int = 16) -> Outcome:
    """Return the outcome of one cell; it depends on the seed and the cell alone.

    Cells that differ in their ball alone have the same truth and the same rankings.
    """
    if not cell.ball >= 1.0:
        raise ConfigError(f"ball is {cell.ball!r}; it must be >= 1, or the class does not hold the truth")
    if cell.setting not in SETTINGS:
        raise ConfigError(f"setting is {cell.setting!r}; it must be one of {', '.join(SETTINGS)}")
    key = (seed, SETTINGS.index(cell.setting), cell.n, cell.m, cell.size, cell.replicate)
    rng = np.random.default_rng(key)
    solve = _features if cell.setting == "features" else _low_rank
    true, estimate, confirmed = solve(cell, rng)
    draws = int(rng.integers(1 << 62))
    risk, zero = (
        float(excess_risk(true, scores, samples=samples, seed=draws, exact=False))
        for scores in (estimate, np.zeros_like(true))
    )
    return Outcome(risk, zero, float(np.linalg.norm(estimate) / np.linalg.norm(true)), confirmed)


def _features(cell: Cell, rng: np.random.Generator) -> tuple[Floats, Floats, bool]:
    z = rng.standard_normal((cell.n, cell.m, cell.size))
    z *= FEATURE_NORM / np.linalg.norm(z, axis=-1, keepdims=True)
    beta = rng.standard_normal(cell.size)
    beta *= TRUE_BETA / np.linalg.norm(beta)
    true = z @ beta
    order = _rankings(true, rng)
    flat = z.reshape(-1, cell.size)
    ball = cell.ball * TRUE_BETA

    def loss(theta: Floats) -> tuple[float, Floats]:
        b, pull = into_ball(theta, ball)
        value, gradient = scores_loss((flat @ b).reshape(cell.n, cell.m), order)
        return value, pull(gradient.ravel() @ flat)

    starts = [out_of_ball(beta, ball), *(scattered(rng, cell.size, norm) for norm in SCATTERED)]
    best, confirmed = minimise(loss, starts)
    return true, z @ into_ball(best, ball)[0], confirmed


def _low_rank(cell: Cell, rng: np.random.Generator) -> tuple[Floats, Floats, bool]:
    n, m, r = cell.n, cell.m, cell.size
    norm_u, norm_v = (2.0, 2.0) if cell.setting == "fixed-norms" else (1.5 * np.sqrt(n), 1.5 * np.sqrt(m))
    u, v = rng.standard_normal((n, r)), rng.standard_normal((m, r))
    u *= norm_u / np.linalg.norm(u)
    v *= norm_v / np.linalg.norm(v)
    true = u @ v.T
    order = _rankings(true, rng)
    ball_u, ball_v = cell.ball * norm_u, cell.ball * norm_v

    def unpack(theta: Floats) -> tuple[Floats, Floats, Callable[[Floats, Floats], Floats]]:
        a, pull_a = into_ball(theta[: n * r], ball_u)
        b, pull_b = into_ball(theta[n * r :], ball_v)
        return a.reshape(n, r), b.reshape(m, r), lambda p, q: np.concatenate([pull_a(p), pull_b(q)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        a, b, pull = unpack(theta)
        value, gradient = scores_loss(a @ b.T, order)
        return value, pull((gradient @ b).ravel(), (gradient.T @ a).ravel())

    at_truth = np.concatenate([out_of_ball(u.ravel(), ball_u), out_of_ball(v.ravel(), ball_v)])
    others = [
        np.concatenate([scattered(rng, n * r, norm), scattered(rng, m * r, norm)]) for norm in SCATTERED
    ]
    best, confirmed = minimise(loss, [at_truth, *others])
    a, b, _ = unpack(best)
    return true, a @ b.T, confirmed


def scattered(rng: np.random.Generator, size: int, norm: float) -> Floats:
    """Return a random direction of the given length."""
    start = rng.standard_normal(size)
    return np.asarray(start * norm / np.linalg.norm(start))


def _rankings(true: Floats, rng: np.random.Generator) -> Ranking:
    return PlackettLuce(true).sample(seed=int(rng.integers(1 << 62)))


def scores_loss(scores: Floats, order: Ranking) -> tuple[float, Floats]:
    """Return the mean negative log-likelihood (the paper's sigmoid link) and its gradient in the scores."""
    y = np.take_along_axis(log_weights(scores, "sigmoid"), order, axis=-1)
    value, c = nll_and_gradient(y)
    gradient = np.empty_like(scores)
    np.put_along_axis(gradient, order, c * link_slope(y, "sigmoid") / len(scores), axis=-1)
    return value / len(scores), gradient


def into_ball(theta: Floats, radius: float) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Map all of space smoothly onto the closed ball, 2 radius theta / (1 + |theta|^2); and gradients back.

    The boundary is where |theta| = 1, so that an optimum on it is reached, and not only approached.
    """
    scale = 2.0 / (1.0 + theta @ theta)

    def pull(gradient: Floats) -> Floats:
        return np.asarray(radius * scale * (gradient - scale * (theta @ gradient) * theta))

    return np.asarray(radius * scale * theta), pull


def out_of_ball(point: Floats, radius: float) -> Floats:
    """Invert :func:`into_ball`, to |theta| <= 1."""
    share = point / radius
    return np.asarray(share / (1.0 + np.sqrt(max(0.0, 1.0 - float(share @ share)))))


def minimise(loss: Callable[[Floats], tuple[float, Floats]], starts: list[Floats]) -> tuple[Floats, bool]:
    """Return the lowest point reached by L-BFGS, and whether a second start came as low.

    One start is the truth: whatever is reached from there is at least as likely as the truth, which is all that the
    basic inequality (Lemma 1) asks of an estimator.
    """
    from scipy.optimize import minimize

    runs = [
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 300, "ftol": 1e-11, "gtol": 1e-7},
        )
        for start in starts
    ]
    runs.sort(key=lambda run: float(run.fun))
    confirmed = len(runs) > 1 and float(runs[1].fun - runs[0].fun) <= SAME_OPTIMUM
    return np.asarray(runs[0].x, np.float64), confirmed


def simulate_all(cells: Iterable[Cell], seed: int, workers: int) -> tuple[list[Outcome], float]:
    """Return the outcome of every cell, in order, and the seconds it took; the numbers do not depend on `workers`."""
    started = time.perf_counter()
    todo = list(cells)
    if workers == 1:
        values = [simulate(cell, seed) for cell in todo]
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # Fresh processes: a forked child would inherit the locks of the parent's thread pools.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            values = list(pool.map(simulate, todo, [seed] * len(todo), chunksize=4))
    return values, time.perf_counter() - started
