"""The contract, kept by the two kinds of models: by factors and by scores."""

from sqlrank import SQLRank
from sqlrank.testing import ModelContract

from .toy import ToyFactors, ToyScores


class TestFactors(ModelContract):
    def make_model(self):
        return ToyFactors(rank=5)


class TestScores(ModelContract):
    def make_model(self):
        return ToyScores()


class TestSQLRankImplicit(ModelContract):
    def make_model(self):
        return SQLRank(rank=6, epochs=4)


class TestSQLRankExplicit(ModelContract):
    ratings = True

    def make_model(self):
        return SQLRank(rank=6, epochs=4)
