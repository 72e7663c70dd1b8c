"""The convex solver against a brute twin, and the factor model against the solver."""

import sys
from pathlib import Path

import numpy as np
import pytest
from reference import nuclear as brute

from sqlrank.errors import ConfigError, DataError
from sqlrank.theory import NuclearNormRanker, PlackettLuce
from sqlrank.theory.likelihood import nll_and_gradient
from sqlrank.theory.nuclear import ListProblem, project_nuclear


def generated(lists, items, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((lists, rank)) @ rng.standard_normal((rank, items))
    return x, PlackettLuce(x, link="identity").sample(seed=seed + 1)


def test_gradient_against_differences_and_twin():
    rng = np.random.default_rng(0)
    x, rankings = generated(4, 6)
    problem = ListProblem.of(rankings, 6)
    value, gradient = problem.value_and_gradient(problem.arrange(x))
    twin_value, twin_gradient = brute.objective(x, rankings)
    assert value == pytest.approx(twin_value, rel=1e-12)
    np.testing.assert_allclose(gradient, twin_gradient, atol=1e-12)
    d = rng.standard_normal(x.shape)
    slope, bend = problem.slope_and_bend(problem.arrange(x), problem.arrange(d), 0.2)

    def along(step):
        return problem.value_and_gradient(problem.arrange(x + step * d))[0]

    assert slope == pytest.approx((along(0.2 + 1e-5) - along(0.2 - 1e-5)) / 2e-5, rel=1e-6)
    assert bend == pytest.approx((along(0.201) - 2 * along(0.2) + along(0.199)) / 1e-6, rel=1e-4)


def test_wide_spread_takes_the_stable_path():
    y = np.array([[900.0, 0.0, -900.0], [0.0, 1.0, 2.0]])
    value, gradient = nll_and_gradient(y)
    expected = np.log1p(np.exp(1) + np.exp(2)) + np.log(np.exp(1) + np.exp(2)) - 1
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient[0], 0.0, atol=1e-12)


@pytest.mark.parametrize("radius", [3.0, 15.0, 40.0])
def test_agrees_with_the_brute_twin(radius):
    _, rankings = generated(20, 15)
    solution = NuclearNormRanker(radius, tolerance=1e-5).solve(rankings, 15)
    x, value = brute.solve(rankings, (20, 15), radius, steps=250)
    assert solution.relative_gap <= 1e-5
    assert np.linalg.norm(solution.scores, "nuc") <= radius * (1 + 1e-9)
    assert solution.objective == pytest.approx(value, rel=2e-5)
    assert solution.objective - solution.gap <= value  # what the gap certifies
    assert np.linalg.norm(solution.scores - x) < 0.05 * np.linalg.norm(x)


def test_300_by_200():
    truth, rankings = generated(300, 200)
    solution = NuclearNormRanker(0.5 * np.linalg.norm(truth, "nuc")).solve(rankings, 200)
    print(f"relative gap {solution.relative_gap:.2e} in {solution.seconds:.1f} s")
    assert solution.relative_gap <= 1e-3
    assert solution.seconds <= 60


def test_lists_of_different_lengths_and_a_tiny_problem():
    solution = NuclearNormRanker(1.0).solve([[0, 2], [1, 0, 2], [], [1]], n_items=4)
    assert solution.scores.shape == (4, 4)
    assert solution.scores[0, 0] > solution.scores[0, 2]
    assert (solution.scores[:, 3] == 0).all() or np.abs(solution.scores[:, 3]).max() < 1e-9


def test_lists_that_say_nothing_are_solved_at_once():
    solution = NuclearNormRanker(1.0).solve([[item] for item in range(20)])
    assert solution.gap == 0.0 and solution.relative_gap == 0.0


def test_projection():
    matrix = np.random.default_rng(0).standard_normal((6, 4))
    for radius in (0.1, 2.0, 100.0):
        np.testing.assert_allclose(project_nuclear(matrix, radius), brute.project(matrix, radius), atol=1e-9)


@pytest.fixture(scope="module")
def convex():
    """The benchmark that compares the factor model with the convex optimum."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import convex
    finally:
        sys.path.pop(0)
    return convex


@pytest.fixture(scope="module")
def penalised(convex):
    """Rankings and the optimum of the penalised problem."""
    _, rankings = convex.generated(60, 40, 3, seed=0)
    return rankings, convex.penalised_optimum(rankings, 40, penalty=5.0, tolerance=1e-3)


def test_the_penalised_optimum_is_bracketed(convex, penalised):
    rankings, optimum = penalised
    assert optimum.lower <= optimum.upper <= optimum.lower * (1 + 1.1e-3)
    value, _ = brute.objective(optimum.scores, rankings)
    norm = np.linalg.norm(optimum.scores, "nuc")
    assert value + 5.0 * norm == pytest.approx(optimum.upper, rel=1e-12)
    for radius in (
        0.5 * norm,
        0.9 * norm,
        1.1 * norm,
        2 * norm,
    ):  # no radius does better than the lower bound
        solution = NuclearNormRanker(radius).solve(rankings, 40)
        assert solution.objective + 5.0 * np.linalg.norm(solution.scores, "nuc") >= optimum.lower


def test_the_penalised_optimum_of_a_strong_penalty_is_zero(convex):
    _, rankings = convex.generated(20, 15, 3, seed=0)
    optimum = convex.penalised_optimum(rankings, 15, penalty=1e4, tolerance=1e-3)
    assert not optimum.scores.any() and optimum.lower == optimum.upper


def excess(convex, penalised, factors, epochs):
    rankings, optimum = penalised
    u, v = convex.fit_factors(rankings, factors, 5.0, epochs, seed=0)
    reached = convex.factor_objective(u, v, rankings, 5.0)
    assert reached >= optimum.lower  # no factors are below the convex optimum
    return 100 * (reached / optimum.lower - 1)


def test_factor_model_reaches_the_convex_optimum(convex, penalised):
    assert excess(convex, penalised, factors=24, epochs=300) <= 0.5
    assert excess(convex, penalised, factors=12, epochs=300) <= 2.0


def test_an_unfinished_or_too_narrow_factor_model_does_not(convex, penalised):
    assert excess(convex, penalised, factors=24, epochs=1) > 2.0
    assert excess(convex, penalised, factors=3, epochs=300) > 2.0  # the truth's rank is not the optimum's


def test_the_comparison_is_printed(convex, capsys):
    found = convex.compare(30, 20, 2, penalty=5.0, epochs=200, factors=12, tolerance=1e-3, seed=0)
    printed = capsys.readouterr().out
    assert f"at most {found:.3f} %" in printed and found <= 2.0
    assert "factor model" in printed and "convex optimum between" in printed


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: NuclearNormRanker(0.0), ConfigError),
        (lambda: NuclearNormRanker(1.0, tolerance=0.0), ConfigError),
        (lambda: NuclearNormRanker(1.0, directions=0), ConfigError),
        (lambda: NuclearNormRanker(1.0).solve([]), DataError),
        (lambda: NuclearNormRanker(1.0).solve([[0, 0]]), DataError),
        (lambda: NuclearNormRanker(1.0).solve([[0, 5]], n_items=3), DataError),
        (lambda: NuclearNormRanker(1.0).solve([[0.7, 1.2, 2.9]]), DataError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
