"""The models, and the contract they share."""

from sqlrank.models.base import Recommender
from sqlrank.models.factors import FactorModel
from sqlrank.models.lists import ItemLists
from sqlrank.models.ranked import RankedLists
from sqlrank.models.scored import ScoreModel
from sqlrank.models.sqlrank import SQLRank

__all__ = ["FactorModel", "ItemLists", "RankedLists", "Recommender", "SQLRank", "ScoreModel"]
