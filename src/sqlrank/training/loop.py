"""The epoch loop: hooks, history, stopping. It knows nothing of losses or kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from sqlrank.errors import ConfigError
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun
from sqlrank.training.trainer import EpochReport, Matrix


class Trainer(Protocol):
    """What the loop needs of a trainer: factors, and a way to make them better."""

    users: Matrix
    items: Matrix

    def train_epoch(self, number: int) -> EpochReport:
        """Run one epoch; when it is interrupted, the factors stay those of the epoch before."""

    def settle(self, epochs: int) -> None:
        """Look where the last of `epochs` epochs led, and take its step back if that was no good."""


class ListwiseTrainer(Trainer, Protocol):
    """A trainer whose epochs go over lists."""

    @property
    def entries(self) -> int:
        """List entries of an epoch."""


def run_epochs(
    run: TrainingRun,
    trainer: Trainer,
    callbacks: Sequence[Callback],
    publish: Callable[[Matrix, Matrix], None],
) -> None:
    """Train until the plan is done, a callback stops it, or Ctrl-C: then the last complete epoch is kept.

    `publish` hands the factors to the model after every epoch, so that callbacks find it usable.
    """
    publish(trainer.users, trainer.items)
    started: list[Callback] = []
    try:
        for callback in callbacks:
            callback.before_training(run)
            started.append(callback)
        for number in range(run.epochs):
            run.stopped = _one_epoch(run, trainer, callbacks, publish, number)
            if run.stopped:
                break
        trainer.settle(len(run.history))
        publish(trainer.users, trainer.items)
    except KeyboardInterrupt:
        if not run.history:
            raise
        run.stopped = "interrupted"
        publish(trainer.users, trainer.items)  # whole epochs only: none that was on trial
    finally:
        for callback in reversed(started):
            callback.after_training(run)
    _require_finite(trainer)


def _one_epoch(
    run: TrainingRun,
    trainer: Trainer,
    callbacks: Sequence[Callback],
    publish: Callable[[Matrix, Matrix], None],
    number: int,
) -> str | None:
    for callback in callbacks:
        callback.before_epoch(run, number + 1)
    begin = time.perf_counter()
    report = trainer.train_epoch(number)
    publish(trainer.users, trainer.items)
    record = EpochRecord(number + 1, time.perf_counter() - begin, report.objective)
    run.history.append(record)
    reasons = [callback.after_epoch(run, record) for callback in callbacks]
    return next((reason for reason in reasons if reason), None)


def _require_finite(trainer: Trainer) -> None:
    if not (np.isfinite(trainer.users).all() and np.isfinite(trainer.items).all()):
        raise ConfigError(
            "the factors are no longer finite numbers after the last epoch: lower learning_rate, or use "
            'learning_rate="auto"'
        )
