"""The distribution against brute force over all orders."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from sqlrank.errors import ConfigError, DataError
from sqlrank.theory import PlackettLuce, excess_risk

LINKS = ("sigmoid", "identity")


def all_orders(items):
    return np.array(list(permutations(range(items))))


def scores(items, seed=0, lists=None):
    shape = items if lists is None else (lists, items)
    return 1.5 * np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("items", range(1, 8))
def test_probabilities_sum_to_one(items, link):
    law = PlackettLuce(scores(items, items), link)
    p = np.exp(law.log_prob(all_orders(items)))
    assert (p > 0).all()
    assert abs(p.sum() - 1) < 1e-13


def test_by_hand():
    law = PlackettLuce(np.log([4.0, 3.0, 2.0, 1.0]), link="identity")
    assert np.exp(law.log_prob([1, 0, 3, 2])) == pytest.approx(3 / 10 * 4 / 7 * 1 / 3)
    assert np.exp(law.log_prob([1, 3])) == pytest.approx(3 / 4)  # only these two took part
    assert np.exp(law.log_prob([1, 3], rest="behind")) == pytest.approx(3 / 10 * 1 / 7)
    top2 = PlackettLuce(law.scores, link="identity", k=2)
    assert np.exp(top2.log_prob([1, 0, 3, 2])) == pytest.approx(3 / 10 * 4 / 7)
    assert np.exp(top2.log_prob([1, 0, 3])) == pytest.approx(3 / 8 * 4 / 5)


@pytest.mark.parametrize("link", LINKS)
def test_top_lists_are_marginals(link):
    law = PlackettLuce(scores(5, 1), link)
    orders = all_orders(5)
    p = np.exp(law.log_prob(orders))
    for k in range(1, 6):
        tops = np.unique(orders[:, :k], axis=0)
        top = np.exp(law.log_prob(tops, rest="behind"))
        brute = [p[(orders[:, :k] == row).all(axis=1)].sum() for row in tops]
        np.testing.assert_allclose(top, brute, rtol=1e-12)
        full = tops if k == 5 else np.array([[*row, *np.setdiff1d(range(5), row)] for row in tops])
        np.testing.assert_allclose(
            np.exp(PlackettLuce(law.scores, link, k=k).log_prob(full)), top, rtol=1e-12
        )


@pytest.mark.parametrize("link", LINKS)
def test_moments_against_all_orders(link):
    law = PlackettLuce(scores(6, 2), link)
    orders = all_orders(6)
    log_p = law.log_prob(orders)
    p = np.exp(log_p)
    np.testing.assert_allclose(
        law.marginal_top1(), [p[orders[:, 0] == j].sum() for j in range(6)], rtol=1e-12
    )
    np.testing.assert_allclose(law.expected_rank(), p @ (np.argsort(orders, axis=1) + 1.0), rtol=1e-12)
    assert float(law.entropy()) == pytest.approx(-p @ log_p, rel=1e-12)
    top2 = PlackettLuce(law.scores, link, k=2)
    _, group = np.unique(orders[:, :2], axis=0, return_inverse=True)
    q = np.bincount(group, p)
    assert float(top2.entropy()) == pytest.approx(-q @ np.log(q), rel=1e-12)
    for one in (law, top2):
        drawn = one.entropy(samples=4000, exact=False)
        assert abs(float(drawn) - float(one.entropy())) < 4 * float(drawn.standard_error)


def test_batches_are_their_rows():
    x = scores(5, 3, lists=4)
    law = PlackettLuce(x)
    draws = law.sample(7, seed=5)
    assert draws.shape == (7, 4, 5)
    assert law.sample(seed=5).shape == (4, 5)
    together = law.log_prob(draws)
    levels = np.array([1.0, 0, 1, np.nan, 0])
    for row in range(4):
        one = PlackettLuce(x[row])
        np.testing.assert_allclose(together[:, row], one.log_prob(draws[:, row]), rtol=1e-12)
        for name in ("mode", "marginal_top1", "expected_rank"):
            np.testing.assert_allclose(getattr(law, name)()[row], getattr(one, name)())
        assert law.log_prob_ties(levels)[row] == one.log_prob_ties(levels)
        assert law.entropy().value[row] == pytest.approx(float(one.entropy()))


def test_extreme_scores_stay_finite():
    law = PlackettLuce([2000.0, 0.0, -2000.0, 1.0], link="identity")
    assert law.log_prob([2, 1, 3, 0]) == -4000 - 2000 - 1999
    assert law.log_prob([0, 3, 1, 2]) == pytest.approx(-np.log1p(np.exp(-1)))
    assert np.isfinite(law.entropy(samples=10, exact=False).value)
    assert np.isfinite(float(excess_risk(law.scores, -law.scores, "identity", samples=5, exact=False)))
    assert law.sample(3).shape == (3, 4)


@pytest.mark.parametrize("link", LINKS)
def test_samples_follow_the_law(link):
    """Theorem 1: the order of independent exponential clocks has exactly these probabilities (chi-square)."""
    orders = all_orders(5)
    for seed in (1, 2, 3):
        law = PlackettLuce(scores(5, 10 + seed), link)
        draws = law.sample(60_000, seed=seed)
        places = 5 ** np.arange(5)
        keys = np.sort(orders @ places)
        seen = np.bincount(np.searchsorted(keys, draws @ places), minlength=len(keys))
        expected = np.exp(law.log_prob(orders[np.argsort(orders @ places)])) * len(draws)
        rare = expected < 5
        observed = np.append(seen[~rare], seen[rare].sum())
        wanted = np.append(expected[~rare], expected[rare].sum())
        kept = wanted > 0
        statistic = ((observed[kept] - wanted[kept]) ** 2 / wanted[kept]).sum()
        assert stats.chi2.sf(statistic, kept.sum() - 1) > 0.001
    assert (law.sample(10, seed=1) == law.sample(10, seed=1)).all()
    assert (law.sample(10, seed=1) != law.sample(10, seed=2)).any()


@pytest.mark.parametrize("link", LINKS)
def test_excess_risk(link):
    x, q = scores(6, 4, lists=3), scores(6, 5, lists=3)
    orders = all_orders(6)
    brute = 0.0
    for a, b in zip(x, q, strict=True):
        log_p = PlackettLuce(a, link).log_prob(orders)
        brute += np.exp(log_p) @ (log_p - PlackettLuce(b, link).log_prob(orders)) / 3
    assert float(excess_risk(x, q, link)) == pytest.approx(brute, rel=1e-11)
    drawn = excess_risk(x, q, link, samples=4000, exact=False)
    assert abs(float(drawn) - brute) < 4 * float(drawn.standard_error)
    assert float(excess_risk(x, x, link)) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PlackettLuce([]), DataError, "shape"),
        (lambda: PlackettLuce([np.nan]), DataError, "finite"),
        (lambda: PlackettLuce([1.0], link="probit"), ConfigError, "sigmoid"),
        (lambda: PlackettLuce([1.0], k=0), ConfigError, "k is 0"),
        (lambda: PlackettLuce([1.0, 2.0]).log_prob([0, 0]), DataError, "twice"),
        (lambda: PlackettLuce([1.0, 2.0]).log_prob([0, 2]), DataError, "outside 0..1"),
        (lambda: PlackettLuce([1.0, 2.0]).log_prob([0.0, 1.0]), DataError, "whole numbers"),
        (lambda: PlackettLuce([1.0, 2.0]).log_prob([0], rest="x"), ConfigError, "absent"),
        (lambda: PlackettLuce([1.0, 2.0]).log_prob_ties([0]), DataError, "levels"),
        (lambda: PlackettLuce(np.zeros(30)).log_prob_ties(np.arange(30) < 25, "subsets"), ConfigError, "25"),
        (lambda: PlackettLuce([1.0, 2.0], k=1).jensen_bound([0, 1]), ConfigError, "without k"),
        (lambda: excess_risk([1.0, 2.0], [1.0, 2.0, 3.0]), DataError, "compared"),
    ],
)
def test_errors_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
