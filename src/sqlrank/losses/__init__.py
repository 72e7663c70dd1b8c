"""List losses: small objects that name a kernel and state its formula."""

from sqlrank.losses.base import ListLoss
from sqlrank.losses.bpr import BayesianPairs
from sqlrank.losses.listrank import ListRank
from sqlrank.losses.plackett_luce import PlackettLuce
from sqlrank.losses.primal_cr import PairwiseHinge
from sqlrank.losses.squared import SquaredError

__all__ = ["BayesianPairs", "ListLoss", "ListRank", "PairwiseHinge", "PlackettLuce", "SquaredError"]
