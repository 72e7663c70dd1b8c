"""Matrix factorisation keeps the contract, and its biases are what they should be."""

from itertools import pairwise

import numpy as np
import pytest

from sqlrank import MatrixFactorization
from sqlrank.testing import ModelContract

from .rivals import taste_share, two_tastes


class TestWithBiases(ModelContract):
    ratings = True

    def make_model(self):
        return MatrixFactorization(rank=6, epochs=4)


class TestWithoutBiases(ModelContract):
    ratings = True

    def make_model(self):
        return MatrixFactorization(rank=6, epochs=4, biases=False)


class TestImplicit(ModelContract):
    def make_model(self):
        return MatrixFactorization(rank=6, epochs=4)


@pytest.mark.parametrize("biases", [True, False])
def test_it_learns_tastes_and_the_objective_falls(biases):
    data = two_tastes(explicit=True)
    model = MatrixFactorization(rank=6, regularization=0.5, biases=biases, queue="frozen").fit(data, seed=1)
    objective = model.history["objective"].to_list()
    assert all(after <= before for before, after in pairwise(objective))
    assert taste_share(model) > 0.95
    predicted = model.score_codes(data.user_codes, data.indices)
    assert np.sqrt(np.mean((predicted - data.values) ** 2)) < 0.5


def test_the_objective_counts_factors_and_biases_but_no_constants():
    data = two_tastes(explicit=True)
    model = MatrixFactorization(rank=3, regularization=2.0, epochs=1, learning_rate=1e-12).fit(data, seed=1)
    u, v = model.user_factors, model.item_factors
    error = model.score_codes(data.user_codes, data.indices).astype(np.float64) - data.values
    penalty = (u[:, :3] ** 2).sum() + (v[:, :3] ** 2).sum()
    assert model.history["objective"][0] == pytest.approx(0.5 * (error**2).sum() + penalty, rel=1e-5)


def test_biases_and_constants():
    """Ratings that are a mean, a user's part and an item's part: the biases carry them."""
    data = two_tastes(explicit=True, length=40)
    rng = np.random.default_rng(0)
    b, d = rng.normal(0, 0.5, data.n_users), rng.normal(0, 0.5, data.n_items)
    values = (3 + b[data.user_codes] + d[data.indices]).astype(np.float32)
    data = type(data).from_csr(data.users, data.items, data.indptr, data.indices, values)
    model = MatrixFactorization(rank=2, regularization=1.0, epochs=300, decay=1.0).fit(data, seed=1)
    assert np.corrcoef(model.user_biases, b)[0, 1] > 0.98
    assert np.corrcoef(model.item_biases, d)[0, 1] > 0.98
    np.testing.assert_allclose(model.user_factors[:, 3], values.mean(), rtol=1e-5)
    assert (model.user_factors[:, 4] == 1).all()
    assert (model.item_factors[:, 2:4] == 1).all()
    plain = MatrixFactorization(rank=2, epochs=2, biases=False).fit(data)
    assert plain.item_factors.shape[1] == 2
    assert not plain.item_biases.any()


def test_similarity_leaves_the_constant_columns_out():
    data = two_tastes(explicit=True)
    model = MatrixFactorization(rank=4, epochs=10).fit(data, seed=0)
    for similar, factors, kept in (
        (model.similar_users, model.user_factors, [0, 1, 2, 3, 4]),  # factors and bias
        (model.similar_items, model.item_factors, [0, 1, 2, 3, 6]),
    ):
        rows = factors[:, kept].astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        table = similar([0], n=5)
        np.testing.assert_allclose(table["score"], rows[table["similar"].to_numpy()] @ rows[0], rtol=1e-5)
        order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[:5] + 1
        assert table["similar"].to_list() == order.tolist()
