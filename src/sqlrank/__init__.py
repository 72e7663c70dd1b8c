"""sqlrank: one personalised order of the items for every user, learnt from ratings or clicks."""

from sqlrank._threads import set_threads
from sqlrank._versions import show_versions
from sqlrank.data import Interactions, datasets, read
from sqlrank.errors import ConfigError, DataError, FormatError, NotFittedError, SqlrankError
from sqlrank.models import SQLRank

__all__ = [
    "ConfigError",
    "DataError",
    "FormatError",
    "Interactions",
    "NotFittedError",
    "SQLRank",
    "SqlrankError",
    "datasets",
    "read",
    "set_threads",
    "show_versions",
]
