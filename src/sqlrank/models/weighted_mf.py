"""WeightedMF: confidence-weighted squared error over all cells (Hu, Koren, Volinsky 2008), fitted by `implicit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank._threads import resolve_threads
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.models._als import ALSTrainer, solve_rows
from sqlrank.models.factors import FactorModel, padded
from sqlrank.models.fitting import (
    all_or_nothing,
    check_events,
    check_trainable,
    checked_seed,
    planned_epochs,
    training_hooks,
)
from sqlrank.models.growth import merge_events
from sqlrank.models.lists import ItemLists
from sqlrank.models.one_step import weights_setting
from sqlrank.models.stored import stored_values
from sqlrank.settings import Search, Settings, setting
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, history_table
from sqlrank.training.loop import run_epochs

__all__ = ["WeightedMF", "WeightedMFSettings"]

INIT_SCALE = 0.01  # implicit's: initial factors are uniform in [0, 0.01)


@dataclass(frozen=True)
class WeightedMFSettings(Settings):
    """What WeightedMF learns with."""

    rank: int = setting(
        64,
        "numbers per user and per item",
        int,
        low=1,
        high=65536,
        search=Search(choices=(16, 32, 64, 128)),
    )
    epochs: int = setting(15, "rounds of solving for all users, then for all items", int, low=1)
    regularization: float = setting(
        50.0,
        "lambda, the weight of the squared factors; not multiplied by the number of events",
        float,
        low=0,
        above_low=True,
        search=Search(0.1, 1000.0, log=True),
    )
    alpha: float = setting(
        10.0,
        "confidence of an event where a cell without one has 1",
        float,
        low=0,
        above_low=True,
        search=Search(1.0, 100.0, log=True),
    )
    weights: str = weights_setting()


class WeightedMF(FactorModel):
    """Low-rank scores x = u·v that are 1 where there is an event and 0 elsewhere, in weighted least squares::

        sum over the events (i, j) of  c_ij (1 - u_i·v_j)²  +  sum over all other cells of (u_i·v_j)²
            + lambda (|U|² + |V|²)                     c_ij = alpha,  or alpha * value with weights="values"

    The confidence of an event is alpha *itself*, as in implicit 0.7, not the `1 + alpha * value` of the paper; an
    event of a negative value (a dislike) is a 0 with confidence `alpha * |value|`. Every epoch improves all users,
    then all items, by three conjugate gradient steps from where they are (Takács, Pilászy, Tikk 2011), starting
    from uniform factors in [0, 0.01).

    Fitting needs the package `implicit` (``pip install 'sqlrank[rivals]'``); a saved model works without it.
    Same seed, same bits for any number of threads.
    """

    settings_class: ClassVar[type[WeightedMFSettings]] = WeightedMFSettings
    settings: WeightedMFSettings
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # The one-class experiment on MovieLens-1M; the paper tuned lambda and the confidence, and prints neither. These
        # were found on a validation part of its training half.
        "paper": {"rank": 100, "epochs": 8, "regularization": 130.0, "alpha": 16.0},
    }
    is_explicit = False
    """The model orders the whole catalogue, also where ratings weigh the events."""

    _values: NDArray[np.float32] | None = None  # of the seen items, where they count
    _history: Sequence[EpochRecord] = ()
    best_epoch: int | None = None
    """The epoch that early stopping chose, None without it."""

    @property
    def history(self) -> pl.DataFrame:
        """Epoch, seconds, objective and metrics of the last fit or partial_fit.

        The objective is that of the factors the epoch started from, NaN where callbacks were given of which none
        reads it: it takes a third of an epoch.
        """
        return history_table(self._history)

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
        """Learn from `train`, from scratch. With `validation` data, stop early and keep the best epoch."""
        check_trainable(train, validation)
        if self.settings.weights == "values" and train.values is None:
            raise ConfigError('weights is "values", but the data has no values; use weights="ones"')
        random = np.random.default_rng(seed := checked_seed(seed))
        users, items = (_initial(random, rows, self.settings.rank) for rows in train.shape)
        values = train.values if self.settings.weights == "values" else None
        data = Interactions.from_csr(train.users, train.items, train.indptr, train.indices, values)
        hooks = training_hooks(validation, progress, callbacks)
        run = TrainingRun(self, self.settings.epochs, validation, len(train), resolve_threads(threads), seed)
        return self._train(data, users, items, run, hooks)

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

        New users are folded in first; then all factors are improved on all events for `epochs` epochs (a twelfth
        of a full fit where not given). A pair that was there before takes the new value.
        """
        old_users, old_items = self.user_factors, self.item_factors
        check_events(events, "partial_fit")
        planned, seed = planned_epochs(epochs, self.settings.epochs), checked_seed(seed)
        if self._values is not None and events.values is None:
            raise DataError(
                "the model weighs events by their values; partial_fit needs events with values too"
            )
        width = resolve_threads(threads)
        merged = merge_events(self.users, self.items, self.seen, self._values, events)
        new_items = _initial(np.random.default_rng(seed), len(merged.items) - len(old_items), self._rank)
        items = np.concatenate([old_items, new_items])
        first = merged.indptr[len(old_users)]
        values = None if merged.values is None else merged.values[first:]
        new_users = self._solve(
            items, merged.indptr[len(old_users) :] - first, merged.indices[first:], values, width
        )
        users = np.concatenate([old_users, new_users.astype(np.float32)])
        data = Interactions.from_csr(merged.users, merged.items, merged.indptr, merged.indices, merged.values)
        run = TrainingRun(self, planned, None, len(data), width, seed)
        return self._train(data, users, items, run, training_hooks(None, progress, callbacks))

    def _train(
        self,
        data: Interactions,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        run: TrainingRun,
        hooks: Sequence[Callback],
    ) -> Self:
        settings = self.settings
        read = not hooks or any(hook.reads_objective for hook in hooks)
        trainer = ALSTrainer(
            data, users, items, settings.alpha, settings.regularization, run.threads, objective=read
        )
        self._remember(data.users, data.items, ItemLists(data.indptr, data.indices))
        self._values = data.values
        self._history = run.history
        run_epochs(run, trainer, hooks, self._publish)
        self.best_epoch = run.best_epoch
        return self

    def _columns(self) -> int:
        return self.settings.rank

    def _publish(self, users: NDArray[np.float32], items: NDArray[np.float32]) -> None:
        if not (np.isfinite(users).all() and np.isfinite(items).all()):
            raise ConfigError(
                "the factors are no longer finite numbers: lower alpha, raise regularization or, with "
                'weights="values", scale the values down'
            )
        self._set_factors(padded(users), padded(items), users.shape[1])

    # ---- fold-in ------------------------------------------------------------------------------------------------

    def _fold_in(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int | None,
    ) -> NDArray[np.float32]:
        """Solve the users' least squares exactly, the item factors held fixed."""
        if self._values is not None and values is None:
            raise DataError(
                "the model weighs events by their values: give histories as lists of (item, value)"
            )
        counting = None if self._values is None else values
        return padded(self._solve(self.item_factors, indptr, indices, counting, resolve_threads(threads)))

    def _solve(
        self,
        items: NDArray[np.float32],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int,
    ) -> NDArray[np.float64]:
        weights = np.ones(len(indices)) if values is None else values.astype(np.float64)
        confidence = self.settings.alpha * weights
        return solve_rows(
            items, ItemLists(indptr, indices), confidence, self.settings.regularization, threads
        )

    # ---- state --------------------------------------------------------------------------------------------------

    def _copy_state(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._user_factors, self._item_factors  # every epoch makes new ones

    def _restore_state(self, state: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
        self._set_factors(*state, self._rank)

    def _state(self) -> dict[str, NDArray[Any]]:
        values = {} if self._values is None else {"seen_values": self._values}
        return {**super()._state(), **values}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self._values = stored_values(arrays, self.seen)


def _initial(random: np.random.Generator, rows: int, rank: int) -> NDArray[np.float32]:
    return random.random((rows, rank), dtype=np.float32) * np.float32(INIT_SCALE)
