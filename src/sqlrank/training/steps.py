"""How long the steps are: a fixed schedule, or from curvature with a guard."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from sqlrank.errors import ConfigError


class StepRule(ABC):
    """Decides the step size of every epoch, and whether the last step was a good one."""

    automatic: bool
    rate: float

    @abstractmethod
    def accepts(self, epoch: int, objective: float, same_lists: bool) -> bool:
        """Judge the objective that the last step led to. False: take the step back and call me again."""

    @abstractmethod
    def advance(self) -> None:
        """Go on to the next epoch."""


class FixedSteps(StepRule):
    """The paper's schedule: the same rate for all rows, times `decay` after every epoch."""

    automatic = False

    def __init__(self, rate: float, decay: float) -> None:
        self.rate = rate
        self._decay = decay
        self._first: float | None = None

    def accepts(self, epoch: int, objective: float, same_lists: bool) -> bool:
        """Accept every finite objective that is not ten times the first one; stop at others."""
        if self._first is None:
            self._first = objective
        if math.isfinite(objective) and objective <= 10 * abs(self._first) + 1:
            return True
        raise ConfigError(
            f"the objective went from {self._first:.4g} to {objective:.4g} in epoch {epoch}: learning_rate is too "
            f'large (it is {self.rate:.3g} by now); lower it, or use learning_rate="auto"'
        )

    def advance(self) -> None:
        """Shrink the rate."""
        self.rate *= self._decay


class CurvatureSteps(StepRule):
    """Every row steps by its own curvature; all steps are halved when the objective rises all the same.

    On the same lists (a frozen queue) no rise is accepted, so the objective falls in every epoch until rounding
    decides: then the steps have shrunk to nothing. Fresh lists move the objective by themselves, so there only an
    explosion, twice the first objective, is taken back.
    """

    automatic = True
    _smallest = 2.0**-40

    def __init__(self, decay: float = 1.0) -> None:
        self.rate = 1.0
        self._decay = decay
        self._first = math.inf
        self._last = math.inf

    def accepts(self, epoch: int, objective: float, same_lists: bool) -> bool:
        """Accept an objective that did not rise; halve the steps otherwise."""
        if self._first == math.inf and math.isfinite(objective):
            self._first = objective
        allowed = self._last if same_lists else 2 * abs(self._first) + 1
        if math.isfinite(objective) and (objective <= allowed or self.rate < self._smallest):
            self._last = objective
            return True
        self.rate *= 0.5
        if self._first == math.inf or (self.rate < self._smallest and not math.isfinite(objective)):
            raise ConfigError(
                f"the objective is {objective:.4g} in epoch {epoch} and does not become finite with ever smaller "
                "steps: lower init_scale or raise regularization"
            )
        return False

    def advance(self) -> None:
        """Shrink the steps if a decay is set."""
        self.rate *= self._decay
