import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import plackett_luce as twin

import sqlrank
from sqlrank.losses import PlackettLuce

CASES = [(link, k) for link in ("sigmoid", "identity") for k in (1, 5, None, "positives")]


def random_list(rng, n):
    scores = rng.normal(0, 1.5, n).astype(np.float32)
    levels = np.sort(rng.integers(1, 6, n))[::-1].astype(np.float32)
    return scores, levels, int((levels > levels.min()).sum())


@pytest.mark.parametrize(("link", "k"), CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 50, 333])
def test_value_and_gradient_equal_the_twin(link, k, n):
    scores, levels, positives = random_list(np.random.default_rng(n), n)
    got = PlackettLuce(link, k).evaluate(scores, levels)
    assert got.value == pytest.approx(twin.loss(scores, link, k, positives), rel=2e-6, abs=1e-6)
    expected = twin.coefficients(scores, link, k, positives)
    assert np.abs(got.gradient - expected).max() <= 1e-5 * max(np.abs(expected).max(), 1e-3)


@pytest.mark.parametrize(("link", "k"), CASES)
def test_gradient_equals_central_differences_of_the_float64_twin(link, k):
    rng = np.random.default_rng(7)
    for n in (2, 9, 40):
        scores, levels, positives = random_list(rng, n)
        x, step = scores.astype(np.float64), 1e-5
        differences = np.empty(n)
        for i in range(n):
            move = np.zeros(n)
            move[i] = step
            above, below = (twin.loss(x + sign * move, link, k, positives) for sign in (1, -1))
            differences[i] = (above - below) / (2 * step)
        gradient = PlackettLuce(link, k).evaluate(scores, levels).gradient
        error = np.linalg.norm(gradient - differences) / max(np.linalg.norm(differences), 1e-3)
        assert error < 1e-5


@pytest.mark.parametrize(("link", "k"), CASES)
def test_curvature_bounds_the_hessian(link, k):
    """H <= diag(h): no direction bends more than the bound says, at the point itself."""
    scores, levels, positives = random_list(np.random.default_rng(3), 12)
    h = PlackettLuce(link, k).evaluate(scores, levels).curvature
    x, step = scores.astype(np.float64), 1e-5
    hessian = np.empty((12, 12))
    for i in range(12):
        move = np.zeros(12)
        move[i] = step
        above, below = (twin.coefficients(x + sign * move, link, k, positives) for sign in (1, -1))
        hessian[i] = (above - below) / (2 * step)
    assert np.linalg.eigvalsh(np.diag(h) - (hessian + hessian.T) / 2).min() > -1e-6


def test_implicit_lists_know_their_positives():
    scores = np.random.default_rng(0).normal(size=20).astype(np.float32)
    got = PlackettLuce(k="positives").evaluate(scores, positives=5)
    assert got.value == pytest.approx(twin.loss(scores, "sigmoid", 5), rel=1e-6)


def test_equal_levels_say_nothing_when_only_positives_count():
    got = PlackettLuce(k="positives").evaluate([0.3, -1.0, 2.0], levels=[4, 4, 4])
    assert got.value == 0
    assert not got.gradient.any()
    assert not got.curvature.any()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=80),
    st.sampled_from(["sigmoid", "identity"]),
)
def test_extreme_scores_stay_finite(scores, link):
    got = PlackettLuce(link).evaluate(scores)
    assert np.isfinite(got.value)
    assert np.isfinite(got.gradient).all()
    assert got.value > -1e-4 * len(scores)
    if link == "identity":
        # The slope is 1 everywhere, so a shift of all scores changes nothing: the coefficients sum to zero.
        assert abs(got.gradient.sum()) < 1e-4 * len(scores)


@pytest.mark.parametrize("k", [1, 5, None])
@pytest.mark.parametrize("spread", [70.0, 79.0, 81.0, 200.0, 700.0])
def test_the_softmax_is_exact_for_scores_of_any_spread(k, spread):
    """Weights far below the best leave the range of floats; the answer must not."""
    x = np.random.default_rng(2).uniform(-spread, 0, 40)
    x[7], x[20] = 0.0, -spread
    x = x.astype(np.float32)
    log_sums = np.logaddexp.accumulate(x[::-1].astype(np.float64))[::-1]
    top = len(x) if k is None else k
    shares = np.exp(x[None, :] - log_sums[:top, None]) * (np.arange(len(x)) >= np.arange(top)[:, None])
    expected = shares.sum(axis=0) - (np.arange(len(x)) < top)
    got = PlackettLuce("identity", k).evaluate(x)
    assert got.value == pytest.approx((log_sums[:top] - x[:top]).sum(), rel=1e-6)
    np.testing.assert_allclose(got.gradient, expected, atol=2e-6)


@pytest.mark.parametrize("score", [12.0, 20.0, 60.0, -12.0, -60.0])
def test_the_sigmoids_slope_keeps_its_digits(score):
    """Where the sigmoid rounds to 1, g (1 - g) has no digits left."""
    got = PlackettLuce().evaluate([score, 0.0])
    e = np.exp(-abs(score))
    weights = np.exp(1 / (1 + np.exp(-np.array([score, 0.0]))))
    assert got.gradient[0] == pytest.approx(e / (1 + e) ** 2 * (weights[0] / weights.sum() - 1), rel=1e-5)


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
def test_scores_that_are_no_numbers_show(link):
    assert np.isnan(PlackettLuce(link).evaluate([1.0, np.nan, 0.5, 0.0] * 4).value)


def test_a_long_list_keeps_its_precision():
    scores = np.random.default_rng(1).normal(size=200_000).astype(np.float32)
    g = twin.LINKS["sigmoid"][0](scores.astype(np.float64))
    suffix = np.cumsum(np.exp(g)[::-1])[::-1]
    expected = np.log(suffix).sum() - g.sum()
    assert PlackettLuce().evaluate(scores).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("bad", [{"link": "probit"}, {"k": 0}, {"k": "all"}, {"k": True}])
def test_settings_are_checked(bad):
    with pytest.raises(sqlrank.ConfigError):
        PlackettLuce(**bad)


def test_levels_must_not_rise():
    with pytest.raises(sqlrank.ConfigError, match="must not rise"):
        PlackettLuce().evaluate([1.0, 2.0], levels=[1, 2])
