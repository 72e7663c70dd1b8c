"""sqlrank: one personalised order of the items for every user, learnt from ratings or clicks."""

from sqlrank._threads import set_threads
from sqlrank._versions import show_versions
from sqlrank.errors import ConfigError, DataError, FormatError, NotFittedError, SqlrankError

__all__ = [
    "ConfigError",
    "DataError",
    "FormatError",
    "NotFittedError",
    "SqlrankError",
    "set_threads",
    "show_versions",
]
