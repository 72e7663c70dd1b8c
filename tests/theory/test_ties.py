"""Ties: subsets, quadrature and brute force; Jensen's bound; the gap of a fitted model."""

from fractions import Fraction
from itertools import permutations
from math import comb, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrank
from sqlrank.errors import ConfigError, DataError
from sqlrank.theory import (
    PlackettLuce,
    excess_risk,
    jensen_gap,
    level_log_prob,
    quadrature_log_prob,
    subset_log_prob,
)


def brute(law, levels, k=None):
    rated = np.flatnonzero(~np.isnan(levels))
    orders = np.array(list(permutations(rated)))
    best = np.sort(levels[rated])[::-1][:k]
    agrees = (levels[orders[:, :k]] == best).all(axis=1)
    return np.logaddexp.reduce(law.log_prob(orders[agrees])), law.log_prob(orders[agrees])


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
@pytest.mark.parametrize("rated", range(1, 9))
@pytest.mark.parametrize("unrated", [0, 1])
def test_sum_over_orders(rated, unrated, link):
    rng = np.random.default_rng(rated)
    law = PlackettLuce(2 * rng.standard_normal(rated + unrated), link)
    levels = rng.integers(0, 3, rated).astype(float)
    levels = np.insert(levels, rng.integers(rated), [np.nan] * unrated)
    total, _ = brute(law, levels)
    for method in ("auto", "subsets", "quadrature"):
        assert abs(law.log_prob_ties(levels, method) - total) < 1e-12


@pytest.mark.parametrize("k", range(1, 7))
def test_the_first_k_positions(k):
    x = np.random.default_rng(k).standard_normal(6)
    levels = np.array([2.0, 1, 1, 0, 1, 0])
    total, _ = brute(PlackettLuce(x, "identity"), levels, k)
    law = PlackettLuce(x, "identity", k=k)
    for method in ("subsets", "quadrature"):
        assert abs(law.log_prob_ties(levels, method) - total) < 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.01, 6.0), st.floats(-60.0, 60.0))
def test_quadrature_is_the_exact_form(seed, items, spread, rest):
    rng = np.random.default_rng(seed)
    y = spread * rng.standard_normal(items)
    for count in {items, int(rng.integers(1, items + 1))}:
        exact = subset_log_prob(y, rest, count)
        assert abs(quadrature_log_prob(y, rest, count) - exact) < 1e-10


@pytest.mark.parametrize(
    ("items", "below"),
    [(1, 1), (20, 300), (100, 3), (300, 300), (800, 2000), (1000, 10**5), (3000, 10**6)],
)
def test_equal_weights_are_a_binomial_coefficient(items, below):
    closed = lgamma(items + 1) + lgamma(below + 1) - lgamma(items + below + 1)
    assert level_log_prob(np.zeros(items), np.log(below), method="quadrature") == pytest.approx(
        closed, rel=1e-11
    )


def test_two_weights_are_a_sum_of_fractions():
    """Items of weight 1 and 2: inclusion and exclusion over how many of each stay behind, in exact fractions."""
    ones, twos, rest = 120, 80, 500
    exact = sum(
        (-1) ** (i + j) * comb(ones, i) * comb(twos, j) * Fraction(rest, rest + i + 2 * j)
        for i in range(ones + 1)
        for j in range(twos + 1)
    )
    found = quadrature_log_prob(np.repeat([0.0, np.log(2.0)], [ones, twos]), np.log(rest), ones + twos)
    # A float cannot hold so small a fraction: the logarithm of numerator over denominator.
    assert abs(found - (log(exact.numerator) - log(exact.denominator))) < 1e-10


def test_tied_levels_are_what_samples_show():
    rng = np.random.default_rng(0)
    law = PlackettLuce(rng.standard_normal(12), "identity")
    levels = np.repeat([1.0, 0.0], [3, 9])
    hits = (np.sort(law.sample(200_000, seed=1)[:, :3], axis=1) == [0, 1, 2]).all(axis=1)
    p = np.exp(law.log_prob_ties(levels, "quadrature"))
    assert abs(hits.mean() - p) < 4 * np.sqrt(p / len(hits))


def test_equal_infinite_levels_are_one_level():
    law = PlackettLuce(np.zeros(4), "identity")
    assert float(np.exp(law.log_prob_ties([np.inf, np.inf, 0.0, 0.0]))) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PlackettLuce(np.zeros(3), k="a"),
        lambda: PlackettLuce(np.zeros(40)).entropy(exact=True),
        lambda: excess_risk(np.zeros(40), np.ones(40), exact=True),
        lambda: PlackettLuce(np.zeros(40)).entropy(samples=0),
        lambda: PlackettLuce(np.zeros(40)).jensen_bound(np.ones(40), samples=1),
    ],
)
def test_what_cannot_be_computed_is_refused(call):
    with pytest.raises(ConfigError):
        call()


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
def test_jensen_bound(link):
    rng = np.random.default_rng(3)
    law = PlackettLuce(rng.standard_normal(7), link)
    levels = np.array([1.0, 2, 1, 0, 1, 0, 2])
    total, each = brute(law, levels)
    bound = law.jensen_bound(levels)
    assert bound.exact
    assert float(bound) == pytest.approx(each.mean() + np.log(len(each)), rel=1e-12)
    assert float(bound) < total


def mean_log_prob(y, rest):
    """Mean over all orders of log P(this order, before a rest of this log-weight), from the sums over all subsets."""
    masks = np.arange(1, 1 << len(y))
    member = (masks[:, None] >> np.arange(len(y))) & 1
    log_left = np.log(member @ np.exp(y) + np.exp(rest))
    size = member.sum(axis=1)
    return y.sum() - sum(log_left[size == s].mean() for s in range(1, len(y) + 1))


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
@pytest.mark.parametrize("items", [13, 14, 15, 16])
def test_jensen_bound_by_sampling_is_the_mean(items, link):
    """Levels just too large for the sum over subsets: the samples' mean is that sum's value."""
    law = PlackettLuce(np.random.default_rng(items).standard_normal(items + 5), link)
    levels = np.repeat([1.0, 0.0], [items, 5])
    y, below = law.log_weights[:items], law.log_weights[items:]
    exact = lgamma(items + 1) + mean_log_prob(y, np.logaddexp.reduce(below))
    exact += lgamma(6) + mean_log_prob(below, -np.inf)
    bound = law.jensen_bound(levels, samples=20_000, seed=1)
    assert not bound.exact and 0 < bound.standard_error < 0.05
    assert abs(float(bound) - exact) < 4 * bound.standard_error
    alone = law.jensen_bound(np.where(levels == 1.0, 1.0, np.nan), samples=20_000, seed=1)
    assert abs(float(alone) - lgamma(items + 1) - mean_log_prob(y, -np.inf)) < 4 * alone.standard_error


def test_jensen_bound_by_sampling_agrees_and_stays_below():
    law = PlackettLuce(np.random.default_rng(0).standard_normal(60))
    levels = np.repeat([1.0, 0.0], [25, 35])
    bound = law.jensen_bound(levels, samples=500, seed=2)
    again = law.jensen_bound(levels, samples=500, seed=3)
    assert not bound.exact
    assert abs(float(bound) - float(again)) < 4 * np.hypot(bound.standard_error, again.standard_error)
    assert float(bound) < law.log_prob_ties(levels)


def toy_events(explicit):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 25)) + 0.5 * rng.standard_normal((30, 25))
    user, item = np.nonzero(x > 0.3)
    stars = np.clip(np.ceil(2 * x[user, item]), 1, 5)
    table = {"user": user, "item": item} | ({"rating": stars} if explicit else {})
    return sqlrank.read(table, verbose=False)


@pytest.mark.parametrize("explicit", [False, True])
def test_gap_of_a_fitted_model(explicit):
    data = toy_events(explicit)
    model = sqlrank.SQLRank(rank=4, epochs=20).fit(data, seed=0)
    gap = jensen_gap(model, data, samples=50)
    assert gap.lists == data.n_users
    assert 0 < gap.exact <= gap.bound + 3 * gap.bound_error
    assert 0 <= gap.relative < 0.1
    assert "gap" in str(gap)
    assert jensen_gap(model, data, users=5, samples=10).lists == 5


def test_gap_is_measured_for_the_models_own_ids():
    data = toy_events(True)
    model = sqlrank.SQLRank(rank=2, epochs=2).fit(data)
    part = data.take(np.repeat(np.arange(data.n_users) >= 15, np.diff(data.indptr)))
    alien = sqlrank.read({"user": [1, 2], "item": [3, 3], "rating": [1.0, 2.0]}, verbose=False)
    assert jensen_gap(model, part, samples=10).lists == data.n_users - 15
    with pytest.raises(DataError, match="different ids"):
        jensen_gap(model, alien)


def test_gap_of_lists_of_one_level_is_nothing():
    data = sqlrank.read(
        {"user": [0, 0, 1, 1], "item": [0, 1, 1, 2], "rating": [3.0, 3.0, 4.0, 4.0]}, verbose=False
    )
    model = sqlrank.SQLRank(rank=2, epochs=1, feedback="explicit").fit(data)
    assert jensen_gap(model, data, samples=10).relative == 0.0


def test_gap_needs_full_lists():
    data = toy_events(False)
    model = sqlrank.SQLRank(rank=2, epochs=1, k=1).fit(data)
    with pytest.raises(ConfigError, match="full lists"):
        jensen_gap(model, data)
