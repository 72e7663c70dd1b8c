"""BPR keeps the contract and learns from events and from ratings."""

from itertools import pairwise

from sqlrank import BPR
from sqlrank.testing import ModelContract

from .rivals import taste_share, two_tastes


class TestImplicit(ModelContract):
    def make_model(self):
        return BPR(rank=6, epochs=4)


class TestExplicit(ModelContract):
    ratings = True

    def make_model(self):
        return BPR(rank=6, epochs=4)


def test_it_learns_tastes_and_the_objective_falls():
    for explicit in (True, False):
        data = two_tastes(explicit=explicit)
        model = BPR(rank=6, regularization=0.5, queue="frozen").fit(data, seed=1)
        objective = model.history["objective"].to_list()
        assert all(after <= before for before, after in pairwise(objective))
        model = BPR(rank=6, regularization=0.5).fit(data, seed=1)
        assert taste_share(model) > 0.95


def test_a_newcomer_is_folded_in():
    model = BPR(rank=6, regularization=0.5).fit(two_tastes(), seed=1)
    table = model.recommend(histories={"new": [1, 5, 9, 13, 17]}, n=5)
    assert (table["item"] % 2 == 1).all()
