"""Second-order steps for Primal-CR: products against twins and finite differences, objectives that fall."""

from itertools import pairwise

import numpy as np
import pytest
from reference import list_losses as twins
from training.test_engine import factors, random_data

from sqlrank.losses import PairwiseHinge
from sqlrank.training.newton import ItemSolver, NewtonTrainer, dot

LAMBDA = 0.5


@pytest.fixture
def problem():
    rng = np.random.default_rng(8)
    data = random_data(rng, 30, 25, explicit=True)
    users, items = factors(rng, 30, 5), factors(rng, 25, 5)
    solver = ItemSolver(data.starts, data.items, data.levels, 25, users, 2)
    return data, users, items, solver


def rows_of(data):
    for u in range(data.n_users):
        part = slice(data.starts[u], data.starts[u + 1])
        if part.stop > part.start:
            yield u, data.items[part], data.levels[part]


def objective(data, users, items):
    """The twin's: every pair, in float64."""
    total = 0.0
    for u, codes, levels in rows_of(data):
        total += twins.primal_cr(items[codes].astype(np.float64) @ users[u].astype(np.float64), levels)[0]
    return total


def test_value_gradient_and_product_equal_the_twin(problem):
    data, users, items, solver = problem
    rng = np.random.default_rng(1)
    direction = factors(rng, 25, 5)
    gradient, product = np.zeros(items.shape), np.zeros(items.shape)
    for u, codes, levels in rows_of(data):
        x = items[codes].astype(np.float64) @ users[u].astype(np.float64)
        moves = direction[codes].astype(np.float64) @ users[u].astype(np.float64)
        np.add.at(gradient, codes, twins.primal_cr(x, levels)[1][:, None] * users[u])
        np.add.at(product, codes, (twins.primal_cr_hessian(x, levels) @ moves)[:, None] * users[u])
    assert solver.evaluate(users, items) == pytest.approx(objective(data, users, items), rel=1e-6)
    np.testing.assert_allclose(solver.gradient(users), gradient, atol=1e-3, rtol=1e-5)
    np.testing.assert_allclose(solver.product(users, direction), product, atol=1e-3, rtol=1e-5)


def test_product_equals_differences_of_the_gradient(problem):
    _, users, items, solver = problem
    direction = factors(np.random.default_rng(1), 25, 5)
    solver.evaluate(users, items)
    product = solver.product(users, direction)
    step, change = np.float32(2**-12), np.zeros(items.shape)
    for sign in (1, -1):
        solver.evaluate(users, items + np.float32(sign) * step * direction)
        change += sign * solver.gradient(users).astype(np.float64)
    change /= 2 * float(step)
    # A pair on the hinge's edge may switch within the step; in single precision that is all the agreement there is.
    assert np.linalg.norm(product - change) < 2e-3 * np.linalg.norm(change)


def test_a_users_step_ends_at_the_minimum(problem):
    """Enough products and steps solve every user's problem: the gradient vanishes."""
    data, users, items, solver = problem
    rows = users.copy()
    for _ in range(15):
        solver.core.step_users(items, rows, LAMBDA, 30, 1e-4, 2)
    for u, codes, levels in rows_of(data):
        v, row = items[codes].astype(np.float64), rows[u].astype(np.float64)
        gradient = twins.primal_cr(v @ row, levels)[1] @ v + LAMBDA * row
        start = twins.primal_cr(v @ users[u], levels)[1] @ v + LAMBDA * users[u]
        assert np.linalg.norm(gradient) < 1e-4 * np.linalg.norm(start) + 1e-4


def test_steps_of_the_items_end_at_the_minimum(problem):
    _, users, items, solver = problem
    values = []
    for _ in range(30):
        values.append(solver.evaluate(users, items) + 0.5 * LAMBDA * dot(items, items))
        items, _ = solver.step(users, items, LAMBDA)
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(values))
    solver.evaluate(users, items)
    gradient = solver.gradient(users) + LAMBDA * items
    assert np.abs(gradient).max() < 1e-2


@pytest.mark.parametrize("explicit", [True, False])
def test_the_objective_falls_and_threads_do_not_matter(explicit):
    rng = np.random.default_rng(3)
    data = random_data(rng, 300, 80, explicit, longest=40)
    users, items = factors(rng, 300, 8), factors(rng, 80, 8)
    runs = []
    for threads in (1, 2, 5):
        trainer = NewtonTrainer(
            data,
            PairwiseHinge(),
            users.copy(),
            items.copy(),
            regularization=5.0,
            negatives=2,
            queue="frozen",
            seed=1,
            first_epoch=0,
            threads=threads,
        )
        objectives = [trainer.train_epoch(number).objective for number in range(8)]
        assert all(after < before for before, after in pairwise(objectives))
        runs.append((objectives, trainer.users.tobytes(), trainer.items.tobytes()))
    assert runs[0] == runs[1] == runs[2]


def test_later_epochs_draw_other_lists():
    data = random_data(np.random.default_rng(3), 30, 80, explicit=False, longest=20)
    drawn = set()
    for first in (0, 2):
        rng = np.random.default_rng(0)
        trainer = NewtonTrainer(
            data,
            PairwiseHinge(),
            factors(rng, 30, 8),
            factors(rng, 80, 8),
            regularization=5.0,
            negatives=2,
            queue="fresh",
            seed=1,
            first_epoch=first,
            threads=1,
        )
        drawn |= {trainer.train_epoch(number).objective for number in range(2)}
        drawn |= {
            trainer._make_lists(first + number).evaluate(trainer.users, trainer.items) for number in (0, 1)
        }
    assert len(drawn) == 8


def test_a_flat_objective_is_left_alone():
    data = random_data(np.random.default_rng(3), 30, 80, explicit=True, longest=20)
    rng = np.random.default_rng(0)
    trainer = NewtonTrainer(
        data,
        PairwiseHinge(),
        factors(rng, 30, 16, 1e-20),
        factors(rng, 80, 16, 1e-20),
        regularization=0.0,
        negatives=0,
        queue="frozen",
        seed=1,
        first_epoch=0,
        threads=1,
    )
    trainer.train_epoch(0)
    assert np.isfinite(trainer.users).all() and np.isfinite(trainer.items).all()
