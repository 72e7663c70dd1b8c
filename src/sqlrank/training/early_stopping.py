"""Stop when a ranking metric on validation data no longer gets better, and keep the best state."""

from __future__ import annotations

from typing import Any

from sqlrank.errors import ConfigError
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun


class EarlyStopping(Callback):
    """Measure `metric` on the validation data after every `every`-th epoch; stop after `patience` measurements
    without a gain of more than `min_delta`. The model ends with the best state it had.

    The default protocol ranks all unseen items for implicit feedback and the user's rated items for explicit.
    """

    def __init__(
        self,
        metric: str = "ndcg@10",
        *,
        patience: int = 5,
        min_delta: float = 0.0,
        every: int = 1,
        protocol: Any = None,
    ) -> None:
        if patience < 1 or every < 1:
            raise ConfigError(f"patience ({patience}) and every ({every}) must be at least 1")
        self.metric = metric
        self.patience = patience
        self.min_delta = min_delta
        self.every = every
        self.protocol = protocol
        self._best = -float("inf")
        self._best_epoch = 0
        self._best_state: Any = None
        self._waited = 0

    def before_training(self, run: TrainingRun) -> None:
        """Forget former runs."""
        if run.validation is None:
            raise ConfigError("early stopping needs validation data: fit(train, validation=...)")
        self._best, self._best_epoch, self._best_state, self._waited = -float("inf"), 0, None, 0

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Measure, remember the best, count the epochs since."""
        if record.epoch % self.every and record.epoch != run.epochs:
            return None
        value = self._measure(run)
        record.metrics[self.metric] = value
        if value > self._best + self.min_delta:
            self._best, self._best_epoch, self._waited = value, record.epoch, 0
            self._best_state = run.model._copy_state()
            return None
        self._waited += 1
        if self._waited < self.patience:
            return None
        return f"{self.metric} has not improved on {self._best:.4f} (epoch {self._best_epoch})"

    def after_training(self, run: TrainingRun) -> None:
        """Give the model its best state back."""
        if self._best_state is not None:
            run.model._restore_state(self._best_state)
            run.best_epoch = self._best_epoch
            self._best_state = None

    def _measure(self, run: TrainingRun) -> float:
        from sqlrank.evaluation import evaluate

        assert run.validation is not None  # before_training has looked
        protocol = self.protocol or ("rated" if run.model.is_explicit else "all")
        result = evaluate(
            run.model, run.validation, metrics=[self.metric], protocol=protocol, threads=run.threads
        )
        return float(result[self.metric])
