"""Primal-CR keeps the contract with both solvers, and both find the same minimum."""

from itertools import pairwise

import numpy as np
import pytest

from sqlrank import PrimalCR
from sqlrank.testing import ModelContract

from .rivals import taste_share, two_tastes


class TestExplicit(ModelContract):
    ratings = True

    def make_model(self):
        return PrimalCR(rank=6, epochs=4, regularization=3)


class TestNewton(ModelContract):
    ratings = True

    def make_model(self):
        return PrimalCR(rank=6, epochs=2, regularization=3, solver="newton")


class TestImplicit(ModelContract):
    def make_model(self):
        return PrimalCR(rank=6, epochs=4, regularization=3)


class TestImplicitNewton(ModelContract):
    def make_model(self):
        return PrimalCR(rank=6, epochs=2, regularization=3, solver="newton")


@pytest.mark.parametrize("solver", ["gradient", "newton"])
@pytest.mark.parametrize("explicit", [True, False])
def test_it_learns_tastes_and_the_objective_falls(solver, explicit):
    data = two_tastes(explicit=explicit)
    epochs = 60 if solver == "gradient" else 10
    model = PrimalCR(rank=6, regularization=20, queue="frozen", epochs=epochs, solver=solver).fit(
        data, seed=1
    )
    objective = model.history["objective"].to_list()
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(objective))
    assert taste_share(model) > 0.9


def test_newton_needs_far_fewer_epochs():
    data = two_tastes(explicit=True)
    slow = PrimalCR(rank=6, regularization=20, epochs=200, decay=1.0).fit(data, seed=1)
    fast = PrimalCR(rank=6, regularization=20, epochs=12, solver="newton").fit(data, seed=1)
    assert np.isclose(fast.history["objective"][-1], slow.history["objective"][-1], rtol=0.02)
