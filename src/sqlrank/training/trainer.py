"""The trainer of all list-loss models: what changes from epoch to epoch, and one epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._arrays import copied_rows, rows_like
from sqlrank.losses import ListLoss
from sqlrank.training.lists import ListData
from sqlrank.training.steps import StepRule

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class FixedColumns:
    """Columns [begin, end) that no step moves and no penalty counts: constants that carry biases or features."""

    users: tuple[int, int] = (0, 0)
    items: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class EpochReport:
    """What one epoch found: the objective is that of the factors it started from, on its own lists."""

    objective: float
    loss: float
    entries: int
    rate: float


class ListTrainer:
    """Alternating full-batch gradient steps (the paper's algorithm 1).

    An epoch draws a new queue, steps all users, then steps all items at the new users::

        u_i <- u_i - rate (sum over the list of c_l v_l + lambda u_i)
        v_j <- v_j - rate (sum over the lists with j of c u_i + lambda v_j)

    The old factors stay intact until an epoch is complete, so an interrupted one leaves no trace.
    """

    def __init__(
        self,
        data: ListData,
        loss: ListLoss,
        users: Matrix,
        items: Matrix,
        *,
        steps: StepRule,
        regularization: float,
        negatives: int,
        queue: str,
        seed: int,
        first_epoch: int = 0,
        threads: int,
        fixed: FixedColumns = FixedColumns(),
    ) -> None:
        self.users, self.items = users, items
        self._next = (rows_like(users), rows_like(items))
        # Only a step that may be taken back needs the factors before it.
        self._previous = (copied_rows(users), copied_rows(items)) if steps.automatic else None
        self._steps = steps
        self._regularization = regularization
        self._frozen = frozen(queue, data)
        self._first_epoch = first_epoch
        self._threads = threads
        ties = queue == "frozen-ties"
        self._engine = make_engine(data, loss, negatives, seed, users.shape[1], frozen_ties=ties, fixed=fixed)

    @property
    def entries(self) -> int:
        """List entries of an epoch."""
        return self._engine.entries

    def train_epoch(self, number: int) -> EpochReport:
        """Run epoch `number` (from 0)."""
        report = self._try_epoch(number)
        while not self._steps.accepts(number + 1, report.objective, self._frozen):
            self._take_back()
            self._try_epoch(number - 1)
            self._advance()
            report = self._try_epoch(number)
        self._advance()
        self._steps.advance()
        return report

    def settle(self, epochs: int) -> None:
        """Judge the last step, as every epoch judges the one before it."""
        if not self._steps.accepts(epochs, self._try_epoch(epochs).objective, self._frozen):
            self._take_back()

    def _take_back(self) -> None:
        assert self._previous is not None  # only automatic steps are taken back
        self.users, self.items = (copied_rows(factor) for factor in self._previous)

    def _try_epoch(self, number: int) -> EpochReport:
        rate = self._steps.rate
        loss, squared_norm, entries = self._engine.epoch(
            self.users,
            self.items,
            *self._next,
            number=0 if self._frozen else self._first_epoch + number,
            rate=rate,
            regularization=self._regularization,
            automatic=self._steps.automatic,
            threads=self._threads,
        )
        return EpochReport(loss + 0.5 * self._regularization * squared_norm, loss, entries, rate)

    def _advance(self) -> None:
        current = (self.users, self.items)
        self.users, self.items = self._next
        if self._previous is None:
            self._next = current
        else:
            self._next, self._previous = self._previous, current


def frozen(queue: str, data: ListData) -> bool:
    """Whether all epochs have the same lists: with ratings there are no negatives that could be drawn anew."""
    return queue == "frozen" or (queue == "frozen-ties" and data.levels is not None)


def make_engine(
    data: ListData,
    loss: ListLoss,
    negatives: int,
    seed: int,
    stride: int,
    *,
    frozen_ties: bool = False,
    keyed_by_user: bool = True,
    fixed: FixedColumns = FixedColumns(),
) -> _core.Engine:
    """Set the compiled engine up for one data set and loss."""
    return _core.Engine(
        data.starts,
        data.items,
        data.levels,
        catalogue=data.catalogue,
        negatives=negatives,
        seed=seed,
        frozen_ties=frozen_ties,
        keyed_by_user=keyed_by_user,
        loss=loss.kernel,
        k=loss.kernel_k,
        stride=stride,
        fixed_in_users=fixed.users,
        fixed_in_items=fixed.items,
    )
