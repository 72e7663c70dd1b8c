"""The contract, kept by the rivals."""

import pytest

from sqlrank import EASE, ItemKNN, Popularity, Random, WeightedMF
from sqlrank.testing import ModelContract


class TestPopularity(ModelContract):
    def make_model(self):
        return Popularity()


class TestRandom(ModelContract):
    def make_model(self):
        return Random()


class TestItemKNN(ModelContract):
    def make_model(self):
        return ItemKNN(neighbours=6)


class TestItemKNNOfValues(ModelContract):
    ratings = True

    def make_model(self):
        return ItemKNN(neighbours=6, weights="values")


class TestEASE(ModelContract):
    def make_model(self):
        return EASE(regularization=5.0)


class TestEASEOfValues(ModelContract):
    ratings = True

    def make_model(self):
        return EASE(regularization=50.0, weights="values")


class TestWeightedMF(ModelContract):
    def make_model(self):
        pytest.importorskip("implicit")
        return WeightedMF(rank=6, epochs=4, regularization=1.0)


class TestWeightedMFOfValues(ModelContract):
    ratings = True

    def make_model(self):
        pytest.importorskip("implicit")
        return WeightedMF(rank=6, epochs=4, regularization=1.0, alpha=2.0, weights="values")
