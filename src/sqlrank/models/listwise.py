"""What all models trained on list losses share: settings, fit, partial_fit, fold-in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._arrays import padded_rows
from sqlrank._threads import resolve_threads
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.losses import ListLoss
from sqlrank.models.factors import FactorModel
from sqlrank.models.fitting import (
    all_or_nothing,
    check_events,
    check_trainable,
    checked_seed,
    planned_epochs,
    training_hooks,
)
from sqlrank.models.growth import MergedEvents, merge_events
from sqlrank.models.lists import ItemLists
from sqlrank.models.stored import stored_number, stored_values
from sqlrank.settings import Search, Settings, setting
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, history_table
from sqlrank.training.lists import ListData
from sqlrank.training.loop import ListwiseTrainer, run_epochs
from sqlrank.training.steps import CurvatureSteps, FixedSteps, StepRule
from sqlrank.training.trainer import FixedColumns, ListTrainer, make_engine

USERS, ITEMS = 0, 1  # sides, for the streams of initial factors
FOLD_IN_STEPS = 32


@dataclass(frozen=True)
class ListwiseSettings(Settings):
    """Settings shared by the models that are trained on lists."""

    feedback: str = setting(
        "auto",
        "explicit ranks the rated items by their ratings, implicit ranks events before unseen items; auto looks "
        "whether the data has ratings that differ",
        words=("auto", "explicit", "implicit"),
    )
    rank: int = setting(
        64,
        "numbers per user and per item",
        int,
        low=1,
        high=65536,
        search=Search(choices=(16, 32, 64, 128)),
    )
    epochs: int = setting(60, "passes over all lists", int, low=1)
    learning_rate: float | str = setting(
        "auto",
        "step size: auto takes each row's from its curvature, a number is the paper's fixed schedule",
        float,
        low=0,
        above_low=True,
        words=("auto",),
    )
    decay: float = setting(
        0.97,
        "factor on the step size after every epoch",
        float,
        low=0,
        above_low=True,
        high=1,
        search=Search(0.85, 1.0),
    )
    regularization: float = setting(
        3.0,
        "lambda, the weight of the squared factors; sums over a list are not divided by its length",
        float,
        low=0,
        search=Search(0.3, 30.0, log=True),
    )
    negatives: int = setting(
        3,
        "implicit feedback: unseen items drawn anew in every epoch, per event",
        int,
        low=0,
        high=1000,
        search=Search(choices=(1, 3, 5, 10)),
    )
    queue: str = setting(
        "fresh",
        "fresh breaks ties and draws negatives anew in every epoch, frozen does both once, frozen-ties only the former",
        words=("fresh", "frozen", "frozen-ties"),
    )
    init_scale: float = setting(
        0.1, "standard deviation of the initial factors", float, low=0, above_low=True
    )


class ListwiseModel(FactorModel):
    """A factor model that minimises a list loss. Subclasses name the loss."""

    settings_class: ClassVar[type[ListwiseSettings]] = ListwiseSettings
    settings: ListwiseSettings

    _values: NDArray[np.float32] | None = None  # ratings of the seen items, where the feedback is explicit
    _history: Sequence[EpochRecord] = ()
    _epochs_done = 0  # by all fits since the model was new: no queue is drawn twice
    best_epoch: int | None = None
    """The epoch that early stopping chose, None without it."""

    @abstractmethod
    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""

    @property
    def history(self) -> pl.DataFrame:
        """Epoch, seconds, objective and metrics of the last fit or partial_fit.

        The objective is that of the factors the epoch started from, on the epoch's own lists.
        """
        return history_table(self._history)

    @property
    def is_explicit(self) -> bool:
        """Whether the model was fitted on ratings."""
        return self._values is not None

    # ---- learning -----------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        train: Interactions,
        *,
        validation: Interactions | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: bool | str | Callback = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Learn from `train`, from scratch. With `validation` data, stop early and keep the best epoch.

        The same seed gives the same bits for any number of threads. Ctrl-C keeps the last complete epoch.
        """
        settings = self.settings
        check_trainable(train, validation)
        seed = checked_seed(seed)
        explicit = learns_from_ratings(settings.feedback, train)
        self._start_afresh(train, explicit)
        width = resolve_threads(threads)
        users, items = self._first_rows(train.n_users, train.n_items, seed, width)
        hooks = training_hooks(validation, progress, callbacks)
        return self._train(users, items, self._steps(), settings.epochs, validation, seed, width, hooks)

    @all_or_nothing
    def partial_fit(
        self,
        events: Interactions,
        *,
        epochs: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: bool | str | Callback = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Go on with new events: users and items may be new, and the vocabularies grow behind the known ones.

        New users are folded in first; then all factors are trained on all events for `epochs` epochs (a twelfth of
        a full fit where not given). A pair that was there before takes the new value.
        """
        old_users, old_items = self.user_factors, self.item_factors
        merged = self._merged(events)
        planned, seed = planned_epochs(epochs, self.settings.epochs), checked_seed(seed)
        width = resolve_threads(threads)
        users, items = self._first_rows(len(merged.users), len(merged.items), seed, width)
        users[: len(old_users), : self._rank] = old_users
        items[: len(old_items), : self._rank] = old_items
        self._take_in(merged)
        self._fold_in_rows(users, items, len(old_users), width)
        hooks = training_hooks(None, progress, callbacks)
        return self._train(users, items, CurvatureSteps(), planned, None, seed, width, hooks)

    def _merged(self, events: Interactions) -> MergedEvents:
        """Old and new events as one."""
        check_events(events, "partial_fit")
        if self.is_explicit and events.values is None:
            raise DataError("the model was fitted on ratings; partial_fit needs events with ratings too")
        return merge_events(self.users, self.items, self.seen, self._values, events)

    def _take_in(self, merged: MergedEvents) -> None:
        self._remember(merged.users, merged.items, ItemLists(merged.indptr, merged.indices))
        self._values = merged.values

    def _fold_in_rows(
        self, users: NDArray[np.float32], items: NDArray[np.float32], known: int, threads: int
    ) -> None:
        """Solve the rows of the users behind the first `known`, the items held fixed."""
        self._set_factors(users, items, self._columns())
        indptr, indices = self.seen
        first = indptr[known]
        values = None if self._values is None else self._values[first:]
        start = self._start_of_new(users, known)
        users[known:] = self._solve_histories(start, indptr[known:] - first, indices[first:], values, threads)

    def _start_of_new(self, users: NDArray[np.float32], known: int) -> NDArray[np.float64]:
        """What the rows of new users are solved from: the mean of the known ones."""
        mean: NDArray[np.float64] = users[:known].mean(axis=0, dtype=np.float64)
        return mean

    def _steps(self) -> StepRule:
        rate, decay = self.settings.learning_rate, self.settings.decay
        return CurvatureSteps(decay) if isinstance(rate, str) else FixedSteps(rate, decay)

    def _start_afresh(self, train: Interactions, explicit: bool) -> None:
        self._remember(train.users, train.items, ItemLists(train.indptr, train.indices))
        self._values = train.values if explicit else None
        self._epochs_done = 0

    def _train(
        self,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        steps: StepRule,
        epochs: int,
        validation: Interactions | None,
        seed: int,
        threads: int,
        hooks: Sequence[Callback],
    ) -> Self:
        trainer = self._trainer(users, items, steps, seed, threads)
        run = TrainingRun(self, epochs, validation, trainer.entries, threads, seed)
        self._history = run.history
        strangers = np.diff(self.seen.indptr) == 0
        run_epochs(
            run, trainer, hooks, lambda u, v: self._set_factors(_placed(u, strangers), v, self._columns())
        )
        self.best_epoch = run.best_epoch
        self._epochs_done += len(run.history)
        return self

    def _trainer(
        self,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        steps: StepRule,
        seed: int,
        threads: int,
    ) -> ListwiseTrainer:
        settings = self.settings
        return ListTrainer(
            self._lists(*self.seen, self._values, threads),
            self.loss(),
            users,
            items,
            steps=steps,
            regularization=settings.regularization,
            negatives=settings.negatives,
            queue=settings.queue,
            seed=seed,
            first_epoch=self._epochs_done,
            threads=threads,
            fixed=self._fixed_columns(),
        )

    # ---- what a subclass may add to the factors ------------------------------------------------------------------

    def _columns(self) -> int:
        """How many columns the rows have: the rank, and those that carry more than factors."""
        return self.settings.rank

    def _fixed_columns(self) -> FixedColumns:
        """Which of them do not move."""
        return FixedColumns()

    def _first_rows(
        self, n_users: int, n_items: int, seed: int, threads: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows that training starts from."""
        rank, scale = self.settings.rank, self.settings.init_scale
        users, items = padded_rows(n_users, self._columns()), padded_rows(n_items, self._columns())
        _core.normal_rows(seed, USERS, 0, rank, scale, users, threads)
        _core.normal_rows(seed, ITEMS, 0, rank, scale, items, threads)
        return users, items

    def _lists(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int,
    ) -> ListData:
        return ListData.from_rows(indptr, indices, values, len(self.items), threads)

    # ---- state --------------------------------------------------------------------------------------------------

    def _copy_state(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._user_factors.copy(), self._item_factors.copy()

    def _restore_state(self, state: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
        self._set_factors(*state, self._rank)

    def _state(self) -> dict[str, NDArray[Any]]:
        values = {} if self._values is None else {"seen_values": self._values}
        return {**super()._state(), **values}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self._values = stored_values(arrays, self.seen)
        known = {"epochs_done": 0, **facts}  # the first directories do not say it
        self._epochs_done = stored_number(known, "epochs_done", 0)
        chosen = facts.get("best_epoch")
        self.best_epoch = None if chosen is None else stored_number(facts, "best_epoch", 1)

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "epochs_done": self._epochs_done, "best_epoch": self.best_epoch}

    # ---- fold-in ------------------------------------------------------------------------------------------------

    def _fold_in(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int | None,
    ) -> NDArray[np.float32]:
        return self._solve_histories(self._mean_user(), indptr, indices, values, threads)

    def _mean_user(self) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self._user_factors.mean(axis=0, dtype=np.float64)
        return mean

    def _solve_histories(
        self,
        start: NDArray[np.float64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int | None,
    ) -> NDArray[np.float32]:
        """Solve the list problem of users never seen, from the row `start`, the item factors held fixed.

        Every history draws from the same stream of random numbers: the rows do not depend on each other's company.
        """
        if self.is_explicit and values is None:
            raise DataError(
                "the model was fitted on ratings: give histories as lists of (item, rating), such as [(item, 5.0)]"
            )
        width = resolve_threads(threads)
        items = self._item_factors
        rows = np.empty((len(indptr) - 1, items.shape[1]), np.float32)
        rows[:] = start
        data = self._lists(indptr, indices, values if self.is_explicit else None, width)
        engine = make_engine(
            data,
            self.loss(),
            self.settings.negatives,
            seed=0,
            stride=items.shape[1],
            keyed_by_user=False,
            fixed=self._fixed_columns(),
        )
        engine.solve_users(
            items,
            rows,
            epochs=FOLD_IN_STEPS,
            rate=1.0,
            regularization=self.settings.regularization,
            automatic=True,
            threads=width,
        )
        return rows


def _placed(users: NDArray[np.float32], strangers: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The users' rows, with the mean of all others for those of whom no event is known.

    Regularisation alone takes such a row to zero, where all items tie; the mean ranks what most people like first.
    """
    if not strangers.any() or strangers.all():
        return users
    users = users.copy()
    users[strangers] = users[~strangers].mean(axis=0, dtype=np.float64)
    return users


def learns_from_ratings(feedback: str, data: Interactions) -> bool:
    """Whether the data is taken as ratings (explicit) or as events."""
    if feedback == "explicit" and data.values is None:
        raise ConfigError('feedback is "explicit", but the data has no ratings')
    if feedback != "auto":
        return feedback == "explicit"
    return data.values is not None and len(data) > 0 and bool(data.values.min() < data.values.max())
