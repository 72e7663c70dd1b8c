"""How far the factor model's local optimum is from the optimum of the convex problem that it relaxes to.

    python benchmarks/convex.py --lists 300 --items 200 --rank 3

The factor penalty lambda/2 (|U|^2 + |V|^2) is never below lambda times the nuclear norm of U V', and equal to it for
the best U and V with this product. So with enough columns both models minimise NLL + lambda |X|_*, the factor model
from a random start without convexity. Both objectives are compared with their penalties; a ball of the factor model's
own norm would only compare likelihoods at whatever norm a model, fitted or not, happens to have.

With fewer columns than the convex optimum has rank the factor model minimises over less and stays above it however
long it learns. That rank is not the truth's: it grows as lambda falls.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

import sqlrank
from sqlrank.theory import NuclearNormRanker, PlackettLuce
from sqlrank.theory.likelihood import list_log_prob
from sqlrank.theory.nuclear import ListProblem


@dataclass(frozen=True)
class Optimum:
    """The minimum of NLL + lambda |X|_* over all X lies between the two values."""

    upper: float
    """Reached by `scores`."""
    lower: float
    scores: np.ndarray
    solves: int


def generated(lists: int, items: int, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of the given rank and one ranking per list drawn from them."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((lists, rank)) @ rng.standard_normal((rank, items))
    return scores, PlackettLuce(scores, link="identity").sample(seed=seed + 1)


def fit_factors(
    rankings: np.ndarray, rank: int, penalty: float, epochs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors that SQLRank learns from full rankings, given to it as ratings without ties."""
    lists, items = rankings.shape
    ratings = np.empty((lists, items))
    np.put_along_axis(ratings, rankings, np.arange(items, 0, -1.0)[None], axis=1)
    user, item = np.indices((lists, items)).reshape(2, -1)
    data = sqlrank.read({"user": user, "item": item, "rating": ratings.ravel()}, verbose=False)
    model = sqlrank.SQLRank(
        link="identity", feedback="explicit", rank=rank, regularization=penalty, epochs=epochs, decay=1.0
    )
    model.fit(data, seed=seed)
    return model.user_factors.astype(np.float64), model.item_factors.astype(np.float64)


def factor_objective(u: np.ndarray, v: np.ndarray, rankings: np.ndarray, penalty: float) -> float:
    """Return NLL + lambda/2 (|U|^2 + |V|^2)."""
    nll = -list_log_prob(np.take_along_axis(u @ v.T, rankings, axis=1)).sum()
    return float(nll + 0.5 * penalty * ((u**2).sum() + (v**2).sum()))


def penalised_optimum(rankings: np.ndarray, items: int, penalty: float, tolerance: float) -> Optimum:
    """Minimise NLL + lambda |X|_* by a search over the radius of the ball, with a lower bound.

    At any X with gradient G, convexity gives NLL(Y) >= NLL(X) - <G, X> - s |Y|_* with s the largest singular value of
    G: for the objective a line in the norm |Y|_*, of slope lambda - s. One line falls and one rises; no objective is
    below their crossing, and the crossing's norm is the next radius.
    """
    problem = ListProblem.of(rankings, items)
    first, gradient = problem.value_and_gradient(problem.arrange(np.zeros(problem.shape)))
    falling, rising = (first, penalty - np.linalg.norm(gradient, 2)), (0.0, penalty)  # NLL >= 0
    best, scores, solves = first, np.zeros(problem.shape), 0
    while solves < 60:
        radius = (falling[0] - rising[0]) / (rising[1] - falling[1])
        lower = falling[0] + falling[1] * radius
        if falling[1] >= 0.0 or best - lower <= tolerance * best:
            break
        x = NuclearNormRanker(radius, tolerance=0.3 * tolerance).solve(rankings, items).scores
        solves += 1
        value, gradient = problem.value_and_gradient(problem.arrange(x))
        reached = value + penalty * np.linalg.norm(x, "nuc")
        if reached < best:
            best, scores = reached, x
        line = (value - (gradient * x).sum(), penalty - np.linalg.norm(gradient, 2))
        falling, rising = (line, rising) if line[1] < 0 else (falling, line)
    return Optimum(best, min(lower, best), scores, solves)


def compare(
    lists: int, items: int, rank: int, penalty: float, epochs: int, factors: int, tolerance: float, seed: int
) -> float:
    """Print the comparison; return how far at most the factor model's objective is above the optimum, in per cent."""
    _, rankings = generated(lists, items, rank, seed)
    started = time.perf_counter()
    u, v = fit_factors(rankings, factors, penalty, epochs, seed)
    fitted = time.perf_counter() - started
    optimum = penalised_optimum(rankings, items, penalty, tolerance)
    solved = time.perf_counter() - started - fitted
    reached = factor_objective(u, v, rankings, penalty)
    norm = np.linalg.norm(optimum.scores, "nuc")
    print(f"objective with its penalty, lambda {penalty:g}:")
    print(
        f"  factor model {reached:.1f} ({factors} columns, {epochs} epochs, nuclear norm "
        f"{np.linalg.norm(u @ v.T, 'nuc'):.1f}, {fitted:.1f} s)"
    )
    print(
        f"  convex optimum between {optimum.lower:.1f} and {optimum.upper:.1f} (nuclear norm {norm:.1f}, rank "
        f"{np.linalg.matrix_rank(optimum.scores, tol=1e-3 * norm)}, {optimum.solves} radii, {solved:.1f} s)"
    )
    excess = 100 * (reached / optimum.lower - 1)
    print(f"factor model above the optimum: at most {excess:.3f} %")
    return excess


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lists", type=int, default=300)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--factors", type=int, default=16, help="columns of the factor model")
    parser.add_argument("--penalty", type=float, default=25.0, help="lambda")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    compare(**vars(parser.parse_args()))
