"""The rivals' losses against twins that look at every pair, against finite differences and against odd lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import list_losses as twins

from sqlrank.losses import BayesianPairs, ListRank, PairwiseHinge, SquaredError

LOSSES = {
    "listrank": ListRank(),
    "primal-cr": PairwiseHinge(),
    "bpr": BayesianPairs(),
    "bpr-implicit": BayesianPairs(),
    "squared": SquaredError(),
}
NAMES = list(LOSSES)


def random_list(rng, name, n, kinds=5):
    scores = rng.normal(0, 1.5, n).astype(np.float32)
    if name == "bpr-implicit":
        return scores, (np.arange(n) < max(1, n // 4)).astype(np.float32)
    return scores, np.sort(rng.integers(1, kinds + 1, n))[::-1].astype(np.float32)


def evaluate(name, scores, levels):
    if name == "bpr-implicit":
        return LOSSES[name].evaluate(scores, positives=int(levels.sum()))
    return LOSSES[name].evaluate(scores, levels)


def differences(function, x, step=1e-6):
    moves = step * np.eye(len(x))
    return np.array([(function(x + move) - function(x - move)) / (2 * step) for move in moves])


def check_against_twin(name, scores, levels):
    got = evaluate(name, scores, levels)
    value, gradient = twins.TWINS[name](scores.astype(np.float64), levels.astype(np.float64))
    assert got.value == pytest.approx(value, rel=3e-6, abs=1e-6)
    assert np.abs(got.gradient - gradient).max(initial=0) <= 1e-5 * max(np.abs(gradient).max(initial=0), 1e-2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 50, 159, 160, 333])
def test_value_and_gradient_equal_the_twin(name, n):
    check_against_twin(name, *random_list(np.random.default_rng(n), name, n))


@pytest.mark.parametrize("name", ["listrank", "primal-cr", "bpr", "squared"])
@pytest.mark.parametrize("kinds", [1, 2, 16, 17, 40, 1000])
def test_any_number_of_levels(name, kinds):
    check_against_twin(name, *random_list(np.random.default_rng(kinds), name, 200, kinds))


@pytest.mark.parametrize("name", ["primal-cr", "bpr", "listrank"])
def test_tied_scores(name):
    rng = np.random.default_rng(0)
    scores, levels = random_list(rng, name, 200)
    check_against_twin(name, np.round(scores), levels)
    check_against_twin(name, np.zeros_like(scores), levels)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_equals_central_differences_of_the_float64_twin(name):
    rng = np.random.default_rng(7)
    for n in (2, 9, 40):
        scores, levels = random_list(rng, name, n)
        expected = differences(lambda x, r=levels: twins.TWINS[name](x, r)[0], scores.astype(np.float64))
        error = np.linalg.norm(evaluate(name, scores, levels).gradient - expected)
        assert error / max(np.linalg.norm(expected), 1e-3) < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_curvature_bounds_the_hessian(name):
    """H <= diag(h): no direction bends more than the bound says."""
    scores, levels = random_list(np.random.default_rng(3), name, 12)
    h = evaluate(name, scores, levels).curvature
    hessian = differences(lambda x: twins.TWINS[name](x, levels)[1], scores.astype(np.float64))
    assert np.linalg.eigvalsh(np.diag(h) - (hessian + hessian.T) / 2).min() > -1e-6


@pytest.mark.parametrize("name", ["primal-cr", "bpr"])
def test_a_single_level_has_no_pairs(name):
    got = evaluate(name, np.array([0.3, -1.0, 2.0]), np.array([4, 4, 4]))
    assert got.value == 0
    assert not got.gradient.any()
    assert not got.curvature.any()


def test_implicit_lists_have_levels_one_and_zero():
    scores = np.random.default_rng(0).normal(size=20).astype(np.float32)
    levels = (np.arange(20) < 5).astype(np.float32)
    for name in ("listrank", "primal-cr", "squared"):
        got = LOSSES[name].evaluate(scores, positives=5)
        value, gradient = twins.TWINS[name](scores.astype(np.float64), levels)
        assert got.value == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(got.gradient, gradient, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_lists_without_entries_or_without_a_second_kind(name):
    assert LOSSES[name].evaluate([]).value == 0
    for positives in (0, 3):
        got = LOSSES[name].evaluate([1.0, 2.0, 3.0], positives=positives)
        assert np.isfinite(got.value)
        assert np.isfinite(got.gradient).all()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-300, 300, width=32), st.integers(1, 5)), min_size=1, max_size=80),
    st.sampled_from(NAMES),
)
def test_extreme_scores_stay_finite(entries, name):
    entries.sort(key=lambda entry: -entry[1])
    scores, levels = np.array(entries, np.float32).T
    if name == "bpr-implicit":
        levels = (levels > 3).astype(np.float32)
    got = evaluate(name, scores, levels)
    assert np.isfinite(got.value)
    assert np.isfinite(got.gradient).all()
    assert got.value > -1e-4 * len(scores)
    if name in ("primal-cr", "bpr", "bpr-implicit"):  # pairs pull as much as they push
        assert abs(got.gradient.sum(dtype=np.float64)) <= 1e-5 * np.abs(got.gradient).sum() + 1e-5


def test_explicit_opponents_spread_over_the_other_levels():
    levels = np.repeat([5, 4, 3, 2, 1], [30, 10, 5, 5, 50])
    pairs = twins.bpr_pairs(levels, implicit=False)
    assert len(pairs) == 100
    assert all(levels[better] > levels[worse] for better, worse in pairs)
    met = np.bincount([worse for _, worse in pairs[:30]], minlength=100)
    assert met.max() == 1  # the best entries meet thirty different opponents


@pytest.mark.parametrize("levels", [None, [2.0, 1.0]])
def test_bpr_keeps_its_digits_far_from_zero(levels):
    for d in (15.0, 17.0, 40.0, -15.0, -100.0, -1000.0):  # by how much the better one is ahead
        found = BayesianPairs().evaluate([d, 0.0], levels, positives=1)
        pairs = 1 if levels is None else 2  # either entry of an explicit list has its pair
        assert found.value == pytest.approx(pairs * np.logaddexp(0.0, -d), rel=1e-6)
        slope = pairs * np.exp(-np.logaddexp(0.0, d))
        np.testing.assert_allclose(found.gradient, [-slope, slope], rtol=1e-5)
