"""The theory of listwise ranking as code: distribution, ties, risk, convex solver, rates."""

from sqlrank.theory.estimate import Estimate
from sqlrank.theory.gap import JensenGap, jensen_gap
from sqlrank.theory.nuclear import ConvexSolution, NuclearNormRanker
from sqlrank.theory.plackett_luce import PlackettLuce
from sqlrank.theory.risk import excess_risk
from sqlrank.theory.ties import level_log_prob, quadrature_log_prob, subset_log_prob

__all__ = [
    "ConvexSolution",
    "Estimate",
    "JensenGap",
    "NuclearNormRanker",
    "PlackettLuce",
    "excess_risk",
    "jensen_gap",
    "level_log_prob",
    "quadrature_log_prob",
    "subset_log_prob",
]
