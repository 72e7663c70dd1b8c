"""``OneStepModel``: learns in one step, and scores people by their events alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank._blas import in_threads
from sqlrank._threads import resolve_threads
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.models.fitting import (
    check_events,
    check_trainable,
    checked_seed,
    learn_at_once,
    training_hooks,
)
from sqlrank.models.growth import merge_events
from sqlrank.models.lists import ItemLists
from sqlrank.models.scored import ScoreModel
from sqlrank.models.stored import stored_values
from sqlrank.settings import setting
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, history_table

__all__ = ["OneStepModel", "Rows", "weights_setting"]

USERS_PER_PIECE = 16  # less is not worth a thread


def weights_setting() -> Any:
    """The setting of the models that can weigh events by their values."""
    return setting(
        "ones",
        "what an event counts: ones counts every event alike, values takes the rating or the number of events",
        words=("ones", "values"),
    )


@dataclass(frozen=True)
class Rows:
    """People to score: what they have done, and the codes of those the model knows."""

    lists: ItemLists
    values: NDArray[np.float32] | None = None
    codes: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return self.lists.n_rows

    def block(self, begin: int, end: int) -> Rows:
        """The rows begin .. end - 1."""
        indptr = self.lists.indptr[begin : end + 1]
        span = slice(indptr[0], indptr[-1])
        return Rows(
            ItemLists(indptr - indptr[0], self.lists.indices[span]),
            None if self.values is None else self.values[span],
            None if self.codes is None else self.codes[begin:end],
        )

    def matrix(self, n_items: int) -> Any:
        """The histories as a sparse matrix of their values, or of ones."""
        from scipy.sparse import csr_array

        values = np.ones(len(self.lists.indices), np.float32) if self.values is None else self.values
        return csr_array((values, self.lists.indices, self.lists.indptr), shape=(len(self), n_items))


class OneStepModel(ScoreModel):
    """A model without epochs whose scores of one person depend on that person's events alone.

    A subclass implements ``_learn`` and ``_score_rows``. People it has never seen are scored by the same
    function as those it knows. ``partial_fit`` learns anew from old and new events together: there is no cheaper
    exact way, and the result is that of a ``fit`` on everything.
    """

    best_epoch: int | None = None
    is_explicit = False
    """These models order the whole catalogue, also where ratings weigh the events."""
    _values: NDArray[np.float32] | None = None  # of the seen items, where they count
    _history: Sequence[EpochRecord] = ()

    @abstractmethod
    def _learn(self, data: Interactions, seed: int | None, threads: int) -> None:
        """Learn from `data`; its values count where it has any. Without a seed, the one of the last fit holds."""

    @abstractmethod
    def _score_rows(self, rows: Rows, out: NDArray[np.float32]) -> None:
        """Write the scores of all items for every row; a row's bits depend on that row alone."""

    @property
    def history(self) -> pl.DataFrame:
        """The seconds, and the metrics where callbacks measured some; the only epoch is all of learning."""
        return history_table(self._history)

    # ---- learning -----------------------------------------------------------------------------------------------

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
        """Learn from `train`, from scratch. Callbacks see one epoch, with `validation` data its metric too."""
        check_trainable(train, validation)
        seed = checked_seed(seed)
        hooks = training_hooks(validation, progress, callbacks)
        return self._learn_anew(train, validation, seed, resolve_threads(threads), hooks)

    def partial_fit(
        self,
        events: Interactions,
        *,
        seed: int | None = None,
        threads: int | None = None,
        progress: bool | str | Callback = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Learn anew from the events seen so far and the new ones; known ids keep their codes.

        A pair that was there before takes the new value. Without a seed, that of the last fit holds.
        """
        seen = self.seen
        check_events(events, "partial_fit")
        seed = None if seed is None else checked_seed(seed)
        if self._values is not None and events.values is None:
            raise DataError(
                "the model weighs events by their values; partial_fit needs events with values too"
            )
        merged = merge_events(self.users, self.items, seen, self._values, events)
        data = Interactions.from_csr(merged.users, merged.items, merged.indptr, merged.indices, merged.values)
        hooks = training_hooks(None, progress, callbacks)
        return self._learn_anew(data, None, seed, resolve_threads(threads), hooks)

    def _learn_anew(
        self,
        train: Interactions,
        validation: Interactions | None,
        seed: int | None,
        threads: int,
        hooks: Sequence[Callback],
    ) -> Self:
        values = self._counting_values(train)
        data = Interactions.from_csr(train.users, train.items, train.indptr, train.indices, values)

        def learn() -> None:
            self._learn(data, seed, threads)
            self._remember(train.users, train.items, ItemLists(train.indptr, train.indices))
            self._values, self._history = values, run.history

        run = TrainingRun(self, 1, validation, len(train), threads, seed or 0)
        learn_at_once(run, learn, hooks)
        self.best_epoch = run.best_epoch
        return self

    def _counting_values(self, data: Interactions) -> NDArray[np.float32] | None:
        """The values of the events where the settings let them count."""
        if getattr(self.settings, "weights", "ones") == "ones":
            return None
        if data.values is None:
            raise ConfigError('weights is "values", but the data has no values; use weights="ones"')
        return data.values

    # ---- scoring ------------------------------------------------------------------------------------------------

    def _score_block(self, users: NDArray[np.int32], threads: int | None) -> NDArray[np.float32]:
        lists = self.seen.take(users)
        if self._values is None:
            return self._scores(Rows(lists, None, users), threads)
        starts = self.seen.indptr[:-1][users] - lists.indptr[:-1]
        positions = np.arange(len(lists.indices)) + np.repeat(starts, lists.lengths)
        return self._scores(Rows(lists, self._values[positions], users), threads)

    def _fold_in(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int | None,
    ) -> NDArray[np.float32]:
        if self._values is not None and values is None:
            raise DataError(
                "the model weighs events by their values: give histories as lists of (item, value)"
            )
        counting = None if self._values is None else values
        return self._scores(Rows(ItemLists(indptr, indices), counting), threads)

    def _scores(self, rows: Rows, threads: int | None) -> NDArray[np.float32]:
        """Score rows, cut into pieces for the threads."""
        out = np.empty((len(rows), len(self.items)), np.float32)
        workers = resolve_threads(threads)
        size = max(USERS_PER_PIECE, -(-len(rows) // workers))
        pieces = [(begin, min(begin + size, len(rows))) for begin in range(0, len(rows), size)]

        def score(piece: tuple[int, int]) -> None:
            self._score_rows(rows.block(*piece), out[slice(*piece)])

        list(in_threads(score, pieces, workers))
        return out

    # ---- state --------------------------------------------------------------------------------------------------

    def _copy_state(self) -> dict[str, NDArray[Any]]:
        return self._state()  # what is learnt is never changed in place

    def _restore_state(self, state: dict[str, NDArray[Any]]) -> None:
        self._restore(state, self._facts())

    def _state(self) -> dict[str, NDArray[Any]]:
        return {} if self._values is None else {"seen_values": self._values}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        self._values = stored_values(arrays, self.seen)
