import math

import numpy as np
import polars as pl
import pytest

from sqlrank import _core
from sqlrank.data.datasets.generators import Synthetic, make_events, make_ratings
from sqlrank.errors import ConfigError
from tests.reference.generate import race_user

# 99.9 % points of the chi-square distribution, by degrees of freedom.
CHI_SQUARE = {3: 16.27, 5: 20.52, 11: 31.26, 23: 49.73}


def same(a: Synthetic, b: Synthetic) -> bool:
    return a.train == b.train and a.items.equals(b.items) and a.users.equals(b.users)


def run_race(scores, *, wanted, n, popularity=None, noise=1.0, seed=0, threads=1, span=1000):
    """Race every user over the given scores (users x items), through one-hot factors."""
    users, items = scores.shape
    log_popularity = np.zeros(items) if popularity is None else np.log(popularity)
    keep, other = np.empty(items, np.uint32), np.empty(items, np.int32)
    _core.alias_table(log_popularity, keep, other)
    indptr = np.arange(users + 1, dtype=np.int64) * n
    indices, utilities = np.empty(users * n, np.int32), np.empty(users * n, np.float32)
    seconds = np.empty(users * n, np.int64)
    factors = np.ascontiguousarray(scores, dtype=np.float32)
    identity = np.eye(items, dtype=np.float32)
    exposure = np.full(users, wanted, np.int32)
    _core.generate_race(
        seed, factors, identity, log_popularity, keep, other, exposure, indptr, noise,
        indices, utilities, seconds, span, threads,
    )  # fmt: skip
    shape = (users, n)
    return (
        (log_popularity, keep, other),
        indices.reshape(shape),
        utilities.reshape(shape),
        seconds.reshape(shape),
    )


@pytest.mark.parametrize(
    ("wanted", "n", "skew"),
    [(6, 2, 0.5), (20, 20, 1.0), (30, 7, 1.0), (40, 40, 1.0), (15, 3, 4.0)],
    ids=["draws", "half", "race for exposure", "everything", "draws run dry"],
)
def test_kernel_equals_its_twin(wanted, n, skew):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(25, 40))
    popularity = (1.0 + rng.permutation(40)) ** -skew
    table, indices, utilities, seconds = run_race(
        scores, wanted=wanted, n=n, popularity=popularity, noise=0.7, seed=9
    )
    for user in range(25):
        items, expected, times = race_user(9, user, scores[user], table, wanted, n, 0.7, 1000)
        assert indices[user].tolist() == items
        np.testing.assert_allclose(utilities[user], expected, rtol=2e-5, atol=2e-5)
        assert seconds[user].tolist() == times


def chi_square(observed, expected) -> float:
    return float((((observed - expected) ** 2) / expected).sum())


def test_whole_orders_follow_plackett_luce():
    """Theorem 1: P(order) = prod_t phi(x_t) / sum of phi over what is left; here all 24 orders of 4 items."""
    from itertools import permutations

    draws = 24_000
    x = np.array([0.9, 0.1, -0.4, 0.5])
    _, indices, utilities, _ = run_race(np.tile(x, (draws, 1)), wanted=4, n=4, noise=0.8, seed=5)
    assert (indices == np.arange(4)).all()
    orders = np.argsort(-utilities, axis=1)
    phi = np.exp(x / 0.8)
    expected, observed = [], []
    for order in permutations(range(4)):
        left = phi[list(order)]
        expected.append(draws * math.prod(left[t] / left[t:].sum() for t in range(4)))
        observed.append((orders == order).all(axis=1).sum())
    assert chi_square(np.array(observed), np.array(expected)) < CHI_SQUARE[23]


def test_first_arrivals_follow_plackett_luce():
    """With n = 1 only the winner is kept: P(j) = phi(x_j) / sum phi."""
    draws = 30_000
    x = np.linspace(-1, 1, 12)
    _, indices, _, _ = run_race(np.tile(x, (draws, 1)), wanted=12, n=1, seed=6)
    expected = draws * np.exp(x) / np.exp(x).sum()
    assert chi_square(np.bincount(indices[:, 0], minlength=12), expected) < CHI_SQUARE[11]


@pytest.mark.parametrize("wanted", [2, 4], ids=["by draws", "by a race"])
def test_exposure_is_sampling_without_replacement(wanted):
    """Both ways to pick the shown items have the probabilities of successive draws by popularity."""
    from itertools import combinations, permutations

    draws = 20_000
    p = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])[: 4 if wanted == 2 else 6]
    p = p / p.sum()
    _, indices, _, _ = run_race(np.zeros((draws, len(p))), wanted=wanted, n=wanted, popularity=p, seed=7)

    def probability(subset) -> float:
        total = 0.0
        for order in permutations(subset):
            left, chance = 1.0, 1.0
            for item in order:
                chance *= p[item] / left
                left -= p[item]
            total += chance
        return total

    subsets = list(combinations(range(len(p)), wanted))
    expected = np.array([draws * probability(subset) for subset in subsets])
    observed = np.array([(indices == subset).all(axis=1).sum() for subset in subsets])
    keep = expected >= 5  # the rule of thumb for chi-square; the rare subsets go into one cell
    expected = np.append(expected[keep], max(expected[~keep].sum(), 1e-9))
    observed = np.append(observed[keep], observed[~keep].sum())
    # Wilson-Hilferty for the 99.9 % point
    k = len(expected) - 1
    assert chi_square(observed, expected) < k * (1 - 2 / (9 * k) + 3.09 * math.sqrt(2 / (9 * k))) ** 3


def test_alias_table_holds_the_distribution():
    weights = np.random.default_rng(0).gamma(0.3, size=1000)
    keep, other = np.empty(1000, np.uint32), np.empty(1000, np.int32)
    _core.alias_table(np.log(weights), keep, other)
    share = keep / 2**32
    probability = share + np.bincount(other, 1 - share, minlength=1000)
    np.testing.assert_allclose(probability / 1000, weights / weights.sum(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("make", [make_events, make_ratings])
def test_same_bits_for_any_number_of_threads(make):
    one = make(500, 300, events_per_user=15, seed=4, timestamps=True, threads=1)
    for threads in (2, 3, 8):
        assert same(make(500, 300, events_per_user=15, seed=4, timestamps=True, threads=threads), one)
    assert not same(make(500, 300, events_per_user=15, seed=5, timestamps=True), one)


def test_events_are_well_formed():
    data = make_events(400, 120, events_per_user=10, seed=2)
    train = data.train
    assert train.shape == (400, 120) and train.values is None
    assert np.diff(train.indptr).min() >= 1
    rows = train.user_codes.astype(np.int64) * 120 + train.indices
    assert (np.diff(rows) > 0).all()  # ascending and unique within a user
    assert 9 < len(train) / 400 < 11
    when = pl.Series(train.timestamps).cast(pl.Datetime("us"))
    assert when.min().year == 2025 and when.max().year == 2025
    assert data.items["item"].equals(train.items.ids, check_names=False)
    assert data.users["user"].equals(train.users.ids, check_names=False)
    assert data.items["item"].is_sorted() and data.items["item"].n_unique() == 120


def test_popular_items_get_more_events():
    def share_of_top_tenth(skew):
        data = make_events(2000, 500, events_per_user=10, popularity_skew=skew, seed=1)
        counts = np.sort(np.bincount(data.train.indices, minlength=500))[::-1]
        return counts[:50].sum() / counts.sum()

    flat, mild, steep = share_of_top_tenth(0), share_of_top_tenth(0.7), share_of_top_tenth(1.3)
    assert flat < 0.25 < mild < steep
    data = make_events(2000, 500, events_per_user=10, popularity_skew=1.3, seed=1)
    counts = np.bincount(data.train.indices, minlength=500)
    assert np.corrcoef(np.log1p(counts), data.truth.log_popularity)[0, 1] > 0.8


def test_less_noise_follows_the_scores_more():
    means = []
    for noise in (4.0, 1.0, 0.25):
        data = make_events(500, 300, events_per_user=5, popularity_skew=0, noise=noise, seed=3)
        means.append(data.truth.scores(data.train.user_codes, data.train.indices).mean())
    assert 0 < means[0] < means[1] < means[2]


def test_ratings_follow_the_scores_and_use_all_levels():
    data = make_ratings(800, 400, events_per_user=30, noise=0.3, seed=8)
    scores = data.truth.scores(data.train.user_codes, data.train.indices)
    assert np.corrcoef(scores, data.train.values)[0, 1] > 0.8
    shares = np.bincount(data.train.values.astype(int), minlength=6)[1:] / len(data.train)
    assert shares.min() > 0.03 and shares.argmax() in (2, 3)
    assert set(make_ratings(50, 50, levels=2).train.values.tolist()) == {1.0, 2.0}


def test_density_and_sizes():
    data = make_ratings(300, 200, density=0.1, activity_spread=0)
    assert set(np.diff(data.train.indptr).tolist()) == {20}
    everything = make_events(20, 15, density=1.0, activity_spread=0)
    assert everything.train.density == 1.0
    assert make_events(1, 1, exposure=None).train.shape == (1, 1)


def test_large_data_has_integer_ids_and_named_can_be_chosen():
    large = make_events(100_001, 20, events_per_user=1, activity_spread=0)
    assert large.train.users.ids.dtype == pl.Int64 and large.train.items.ids.dtype == pl.String
    assert make_events(10, 10, named=False).train.items.ids.to_list() == list(range(10))
    many = make_events(5, 10_000, named=True, events_per_user=1)
    assert many.items["item"].n_unique() == 10_000


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"n_users": 0}, "n_users"),
        ({"rank": 0}, "rank"),
        ({"noise": 0.0}, "noise"),
        ({"popularity_skew": -1.0}, "popularity_skew"),
        ({"density": 1.5}, "density"),
        ({"density": 0.1, "events_per_user": 3}, "one of them"),
        ({"events_per_user": float("nan")}, "events_per_user"),
        ({"exposure": 0.5}, "exposure"),
        ({"seed": -1}, "seed"),
        ({"activity_spread": -0.1}, "activity_spread"),
    ],
)
def test_bad_settings_are_named(arguments, word):
    with pytest.raises(ConfigError, match=word):
        make_events(**arguments)
    if word != "exposure":
        with pytest.raises(ConfigError, match=word):
            make_ratings(**arguments)


def test_ratings_need_two_levels():
    with pytest.raises(ConfigError, match="levels=1"):
        make_ratings(levels=1)
