"""The paper's other claims, and what is wrong with some of them."""

from itertools import combinations, permutations

import numpy as np
import pytest

from sqlrank.theory import PlackettLuce, excess_risk
from sqlrank.theory.likelihood import list_log_prob


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
def test_swaps_lower_the_probability_exactly_when_the_scores_say_so(link):
    law = PlackettLuce(np.random.default_rng(0).standard_normal(6), link)
    for order in permutations(range(6)):
        base = law.log_prob(order)
        for i, j in combinations(range(6), 2):
            swapped = list(order)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            assert (law.log_prob(swapped) < base) == (law.scores[order[i]] > law.scores[order[j]])


@pytest.mark.parametrize("link", ["sigmoid", "identity"])
def test_the_sorted_order_is_the_mode(link):
    for seed in range(5):
        law = PlackettLuce(np.random.default_rng(seed).standard_normal(6), link)
        orders = np.array(list(permutations(range(6))))
        assert (orders[np.argmax(law.log_prob(orders))] == law.mode()).all()
    assert PlackettLuce([1.0, 2.0, 1.0]).mode().tolist() == [1, 0, 2]


def top1_cross_entropy(ratings, scores):
    """ListNet's loss: the ratings' top-1 distribution against the scores'."""
    p = PlackettLuce(ratings, "identity").marginal_top1()
    return -(p * np.log(PlackettLuce(scores, "identity").marginal_top1())).sum()


def test_two_items_the_likelihood_is_sound_and_the_cross_entropy_is_not():
    """Two score vectors: the one with the right order has the larger cross-entropy."""
    ratings = [1.0, 0.0]
    right, wrong = [20.0, 0.0], [0.0, 1.0]
    assert top1_cross_entropy(ratings, right) == pytest.approx(5.379, abs=1e-3)
    assert top1_cross_entropy(ratings, wrong) == pytest.approx(1.044, abs=1e-3)
    assert -PlackettLuce(right, "identity").log_prob([0, 1]) < -PlackettLuce(wrong, "identity").log_prob(
        [0, 1]
    )
    d = np.linspace(-20, 20, 400)  # the likelihood puts *every* right order before every wrong one
    nll = -list_log_prob(np.stack([d, np.zeros_like(d)], axis=1))
    assert nll[d > 0].max() < nll[d < 0].min()


def test_with_three_items_the_likelihood_is_sound_only_for_the_same_scores_rearranged():
    """Over arbitrary score vectors a nearly flat right order has less likelihood than a decided wrong one.

    In the sense of the paper (the same scores, two places swapped) the likelihood is sound, and so is the top-1
    cross-entropy as long as ratings differ: the rearrangement inequality.
    """
    flat_right, decided_wrong = [0.02, 0.01, 0.0], [10.0, 0.0, 0.01]
    law = [-PlackettLuce(s, "identity").log_prob([0, 1, 2]) for s in (flat_right, decided_wrong)]
    assert law[1] < law[0]
    rng = np.random.default_rng(0)
    for _ in range(50):
        ratings, scores = np.sort(rng.standard_normal((2, 5)), axis=1)[:, ::-1]
        losses = [top1_cross_entropy(ratings, scores[list(p)]) for p in permutations(range(5))]
        assert np.argmin(losses) == 0


def test_the_objective_is_not_convex_with_the_sigmoid():
    """Eq. 5 is called convex; with log phi the sigmoid the middle of this segment lies above its ends' mean."""
    a, b = np.array([[0.0, 0.0]]), np.array([[8.0, 0.0]])

    def loss(x, link):
        return -float(PlackettLuce(x, link).log_prob([[0, 1]])[0])

    assert loss((a + b) / 2, "identity") < (loss(a, "identity") + loss(b, "identity")) / 2
    assert loss(-(a + b) / 2, "sigmoid") > (loss(-a, "sigmoid") + loss(-b, "sigmoid")) / 2


# ---- Lemma 2 ------------------------------------------------------------------------------------------------------


def moved(order, source, target):
    """Move the item at `source` to `target` in every row."""
    rows, m = order.shape
    at = np.arange(m)[None, :]
    s, t = source[:, None], target[:, None]
    take = np.where((at >= s) & (at < t), at + 1, np.where((at > t) & (at <= s), at - 1, at))
    take = np.where(at == t, s, take)
    return order[np.arange(rows)[:, None], take]


def relative_change(y, other, source, target):
    """|L(pi) - L(pi')| for lists given in order, and its bound's last factor."""
    order = np.broadcast_to(np.arange(y.shape[1]), y.shape)
    after = moved(order, source, target)

    def relative(o):
        return list_log_prob(np.take_along_axis(y, o, 1)) - list_log_prob(np.take_along_axis(other, o, 1))

    return np.abs(relative(order) - relative(after)), np.abs(y - other).max(axis=1)


def printed_constant(C, m):
    return 2 + np.exp(2 * C) * np.log(m + 1)


def right_constant(C, m):
    return 2 + 2 * np.exp(2 * C) * np.log1p(max(m - 2, 0) * np.exp(-2 * C))


def test_bounded_difference_on_a_million_random_moves():
    rng = np.random.default_rng(0)
    moves = 0
    for C in (0.1, 1.0, 2.0):
        for m in (2, 3, 5, 9, 17, 33):
            n = 56_000
            y = rng.uniform(-C, C, (n, m))
            near = np.clip(y + rng.uniform(-1, 1, (n, m)) * rng.exponential(0.3, (n, 1)), -C, C)
            source = rng.integers(m, size=n)
            target = (source + rng.integers(1, m, size=n)) % m  # another place: every move moves
            change, distance = relative_change(y, near, source, target)
            assert (change <= right_constant(C, m) * distance + 1e-12).all()
            assert (change <= printed_constant(C, m) * distance + 1e-12).all()
            moves += n
    assert moves >= 1_000_000


def test_the_printed_constant_of_lemma_2_is_too_small():
    """A designed move breaks it: the item gains delta where all others lose delta.

    The proof lets the ratio of the moved item's weight to the rest change by exp(delta); both can move, so it is
    exp(2 delta). The right constant is 2 + 2 e^{2C} ln(1 + (m - 2) e^{-2C}), which keeps the rate ln m.
    """
    C, m = 0.01, 100
    y = np.full((1, m), -C)
    other = np.full((1, m), C)
    y[0, 0], other[0, 0] = C, -C
    change, distance = relative_change(y, other, np.array([0]), np.array([m - 1]))
    assert change[0] > 1.5 * printed_constant(C, m) * distance[0]
    assert change[0] <= right_constant(C, m) * distance[0]


@pytest.mark.parametrize(("C", "first"), [(0.1, 4), (0.5, 7), (1.0, 45), (2.0, 2876)])
def test_the_right_constant_is_the_larger_one_only_from_some_m_on(C, first):
    """For shorter lists the printed constant is larger than one that holds, and so holds too."""
    assert next(m for m in range(2, 10**4) if right_constant(C, m) > printed_constant(C, m)) == first
    assert all(right_constant(C, m) > printed_constant(C, m) for m in range(first, 10**4))


def test_with_the_papers_sigmoid_the_printed_constant_of_lemma_2_holds():
    """log phi lies in (0, 1). A shift changes no probability: C = 1/2 in the right constant, 1 in the printed one."""
    steps = np.unique(np.geomspace(2, 1e12, 4000).astype(np.int64)).tolist()
    assert all(right_constant(0.5, m) <= printed_constant(1.0, m) for m in [*range(2, 5000), *steps])
    assert 2 * np.exp(1.0) < np.exp(2.0)  # the factors of ln m: so for every m beyond, too
    y, other = np.zeros((1, 2000)), np.ones((1, 2000))  # the designed move, as far as this link can go
    y[0, 0], other[0, 0] = 1.0, 0.0
    change, distance = relative_change(y, other, np.array([0]), np.array([1999]))
    assert change[0] <= printed_constant(1.0, 2000) * distance[0]


def test_the_proof_of_lemma_2_bounds_the_harmonic_number_from_the_wrong_side():
    """Its last step takes H_m <= ln(m + 1); H_m is larger, by up to Euler's constant."""
    m = np.arange(1, 10**5)
    excess = np.cumsum(1 / m) - np.log(m + 1)
    assert (excess > 0).all() and (np.diff(excess) > 0).all() and excess[-1] < np.euler_gamma


# ---- Corollaries 1 and 2 -----------------------------------------------------------------------------------------


def test_corollary_1s_proof_loses_a_factor_sqrt_n():
    """Printed: |X - X'|_{inf,2} <= zeta |beta - beta'|. With the same features in every list it is sqrt(n) times it."""
    z, step = np.random.default_rng(0).standard_normal((7, 3)), np.array([1.0, -2.0, 0.5])
    difference = np.broadcast_to(z @ step, (25, 7))
    zeta = np.abs(z @ step).max() / np.linalg.norm(step)
    assert np.linalg.norm(np.abs(difference).max(axis=1)) == pytest.approx(5 * zeta * np.linalg.norm(step))


def test_the_volume_formula_of_corollary_2s_proof_is_off():
    """Printed: V_d d^{d/2} / (e pi)^{d/2} stays between constants. It grows as 2^{d/2} / sqrt(pi d), as d grows."""
    from math import lgamma, log, pi

    def log_ratio(d, base):
        return d / 2 * log(pi) - lgamma(d / 2 + 1) + d / 2 * log(d) - d / 2 * log(base)

    e = np.e
    assert log_ratio(200, e * pi) > log_ratio(20, e * pi) + 50
    for d in (1, 2, 20, 200, 2000):
        missed = log_ratio(d, 2 * e * pi) + 0.5 * log(pi * d)
        assert -1 / (6 * d) < missed < 0  # asymptotic: off by a factor 1 - 1/(6d) and less


def test_the_covering_number_of_corollary_2s_proof_is_too_small():
    """Printed: N(eps, B_2, rho) <= (3 / (eps sqrt m))^{rm}, with rho the largest row norm of an m x r matrix.

    The volume argument behind it needs the rho ball inside the Frobenius ball B_2; it contains it. The 2m matrices
    +-e_j of B_2 are at least 1 apart in rho, so balls of radius 0.4 hold one each.
    """
    m, r, eps = 100, 2, 0.4
    points = np.zeros((2 * m, m, r))
    points[np.arange(2 * m), np.arange(2 * m) // 2, 0] = np.tile([1.0, -1.0], m)
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1).max(axis=-1)
    assert (np.linalg.norm(points, axis=(1, 2)) <= 1).all()
    assert (apart[~np.eye(2 * m, dtype=bool)] >= 1).all() and 2 * eps < 1
    assert (3 / (eps * np.sqrt(m))) ** (r * m) < 1 < 2 * m
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, m, r))
    assert (np.linalg.norm(x, axis=2).max(axis=1) <= np.linalg.norm(x, axis=(1, 2))).all()  # B_2 is inside


def test_corollary_2_at_fixed_norms_bounds_estimates_that_learnt_nothing():
    """All scores shrink: any matrix of the class is within a constant / n of the truth, factors drawn at random too."""
    rng = np.random.default_rng(0)
    worst = []
    for n in (10, 40, 160):
        u, v = rng.standard_normal((2, 30, n, 2)), rng.standard_normal((2, 30, 12, 2))
        u *= 2 / np.linalg.norm(u, axis=(2, 3), keepdims=True)
        v *= 2 / np.linalg.norm(v, axis=(2, 3), keepdims=True)
        x = u @ v.swapaxes(2, 3)
        worst.append(
            n * max(float(excess_risk(a, b, samples=20, exact=False)) for a, b in zip(*x, strict=True))
        )
    assert max(worst) < 2.0 and max(worst) < 2 * min(worst)
