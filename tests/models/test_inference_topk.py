"""The top-n kernels against the definition."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import topk as twin

from sqlrank import _core
from sqlrank.models.factors import padded
from sqlrank.models.lists import ItemLists
from sqlrank.models.topk import rank_by_factors, score_pairs, select_top


def random_lists(random, rows, n_items, longest):
    lengths = random.integers(0, longest + 1, rows)
    picked = [np.sort(random.choice(n_items, size, replace=False)) for size in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ItemLists(indptr, np.concatenate(picked).astype(np.int32))


def assert_exact(ranked, scores, n, exclude=None, candidates=None):
    for q in range(len(scores)):
        own = candidates.row(q) if isinstance(candidates, ItemLists) else candidates
        items, values = twin.top(scores[q], n, () if exclude is None else exclude.row(q), own)
        got = ranked.row(q)
        np.testing.assert_array_equal(got[0], items, err_msg=f"query {q}")
        np.testing.assert_array_equal(got[1], values, err_msg=f"query {q}")


def make(kind, n_users, n_items, rank, seed):
    random = np.random.default_rng(seed)
    users = random.normal(0, 0.1, (n_users, rank))
    items = random.normal(0, 0.1, (n_items, rank))
    if kind == "ties":  # few distinct values: equal scores everywhere
        users, items = np.round(users * 10), np.round(items * 10)
    if kind == "twins":  # every item row several times
        items = items[random.integers(0, max(1, n_items // 7), n_items)]
    if kind == "popular":  # very different lengths: most panels cannot matter
        items *= random.pareto(0.8, (n_items, 1))
    if kind == "zeros":
        users[::3] = 0
        items[::2] = 0
    if kind == "close":  # scores that float32 cannot tell apart
        items = items[:1] + 1e-7 * items
    if kind == "tiny":
        users, items = users * 1e-20, items * 1e-20
    if kind == "nothing":  # what is left of factors under too much regularization
        users, items = users * 1e-35, items * 1e-36
    if kind == "huge":
        users, items = users * 1e20, items * 1e19
    return padded(users.astype(np.float32)), padded(items.astype(np.float32))


KINDS = ["plain", "ties", "twins", "popular", "zeros", "close", "tiny", "nothing", "huge"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n_users", "n_items", "rank", "n"), [(37, 700, 20, 5), (150, 1500, 64, 20), (9, 260, 1, 60)]
)
def test_lists_are_exact(kind, n_users, n_items, rank, n):
    users, items = make(kind, n_users, n_items, rank, seed=1)
    exclude = random_lists(np.random.default_rng(2), n_users, n_items, 40)
    scores = twin.exact_scores(users, items)
    plain = rank_by_factors(users, items, n, rank=rank, threads=2)
    assert_exact(plain, scores, n)
    masked = rank_by_factors(users, items, n, rank=rank, exclude=exclude, threads=2)
    assert_exact(masked, scores, n, exclude)


@given(
    kind=st.sampled_from(KINDS),
    n_users=st.integers(0, 30),
    n_items=st.integers(1, 600),
    rank=st.integers(1, 40),
    n=st.integers(1, 700),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_any_shape(kind, n_users, n_items, rank, n, seed):
    users, items = make(kind, n_users, n_items, rank, seed)
    random = np.random.default_rng(seed)
    exclude = random_lists(random, n_users, n_items, n_items) if n_users else None
    candidates = np.sort(random.choice(n_items, random.integers(0, n_items + 1), replace=False)).astype(
        np.int32
    )
    scores = twin.exact_scores(users, items)
    ranked = rank_by_factors(users, items, n, rank=rank, exclude=exclude, candidates=candidates, threads=2)
    assert_exact(ranked, scores, n, exclude, candidates)


def test_same_bits_for_any_threads_and_batch():
    users, items = make("popular", 300, 2000, 24, seed=3)
    exclude = random_lists(np.random.default_rng(4), 300, 2000, 100)
    whole = rank_by_factors(users, items, 15, rank=24, exclude=exclude, threads=1)
    for threads in (2, 3, 8):
        again = rank_by_factors(users, items, 15, rank=24, exclude=exclude, threads=threads)
        assert again.items.tobytes() == whole.items.tobytes()
        assert again.scores.tobytes() == whole.scores.tobytes()
    for q in (0, 17, 299):
        rows = np.array([q], np.int32)
        alone = rank_by_factors(users, items, 15, rank=24, user_rows=rows, exclude=exclude.take(rows))
        np.testing.assert_array_equal(alone.items, whole.row(q)[0])
        np.testing.assert_array_equal(alone.scores, whole.row(q)[1])


def test_long_items_first_and_the_rest_skipped():
    users, items = make("popular", 200, 20_000, 32, seed=5)
    out = np.empty((200, 10), np.int32), np.empty((200, 10), np.float32), np.empty(200, np.int32)
    settled, tiles, skipped = _core.topk_recommend(users, None, items, None, 32, None, None, *out)
    assert settled == 0
    assert skipped > 5 * tiles
    assert_exact_rows(out, twin.exact_scores(users[:20], items), 10)


def assert_exact_rows(out, scores, n):
    for q in range(len(scores)):
        np.testing.assert_array_equal(out[0][q], twin.top(scores[q], n)[0])


def test_float64_settles_what_float32_cannot():
    users, items = make("close", 40, 1000, 16, seed=6)
    out = np.empty((40, 10), np.int32), np.empty((40, 10), np.float32), np.empty(40, np.int32)
    settled, _, _ = _core.topk_recommend(users, None, items, None, 16, None, None, *out)
    assert settled > 0
    assert_exact_rows(out, twin.exact_scores(users, items), 10)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_broken_numbers_do_not_crash(value):
    users, items = make("plain", 40, 500, 16, seed=7)
    items[13, 2] = value
    users[3, 2] = value
    with np.errstate(invalid="ignore"):
        scores = twin.exact_scores(users, items)
    ranked = rank_by_factors(users, items, 10, rank=16, threads=2)
    for q in range(len(users)):
        np.testing.assert_array_equal(ranked.row(q)[0], twin.top(scores[q], 10)[0])


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_lists_per_user(kind):
    users, items = make(kind, 30, 400, 10, seed=8)
    random = np.random.default_rng(9)
    allow, deny = random_lists(random, 30, 400, 50), random_lists(random, 30, 400, 200)
    ranked = rank_by_factors(users, items, 12, rank=10, candidates=allow, exclude=deny, threads=3)
    assert_exact(ranked, twin.exact_scores(users, items), 12, deny, allow)


def test_select_from_scores():
    random = np.random.default_rng(10)
    scores = np.round(random.normal(0, 2, (25, 300))).astype(np.float32)
    scores[3, 5], scores[4, 6], scores[5, 7] = np.nan, -np.inf, np.inf
    exclude = random_lists(random, 25, 300, 100)
    candidates = np.arange(0, 300, 3, dtype=np.int32)
    assert_exact(select_top(scores, 7, exclude=exclude, threads=2), scores, 7, exclude)
    assert_exact(select_top(scores, 70, candidates=candidates), scores, 70, None, candidates)


def test_pairs_have_the_lists_scores():
    users, items = make("plain", 50, 600, 33, seed=11)
    ranked = rank_by_factors(users, items, 20, rank=33, threads=2)
    pairs = score_pairs(users, ranked.row_numbers.astype(np.int32), items, ranked.items, threads=2)
    assert pairs.tobytes() == ranked.scores.tobytes()


def test_codes_outside_are_refused():
    users, items = make("plain", 5, 20, 3, seed=12)
    with pytest.raises(ValueError, match="outside"):
        rank_by_factors(users, items, 3, rank=3, user_rows=np.array([5], np.int32))
    with pytest.raises(ValueError, match="outside"):
        rank_by_factors(users, items, 3, rank=3, candidates=np.array([-1], np.int32))
    bad = ItemLists(np.array([0, 2, 1, 1, 1, 2]), np.array([1], np.int32))
    with pytest.raises(ValueError, match="outside its indices"):
        rank_by_factors(users, items, 3, rank=3, exclude=bad)


CHILD = """
import numpy as np, sys
from sqlrank.models.topk import rank_by_factors
random = np.random.default_rng(0)
users = random.normal(0, 1, (300, 48)).astype(np.float32)
items = random.normal(0, 1, (3000, 48)).astype(np.float32)
items[1500:] = items[:1500]
ranked = rank_by_factors(users, items, 25, rank=48, threads=2)
sys.stdout.buffer.write(ranked.items.tobytes() + ranked.scores.tobytes())
"""


def test_instruction_sets_agree_to_the_bit():
    outputs = set()
    for isa in ("baseline", "v3", "v4"):
        env = {**os.environ, "SQLRANK_ISA": isa}
        done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, check=False)
        if done.returncode == 0:
            outputs.add(done.stdout)
        else:
            assert b"lacks" in done.stderr
    assert len(outputs) == 1
