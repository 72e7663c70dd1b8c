"""How far the factor model's local optimum is from the convex optimum of the same norm.

    python benchmarks/convex.py --lists 300 --items 200 --rank 3

The factor penalty lambda/2 (|U|^2 + |V|^2) is, at its minimum, lambda times the nuclear norm of U V'. So the factor
model is fitted with lambda, and the convex problem is solved over the ball that its scores lie on.
"""

import argparse
import time

import numpy as np

import sqlrank
from sqlrank.theory import NuclearNormRanker, PlackettLuce
from sqlrank.theory.likelihood import list_log_prob


def generated(lists: int, items: int, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of the given rank and one ranking per list drawn from them."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((lists, rank)) @ rng.standard_normal((rank, items))
    return scores, PlackettLuce(scores, link="identity").sample(seed=seed + 1)


def factor_scores(rankings: np.ndarray, rank: int, penalty: float, epochs: int, seed: int) -> np.ndarray:
    """Return the scores that SQLRank learns from full rankings, given to it as ratings without ties."""
    lists, items = rankings.shape
    ratings = np.empty((lists, items))
    np.put_along_axis(ratings, rankings, np.arange(items, 0, -1.0)[None], axis=1)
    user, item = np.indices((lists, items)).reshape(2, -1)
    data = sqlrank.read({"user": user, "item": item, "rating": ratings.ravel()}, verbose=False)
    model = sqlrank.SQLRank(
        link="identity", feedback="explicit", rank=rank, regularization=penalty, epochs=epochs, decay=1.0
    )
    model.fit(data, seed=seed)
    return model.user_factors.astype(np.float64) @ model.item_factors.astype(np.float64).T


def compare(
    lists: int, items: int, rank: int, penalty: float, epochs: int, factors: int, tolerance: float, seed: int
) -> tuple[float, float, float]:
    """Print the comparison; return the factor model's excess in per cent, the solver's gap, and its seconds."""
    truth, rankings = generated(lists, items, rank, seed)
    started = time.perf_counter()
    scores = factor_scores(rankings, factors, penalty, epochs, seed)
    seconds = time.perf_counter() - started
    factor_nll = -list_log_prob(np.take_along_axis(scores, rankings, axis=1)).sum()
    radius = np.linalg.norm(scores, "nuc")
    solution = NuclearNormRanker(radius, tolerance=tolerance).solve(rankings, items)
    excess = 100 * (factor_nll / solution.objective - 1)
    print(f"truth: nuclear norm {np.linalg.norm(truth, 'nuc'):.1f}")
    print(
        f"factor model, rank {factors}: objective {factor_nll:.1f}, nuclear norm {radius:.1f}, {seconds:.1f} s"
    )
    print(
        f"convex: objective {solution.objective:.1f}, relative gap {solution.relative_gap:.2e}, "
        f"{solution.iterations} iterations, {solution.seconds:.1f} s, "
        f"rank {np.linalg.matrix_rank(solution.scores, tol=1e-6 * radius)}"
    )
    print(
        f"factor model above the convex solution: {excess:.3f} % (at most {excess + 100 * solution.relative_gap:.3f} %)"
    )
    return excess, solution.relative_gap, solution.seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=300)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--factors", type=int, default=16, help="rank of the factor model")
    parser.add_argument("--penalty", type=float, default=10.0, help="lambda")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    compare(
        given.lists,
        given.items,
        given.rank,
        given.penalty,
        given.epochs,
        given.factors,
        given.tolerance,
        given.seed,
    )
