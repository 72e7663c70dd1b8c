"""ListRank-MF keeps the contract and learns."""

from itertools import pairwise

import numpy as np

from sqlrank import ListRankMF
from sqlrank.testing import ModelContract

from .rivals import taste_share, two_tastes


class TestExplicit(ModelContract):
    ratings = True

    def make_model(self):
        return ListRankMF(rank=6, epochs=4)


class TestImplicit(ModelContract):
    def make_model(self):
        return ListRankMF(rank=6, epochs=4)


def test_it_learns_tastes_and_the_objective_falls():
    for explicit in (True, False):
        model = ListRankMF(rank=6, queue="frozen").fit(two_tastes(explicit=explicit), seed=1)
        objective = model.history["objective"].to_list()
        assert all(after <= before for before, after in pairwise(objective))
        assert taste_share(model) > 0.95


def test_the_order_of_equal_ratings_does_not_matter():
    """The loss sees levels alone: a fresh queue finds the same factors but for rounding."""
    data = two_tastes(explicit=True)
    fresh, frozen = (ListRankMF(rank=4, queue=queue).fit(data, seed=1) for queue in ("fresh", "frozen"))
    np.testing.assert_allclose(fresh.item_factors, frozen.item_factors, atol=1e-3)


def test_a_scale_is_the_same_as_scaled_ratings():
    data = two_tastes(explicit=True)
    halved = type(data).from_csr(data.users, data.items, data.indptr, data.indices, data.values / 2)
    model = ListRankMF(rank=4, epochs=5, rating_scale=0.5).fit(data, seed=1)
    other = ListRankMF(rank=4, epochs=5).fit(halved, seed=1)
    np.testing.assert_array_equal(model.item_factors, other.item_factors)
