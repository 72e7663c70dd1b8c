"""One fit of one row with one seed: everything that comes of it, as plain values."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlrank.data.interactions import Interactions
from sqlrank.evaluation.evaluate import evaluate
from sqlrank.evaluation.protocols import Protocol
from sqlrank.experiments.definition import Task
from sqlrank.models.base import Recommender
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, WholeOrNothing

__all__ = ["Record", "run_trial"]


@dataclass(frozen=True)
class Record:
    """What one trial found.

    metrics     metric -> (mean, its standard error over users, users in the mean)
    users       users with training events
    curve       (epoch, seconds of training so far, metric -> mean) where it was asked for
    run         which call of the runner measured it: seconds compare only within one
    """

    metrics: dict[str, tuple[float, float | None, int]]
    users: int
    events: tuple[int, int]
    fit_seconds: float
    curve: list[tuple[int, float, dict[str, float]]]
    run: str

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Record:
        """Take back what was written as JSON."""
        metrics = {name: tuple(value) for name, value in values["metrics"].items()}
        curve = [tuple(point) for point in values["curve"]]
        return cls(**{**values, "metrics": metrics, "curve": curve, "events": tuple(values["events"])})

    def everybody(self, metric: str) -> float:
        """The mean as the paper takes it for precision: over all users, also those with nothing to find."""
        value, _, evaluated = self.metrics[metric]
        return value * evaluated / self.users if metric.startswith("precision") else value


def run_trial(
    model: Recommender,
    train: Interactions,
    test: Interactions,
    task: Task,
    *,
    seed: int,
    threads: int | None,
    curve: bool,
    run: str,
) -> Record:
    """Fit and measure; with `curve`, measure after every epoch as well (the time that takes is not counted)."""
    watch = _Watch(test, task, threads)
    began = watch.start()
    hooks: list[Callback] = [WholeOrNothing(), *([watch] if curve else [])]
    model.fit(train, seed=seed, threads=threads, callbacks=hooks)
    seconds = time.perf_counter() - began - watch.spent
    users = int(np.count_nonzero(np.diff(train.indptr)))
    return Record(
        _measure(model, test, task, threads), users, (len(train), len(test)), seconds, watch.curve, run
    )


def _measure(
    model: Recommender, test: Interactions, task: Task, threads: int | None
) -> dict[str, tuple[float, float | None, int]]:
    found: dict[str, tuple[float, float | None, int]] = {}
    for name in task.protocols:
        result = evaluate(model, test, Protocol.named(name).metrics, name, threads=threads)
        for metric, summary in result.summaries.items():
            found[metric] = summary.value, summary.standard_error, summary.users
    return found


class _Watch(Callback):
    """Looks at the test after every epoch, to draw a curve; nothing is chosen by it. Its own time is not counted."""

    reads_objective = False

    def __init__(self, test: Interactions, task: Task, threads: int | None) -> None:
        self._test, self._task, self._threads = test, task, threads
        self.curve: list[tuple[int, float, dict[str, float]]] = []
        self.spent = 0.0

    def start(self) -> float:
        """Start the clock."""
        self._began = time.perf_counter()
        return self._began

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Stop the clock, measure, go on."""
        now = time.perf_counter()
        means = {name: value[0] for name, value in self._of(run.model).items()}
        self.curve.append((record.epoch, now - self._began - self.spent, means))
        self.spent += time.perf_counter() - now
        return None

    def _of(self, model: Any) -> dict[str, tuple[float, float | None, int]]:
        return _measure(model, self._test, self._task, self._threads)
