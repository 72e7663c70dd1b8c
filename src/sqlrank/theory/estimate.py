"""A number with its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import ConfigError


@dataclass(frozen=True)
class Estimate:
    """A value (one per list), exact or the mean of independent draws."""

    value: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    """Zero where the value is exact."""
    exact: bool

    @classmethod
    def of(cls, value: NDArray[np.float64]) -> Estimate:
        """Return an exact value."""
        return cls(value, np.zeros_like(value), exact=True)

    @classmethod
    def mean(cls, draws: NDArray[np.float64]) -> Estimate:
        """Return the mean over the first axis."""
        spread = draws.std(axis=0, ddof=1) if len(draws) > 1 else np.full_like(draws[0], np.inf)
        return cls(np.asarray(draws.mean(axis=0)), np.asarray(spread / np.sqrt(len(draws))), exact=False)

    def average(self) -> Estimate:
        """Return the mean over the lists, which are drawn independently of each other."""
        error = np.sqrt((self.standard_error**2).sum()) / max(1, self.value.size)
        return Estimate(np.asarray(self.value.mean()), np.asarray(error), self.exact)

    def __float__(self) -> float:
        return float(self.value)


def check_samples(samples: int) -> None:
    """Raise ConfigError for fewer draws than a standard error needs."""
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 2:
        raise ConfigError(f"samples is {samples!r}; it must be a whole number >= 2")
