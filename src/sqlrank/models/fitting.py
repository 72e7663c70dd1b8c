"""What every ``fit`` does before and around learning: checks, hooks, and learning in a single step."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from sqlrank.data import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.training.callbacks import Callback, TrainingRun
from sqlrank.training.early_stopping import EarlyStopping
from sqlrank.training.loop import run_epochs
from sqlrank.training.progress import progress_callback
from sqlrank.training.trainer import EpochReport, Matrix

__all__ = [
    "MOST_SEED",
    "all_or_nothing",
    "check_events",
    "check_trainable",
    "checked_seed",
    "learn_at_once",
    "planned_epochs",
    "training_hooks",
]

MOST_SEED = 2**64 - 1  # the generator's key has 64 bits

Learn = TypeVar("Learn", bound=Callable[..., Any])


def all_or_nothing(learn: Learn) -> Learn:
    """Leave the model as it was when learning ends in an error or is interrupted before its first epoch.

    Learning replaces a model's arrays and never writes into them, so keeping the references is enough.
    """

    @functools.wraps(learn)
    def guarded(model: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(model))
        try:
            return learn(model, *args, **kwargs)
        except BaseException:
            vars(model).clear()
            vars(model).update(before)
            raise

    return cast(Learn, guarded)


def check_events(events: Any, what: str) -> None:
    """Raise :class:`DataError` where `what` was given a table or a list in place of interactions."""
    if not isinstance(events, Interactions):
        kind = type(events)
        name = (
            kind.__name__
            if kind.__module__ == "builtins"
            else f"{kind.__module__.split('.')[0]} {kind.__name__}"
        )
        raise DataError(f"{what} learns from interactions, not from a {name}: pass sqlrank.read(data)")


def checked_seed(seed: Any) -> int:
    """The seed as an int, or a :class:`ConfigError`."""
    number = _whole(seed)
    if number is None or not 0 <= number <= MOST_SEED:
        raise ConfigError(f"seed is {seed!r}; it must be a whole number from 0 to 2**64 - 1")
    return number


def planned_epochs(epochs: Any, of_fit: int) -> int:
    """The epochs of a partial_fit: those asked for, or a twelfth of a full fit's where None is."""
    if epochs is None:
        return max(1, round(of_fit / 12))
    number = _whole(epochs)
    if number is None or number < 1:
        raise ConfigError(f"epochs is {epochs!r}; it must be a whole number >= 1 or None")
    return number


def _whole(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def check_trainable(train: Interactions, validation: Interactions | None) -> None:
    """Raise :class:`DataError` where there is nothing to learn from, or the two data sets have different ids."""
    check_events(train, "fit")
    if validation is not None:
        check_events(validation, "validation")
    if len(train) == 0:
        raise DataError("the training data has no events")
    if validation is not None and (validation.users != train.users or validation.items != train.items):
        raise DataError(
            "validation and training data have different ids: split one data set (sqlrank.split), or use "
            "validation.with_vocabularies(train.users, train.items)"
        )


def training_hooks(
    validation: Interactions | None, progress: bool | str | Callback, callbacks: Sequence[Callback]
) -> list[Callback]:
    """The callbacks of a run: those given, early stopping where there is validation data, and progress."""
    hooks = list(callbacks)
    if validation is not None and not any(isinstance(c, EarlyStopping) for c in hooks):
        hooks.append(EarlyStopping())
    shown = progress_callback(progress)
    return hooks if shown is None else [*hooks, shown]


def learn_at_once(run: TrainingRun, learn: Callable[[], None], hooks: Sequence[Callback]) -> None:
    """Run a model that learns in one step as a training of one epoch: callbacks see it like any other."""
    run_epochs(run, _OneStep(learn), hooks, lambda users, items: None)


class _OneStep:
    """A trainer without factors: its only epoch is the whole of learning."""

    def __init__(self, learn: Callable[[], None]) -> None:
        self.users: Matrix = np.empty((0, 0), np.float32)
        self.items = self.users
        self._learn = learn

    def train_epoch(self, number: int) -> EpochReport:
        """Learn; nothing is minimised step by step, so there is no objective to tell."""
        self._learn()
        return EpochReport(objective=math.nan, loss=math.nan, entries=0, rate=0.0)

    def settle(self, epochs: int) -> None:
        """Nothing to judge."""
