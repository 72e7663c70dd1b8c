"""The models, and the contract they share."""

from sqlrank.models.base import Recommender
from sqlrank.models.bpr import BPR
from sqlrank.models.ease import EASE
from sqlrank.models.factors import FactorModel
from sqlrank.models.item_knn import ItemKNN
from sqlrank.models.linear_ranker import LinearRanker
from sqlrank.models.listrank_mf import ListRankMF
from sqlrank.models.lists import ItemLists
from sqlrank.models.matrix_factorization import MatrixFactorization
from sqlrank.models.popularity import Popularity
from sqlrank.models.primal_cr import PrimalCR
from sqlrank.models.random_order import Random
from sqlrank.models.ranked import RankedLists
from sqlrank.models.scored import ScoreModel
from sqlrank.models.sqlrank import SQLRank
from sqlrank.models.weighted_mf import WeightedMF

__all__ = [
    "BPR",
    "EASE",
    "FactorModel",
    "ItemKNN",
    "ItemLists",
    "LinearRanker",
    "ListRankMF",
    "MatrixFactorization",
    "Popularity",
    "PrimalCR",
    "Random",
    "RankedLists",
    "Recommender",
    "SQLRank",
    "ScoreModel",
    "WeightedMF",
]
