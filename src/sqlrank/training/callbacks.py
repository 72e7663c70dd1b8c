"""What may look at a training run, and stop it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

if TYPE_CHECKING:
    from sqlrank.data import Interactions


@dataclass
class EpochRecord:
    """One line of the history. `epoch` counts from 1; the objective is that of the state the epoch started from."""

    epoch: int
    seconds: float
    objective: float
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass
class TrainingRun:
    """What callbacks see: the model (usable after every epoch), the plan, and what happened so far."""

    model: Any
    epochs: int
    validation: Interactions | None
    entries: int
    threads: int
    seed: int
    history: list[EpochRecord] = field(default_factory=list)
    stopped: str | None = None
    """Why training ended before its last epoch, None where it did not."""
    best_epoch: int | None = None
    """The epoch whose state the model holds, where a callback has chosen one."""


class Callback:
    """Four hooks, all of which do nothing here. Override what you need.

    `reads_objective` is False for callbacks that do not look at `record.objective`: a model for which it is much work
    of its own (WeightedMF) leaves it out, as NaN, when nobody reads it.
    """

    reads_objective: ClassVar[bool] = True

    def before_training(self, run: TrainingRun) -> None:
        """Look at the run before its first epoch."""

    def before_epoch(self, run: TrainingRun, epoch: int) -> None:
        """Look at the run before epoch `epoch` (from 1)."""

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Look at a finished epoch. A text stops training: it is the reason."""
        return None

    def after_training(self, run: TrainingRun) -> None:
        """Look at the run when it is over, whatever ended it."""


class WholeOrNothing(Callback):
    """Ctrl-C ends the call of `fit`, too, instead of keeping the last complete epoch.

    For a fit that is a part of something larger: a half-learnt model must not be measured as if it were whole.
    """

    reads_objective = False

    def after_training(self, run: TrainingRun) -> None:
        """Pass the interruption on."""
        if run.stopped == "interrupted":
            raise KeyboardInterrupt


def history_table(history: Sequence[EpochRecord]) -> pl.DataFrame:
    """Return the history as a table: epoch, seconds, objective and one column per metric."""
    names = list(dict.fromkeys(name for record in history for name in record.metrics))
    columns: dict[str, list[Any]] = {
        "epoch": [r.epoch for r in history],
        "seconds": [r.seconds for r in history],
        "objective": [r.objective for r in history],
        **{name: [r.metrics.get(name) for r in history] for name in names},
    }
    floats = dict.fromkeys(("seconds", "objective", *names), pl.Float64)
    return pl.DataFrame(columns, schema_overrides={"epoch": pl.Int64, **floats})
