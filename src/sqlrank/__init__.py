"""sqlrank: one personalised order of the items for every user, learnt from ratings or clicks."""

from sqlrank._threads import set_threads
from sqlrank._versions import show_versions
from sqlrank.data import Interactions, datasets, read
from sqlrank.data import splits as split
from sqlrank.errors import ConfigError, DataError, FormatError, NotFittedError, SqlrankError
from sqlrank.evaluation import Evaluation, Protocol, evaluate
from sqlrank.models import BPR, LinearRanker, ListRankMF, MatrixFactorization, PrimalCR, SQLRank
from sqlrank.storage import load_model as load

__all__ = [
    "BPR",
    "ConfigError",
    "DataError",
    "Evaluation",
    "FormatError",
    "Interactions",
    "LinearRanker",
    "ListRankMF",
    "MatrixFactorization",
    "NotFittedError",
    "PrimalCR",
    "Protocol",
    "SQLRank",
    "SqlrankError",
    "datasets",
    "evaluate",
    "load",
    "read",
    "set_threads",
    "show_versions",
    "split",
]
