"""What the splits check and warn about."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.errors import ConfigError, DataError


class LeakageWarning(UserWarning):
    """The split ignores time although the events have timestamps: training sees the test's future."""


def warn_of_leakage(data: Interactions, split: str, *, stacklevel: int = 3) -> None:
    """Warn when the data have timestamps which `split` does not look at."""
    if data.timestamps is not None:
        warnings.warn(
            f"split.{split} ignores the timestamps here: training sees events later than the test's, "
            "and the numbers come out better than they will be in use; split.by_time avoids that.",
            LeakageWarning,
            stacklevel=stacklevel,
        )


def timestamps_of(data: Interactions, split: str) -> NDArray[np.int64]:
    """Return the timestamps, or raise where there are none."""
    if data.timestamps is None:
        raise DataError(
            f"split.{split} needs timestamps, and these events have none; name the column when reading "
            "(sqlrank.read(..., time='column')) or use split.random."
        )
    return data.timestamps


def check_share(value: float, name: str) -> float:
    """Return a share strictly between 0 and 1."""
    if not isinstance(value, (int, float, np.number)) or not 0 < float(value) < 1:
        raise ConfigError(f"{name} is {value!r}; give a share between 0 and 1, such as 0.1")
    return float(value)


def check_count(value: int, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ConfigError(f"{name} is {value!r}; give a whole number of at least {least}")
    return int(value)


def check_fresh(counts: NDArray[np.int64], share: float, seed: int, split: str) -> None:
    """Raise when a random part is impossibly far from its share: the data were split with this seed before.

    An event keeps its random number for one seed. In the training half of a random split all numbers that
    select for the test are gone, so a second split with the same seed takes too few (or none). The bound of 7
    standard deviations is passed by chance once in 4e11 splits.
    """
    n = int(counts.sum())
    slack = 7 * math.sqrt(n * share * (1 - share))
    if np.any(np.abs(counts[:-1] - n * share) > slack):
        raise ConfigError(
            f"split.{split} with seed={seed} finds {int(counts[0]):,} of {n:,} not {n * share:,.0f}: "
            "these data come from a split with the same seed; use another (split.with_validation does)."
        )
