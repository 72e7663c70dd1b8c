"""What a list loss tells the engine, and how to look at one list's loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqlrank import _core
from sqlrank.errors import ConfigError


@dataclass(frozen=True)
class ListValue:
    """A list's loss, its gradient in the scores and a bound of its curvature in every score."""

    value: float
    gradient: NDArray[np.float32]
    curvature: NDArray[np.float32]


class ListLoss(ABC):
    """A loss of one list: scores in the list's order (best level first) to a value and to d loss / d score."""

    @property
    @abstractmethod
    def kernel(self) -> str:
        """Name of the compiled loss."""

    @property
    def kernel_k(self) -> int:
        """How far down the list the loss looks: a number, -1 for the full list, -2 for the positives."""
        return -1

    def evaluate(self, scores: ArrayLike, levels: ArrayLike | None = None, positives: int = 0) -> ListValue:
        """Return the loss of one list. `levels` must not rise; without them the first `positives` are better."""
        x = np.ascontiguousarray(scores, np.float32)
        ranks = None if levels is None else np.ascontiguousarray(levels, np.float32)
        if ranks is not None:
            if ranks.shape != x.shape or (np.diff(ranks) > 0).any():
                raise ConfigError("levels must be as long as the scores and must not rise along the list")
            positives = int((ranks > ranks.min()).sum()) if len(ranks) else 0
        if not 0 <= positives <= len(x):
            raise ConfigError(
                f"positives is {positives}; it must be from 0 to the length of the list, {len(x)}"
            )
        gradient, curvature = np.empty_like(x), np.empty_like(x)
        value = _core.list_loss(self.kernel, self.kernel_k, x, ranks, positives, gradient, curvature)
        return ListValue(value, gradient, curvature)
