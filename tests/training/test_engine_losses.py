"""The compiled epoch with the rivals' losses, columns that do not move, and gradients of the users alone."""

import numpy as np
import pytest
from reference import list_losses as twins
from training.test_engine import factors, lists_of, random_data

from sqlrank.losses import BayesianPairs, ListRank, PairwiseHinge, SquaredError
from sqlrank.training.trainer import FixedColumns, make_engine

LOSSES = {
    "listrank": ListRank(),
    "primal-cr": PairwiseHinge(),
    "bpr": BayesianPairs(),
    "squared": SquaredError(),
}


def levels_of(lists, data):
    """The levels of every list, best first; 1 and 0 where the feedback is implicit."""
    if data.levels is not None:
        return np.split(data.levels, data.starts[1:-1])
    counts = np.diff(data.starts)
    return [(np.arange(len(row)) < n).astype(float) for row, n in zip(lists, counts, strict=True)]


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("explicit", [True, False])
def test_an_epoch_equals_the_twin(name, explicit):
    rng = np.random.default_rng(5)
    data = random_data(rng, 23, 40, explicit)
    users, items = factors(rng, 23, 7), factors(rng, 40, 7)
    next_users, next_items = np.zeros_like(users), np.zeros_like(items)
    engine = make_engine(data, LOSSES[name], 2, 5, users.shape[1])
    loss, _, _ = engine.epoch(users, items, next_users, next_items, 3, 0.01, 0.7, False, 2)
    lists = lists_of(engine, data, 2, 3)
    twin = twins.TWINS["bpr-implicit" if name == "bpr" and not explicit else name]
    expected = twins.epoch(twin, users, items, lists, levels_of(lists, data), 0.01, 0.7)
    np.testing.assert_allclose(next_users, expected[0], atol=2e-5)
    np.testing.assert_allclose(next_items, expected[1], atol=2e-5)
    assert loss == pytest.approx(expected[2], rel=1e-5)


@pytest.mark.parametrize("automatic", [True, False])
def test_fixed_columns_neither_move_nor_count(automatic):
    rng = np.random.default_rng(5)
    data = random_data(rng, 23, 40, explicit=True)
    users, items = factors(rng, 23, 7), factors(rng, 40, 7)
    fixed = FixedColumns(users=(5, 7), items=(4, 6))
    engine = make_engine(data, SquaredError(), 0, 5, users.shape[1], fixed=fixed)
    now, after = (users.copy(), items.copy()), (np.zeros_like(users), np.zeros_like(items))
    for number in range(4):
        _, squared, _ = engine.epoch(*now, *after, number, 0.01, 0.7, automatic, 2)
        if number == 0:
            free = (
                (users**2).sum() - (users[:, 5:7] ** 2).sum() + (items**2).sum() - (items[:, 4:6] ** 2).sum()
            )
            assert squared == pytest.approx(free, rel=1e-5)
        now, after = after, now
    np.testing.assert_array_equal(now[0][:, 5:7], users[:, 5:7])
    np.testing.assert_array_equal(now[1][:, 4:6], items[:, 4:6])
    assert (now[0][:, 4] != users[:, 4]).all()
    assert (now[1][:, 6] != items[:, 6]).all()
    rows = users.copy()
    engine.solve_users(items, rows, 3, 1.0, 0.7, True, 2)
    np.testing.assert_array_equal(rows[:, 5:7], users[:, 5:7])


@pytest.mark.parametrize("name", list(LOSSES))
def test_user_gradients(name):
    rng = np.random.default_rng(6)
    data = random_data(rng, 23, 40, explicit=True)
    users, items = factors(rng, 23, 7), factors(rng, 40, 7)
    engine = make_engine(data, LOSSES[name], 0, 5, users.shape[1])
    gradients, losses = np.ones_like(users), np.ones(23)
    engine.user_gradients(users, items, 1, gradients, losses, 2)
    lists = lists_of(engine, data, 0, 1)
    for u, (codes, levels) in enumerate(zip(lists, levels_of(lists, data), strict=True)):
        if len(codes) == 0:
            assert losses[u] == 0
            assert not gradients[u].any()
            continue
        value, c = twins.TWINS[name](items[codes].astype(np.float64) @ users[u], levels)
        assert losses[u] == pytest.approx(value, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(gradients[u], c @ items[codes], atol=2e-4)


@pytest.mark.parametrize("name", list(LOSSES))
def test_the_same_bits_for_any_number_of_threads(name):
    rng = np.random.default_rng(2)
    data = random_data(rng, 1_500, 400, explicit=True, longest=300)
    users, items = factors(rng, 1_500, 20), factors(rng, 400, 20)
    results = []
    for threads in (1, 2, 5):
        engine = make_engine(data, LOSSES[name], 3, 9, users.shape[1])
        now, after = (users.copy(), items.copy()), (np.zeros_like(users), np.zeros_like(items))
        for epoch in range(2):
            numbers = engine.epoch(*now, *after, epoch, 1.0, 1.0, True, threads)
            now, after = after, now
        results.append((now[0].tobytes(), now[1].tobytes(), numbers))
    assert all(result == results[0] for result in results)
