"""Splits: which events train and which test. Reachable as `sqlrank.split`.

Each function returns (train, test), two `Interactions` with the vocabularies of the input that together hold
every event exactly once. Random choices are a hash of (seed, user id, item id): they do not depend on the
order of the rows nor on which other users and items there are. A validation part is carved by the same
functions from the training half (with another seed), or in one go by `with_validation`.
"""

from sqlrank.data.splits.checks import LeakageWarning
from sqlrank.data.splits.events import by_time, kfold, last_n, leave_one_out, per_user, random
from sqlrank.data.splits.users import UserHoldout, user_holdout, with_validation

__all__ = [
    "LeakageWarning",
    "UserHoldout",
    "by_time",
    "kfold",
    "last_n",
    "leave_one_out",
    "per_user",
    "random",
    "user_holdout",
    "with_validation",
]
