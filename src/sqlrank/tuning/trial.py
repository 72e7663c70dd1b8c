"""One trial: fit with some settings, look at the metric after every epoch, give up where it is hopeless."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from sqlrank.data.interactions import Interactions
from sqlrank.errors import SqlrankError
from sqlrank.evaluation.protocols import Protocol
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, WholeOrNothing
from sqlrank.training.early_stopping import EarlyStopping
from sqlrank.tuning.space import Space

__all__ = ["Task", "run_trial"]

PATIENCE = 5


@dataclass(frozen=True)
class Task:
    """What every trial of a search has in common."""

    space: Space
    train: Interactions
    validation: Interactions
    metric: str
    protocol: Protocol
    seed: int
    threads: int


class _Report(Callback):
    """Tell optuna the metric of every epoch; stop where the trial is worse than the median of the others."""

    def __init__(self, trial: Any, metric: str) -> None:
        self._trial = trial
        self._metric = metric
        self.values: list[float] = []
        self.pruned = False

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Report; early stopping, which comes before, has measured."""
        value = record.metrics[self._metric]
        self.values.append(value)
        if not math.isnan(value):
            self._trial.report(value, record.epoch)
            self.pruned = self._trial.should_prune()
        return f"{self._metric} is below the median of the other trials" if self.pruned else None


def run_trial(trial: Any, task: Task) -> tuple[str, float | None]:
    """Fit with the settings the trial draws. Return its state (complete, pruned, failed) and its value.

    The value is the best epoch's. What is worth knowing besides is kept in the trial's attributes.
    """
    settings = task.space.draw(trial)
    report = _Report(trial, task.metric)
    stopping = EarlyStopping(task.metric, patience=PATIENCE, protocol=task.protocol)
    began = time.perf_counter()
    try:
        model = task.space.model(**settings)
        model.fit(
            task.train,
            validation=task.validation,
            seed=task.seed,
            threads=task.threads,
            callbacks=[WholeOrNothing(), stopping, report],
        )
    except SqlrankError as error:
        trial.set_user_attr("error", " ".join(str(error).split()))
        return "failed", None
    finally:
        trial.set_user_attr("seconds", time.perf_counter() - began)
    known = [(value, -epoch) for epoch, value in enumerate(report.values, 1) if not math.isnan(value)]
    if not known:
        trial.set_user_attr("error", f"{task.metric} is defined for no user of the validation data")
        return "failed", None
    value, epoch = max(known)
    trial.set_user_attr("epoch", -epoch)
    trial.set_user_attr("epochs", len(report.values))
    return "pruned" if report.pruned else "complete", value
