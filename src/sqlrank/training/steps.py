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
        if math.isfinite(objective) and objective <= 10 * self._first:
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

    On the same lists (a frozen queue) no rise is accepted, so the objective falls in every epoch. Fresh lists move
    the objective a little by themselves: then a rise of up to 2 % passes.
    """

    automatic = True
    _patience = 30

    def __init__(self, decay: float = 1.0) -> None:
        self.rate = 1.0
        self._decay = decay
        self._last = math.inf
        self._halvings = 0

    def accepts(self, epoch: int, objective: float, same_lists: bool) -> bool:
        """Accept an objective that did not rise; halve the steps otherwise."""
        allowed = self._last if same_lists else self._last * 1.02
        if math.isfinite(objective) and objective <= allowed:
            self._last = objective
            return True
        self.rate *= 0.5
        self._halvings += 1
        if self._halvings > self._patience or not math.isfinite(self._last):
            raise ConfigError(
                f"the objective is {objective:.4g} in epoch {epoch} and does not fall with ever smaller steps: "
                "raise regularization, lower init_scale, or look for extreme values in the data"
            )
        return False

    def advance(self) -> None:
        """Shrink the steps if a decay is set."""
        self.rate *= self._decay
