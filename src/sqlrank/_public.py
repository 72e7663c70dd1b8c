"""The public names; `sqlrank/__init__.py` gives them out when one is asked for."""

from sqlrank._threads import set_threads
from sqlrank._versions import show_versions
from sqlrank.data import Interactions, datasets, read
from sqlrank.data import splits as split
from sqlrank.errors import ConfigError, DataError, FormatError, NotFittedError, SqlrankError
from sqlrank.evaluation import Comparison, Evaluation, Protocol, compare, evaluate
from sqlrank.models import (
    BPR,
    EASE,
    ItemKNN,
    LinearRanker,
    ListRankMF,
    MatrixFactorization,
    Popularity,
    PrimalCR,
    Random,
    SQLRank,
    WeightedMF,
)
from sqlrank.storage import load_model as load
from sqlrank.tuning import TuningResult, tune

__all__ = [
    "BPR",
    "EASE",
    "Comparison",
    "ConfigError",
    "DataError",
    "Evaluation",
    "FormatError",
    "Interactions",
    "ItemKNN",
    "LinearRanker",
    "ListRankMF",
    "MatrixFactorization",
    "NotFittedError",
    "Popularity",
    "PrimalCR",
    "Protocol",
    "Random",
    "SQLRank",
    "SqlrankError",
    "TuningResult",
    "WeightedMF",
    "compare",
    "datasets",
    "evaluate",
    "load",
    "read",
    "set_threads",
    "show_versions",
    "split",
    "tune",
]
