"""The models, and the contract they share."""

from sqlrank.models.base import Recommender
from sqlrank.models.bpr import BPR
from sqlrank.models.factors import FactorModel
from sqlrank.models.linear_ranker import LinearRanker
from sqlrank.models.listrank_mf import ListRankMF
from sqlrank.models.lists import ItemLists
from sqlrank.models.matrix_factorization import MatrixFactorization
from sqlrank.models.primal_cr import PrimalCR
from sqlrank.models.ranked import RankedLists
from sqlrank.models.scored import ScoreModel
from sqlrank.models.sqlrank import SQLRank

__all__ = [
    "BPR",
    "FactorModel",
    "ItemLists",
    "LinearRanker",
    "ListRankMF",
    "MatrixFactorization",
    "PrimalCR",
    "RankedLists",
    "Recommender",
    "SQLRank",
    "ScoreModel",
]
