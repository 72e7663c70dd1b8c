"""``Recommender``: what every model offers, whatever it has learnt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data import Interactions, Vocabulary
from sqlrank.errors import ConfigError, DataError, NotFittedError
from sqlrank.models.lists import ItemLists
from sqlrank.models.ranked import RankedLists
from sqlrank.models.requests import Filters, Histories, OnUnknown, make_filters, read_histories, resolve
from sqlrank.models.tables import ranked_table
from sqlrank.settings import Configurable

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Recommender"]


class Recommender(Configurable, ABC):
    """A model that orders the items for every user.

    Settings are given when the model is made, how it runs when it is fitted. After ``fit`` it knows the ids
    of ``users`` and ``items`` and which items each user had ``seen``. What it returns is in those ids.
    """

    _models: ClassVar[dict[str, type[Recommender]]] = {}
    _users: Vocabulary | None = None
    _items: Vocabulary | None = None
    _seen: ItemLists | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Recommender._models[cls.__name__] = cls

    # --- what a model implements -------------------------------------------------------------------------

    @abstractmethod
    def fit(
        self,
        train: Interactions,
        *,
        validation: Interactions | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Any = False,
        callbacks: Sequence[Any] = (),
    ) -> Self:
        """Learn from ``train``, always afresh; return the model itself."""

    @abstractmethod
    def _rank_known(
        self, users: NDArray[np.int32], n: int, filters: Filters, threads: int | None
    ) -> RankedLists:
        """Top lists of users by code; row ``r`` of the filters belongs to ``users[r]``."""

    @abstractmethod
    def _rank_new(self, histories: Histories, n: int, filters: Filters, threads: int | None) -> RankedLists:
        """Top lists of people of whom only a history is known."""

    @abstractmethod
    def _score_pairs(
        self, users: NDArray[np.int32], items: NDArray[np.int32], threads: int | None
    ) -> NDArray[np.float32]:
        """The score of every (user code, item code) pair."""

    @abstractmethod
    def _state(self) -> dict[str, NDArray[Any]]:
        """The learnt arrays by name, for the model file; ids, settings and seen items are saved anyway."""

    @abstractmethod
    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        """Take back what ``_state`` and ``_facts`` gave; arrays may be read-only and mapped from a file."""

    def _facts(self) -> dict[str, Any]:
        """What else belongs into ``model.json``: plain numbers, strings, lists."""
        return {}

    def _metrics(self) -> dict[str, float]:
        """Quality measured while fitting, for ``model.json``."""
        return {}

    def _fold_in(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        threads: int | None,
    ) -> NDArray[np.float32] | None:
        """One learnt row per history (item codes ascend within a history); None: this model cannot."""
        return None

    # --- what it has been fitted on ----------------------------------------------------------------------

    @property
    def is_fitted(self) -> bool:
        """Whether the model has been fitted or loaded."""
        return self._users is not None

    @property
    def users(self) -> Vocabulary:
        """The users' ids; a user's code is its position."""
        if self._users is None:
            raise self._not_fitted()
        return self._users

    @property
    def items(self) -> Vocabulary:
        """The items' ids; an item's code is its position."""
        if self._items is None:
            raise self._not_fitted()
        return self._items

    @property
    def seen(self) -> ItemLists:
        """The items of every user's training events: ``seen.indptr``, ``seen.indices``."""
        if self._seen is None:
            raise self._not_fitted()
        return self._seen

    def set_params(self, **changes: Any) -> Self:
        """Change settings. What was learnt under the old ones is forgotten: fit again."""
        super().set_params(**changes)
        self._users = self._items = self._seen = None
        return self

    def _remember(self, users: Vocabulary, items: Vocabulary, seen: ItemLists) -> None:
        """Say that the model is fitted, and on whom and what."""
        self._users, self._items, self._seen = users, items, seen

    def _not_fitted(self) -> NotFittedError:
        name = type(self).__name__
        return NotFittedError(f"This {name} has not been fitted; call fit(data) or sqlrank.load(path) first.")

    # --- in codes ----------------------------------------------------------------------------------------

    def rank_codes(
        self,
        users: NDArray[np.int32],
        n: int,
        *,
        exclude: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
        candidates: NDArray[np.int32] | ItemLists | None = None,
        threads: int | None = None,
    ) -> RankedLists:
        """The ``n`` best items of every user code.

        ``exclude`` is (indptr, indices) with one row per entry of ``users``, codes ascending within a row.
        ``candidates`` are item codes for everybody, or :class:`ItemLists` with one row per user.
        """
        codes = _checked_codes(users, len(self.users), "user")
        denied = None if exclude is None else ItemLists(*exclude)
        if candidates is not None and not isinstance(candidates, ItemLists):
            candidates = np.unique(_checked_codes(candidates, len(self.items), "item"))
        return self._rank_known(codes, checked_count(n), Filters(candidates, denied), threads)

    def score_codes(
        self, users: NDArray[np.int32], items: NDArray[np.int32], threads: int | None = None
    ) -> NDArray[np.float32]:
        """The scores of (user code, item code) pairs."""
        user_codes = _checked_codes(users, len(self.users), "user")
        item_codes = _checked_codes(items, len(self.items), "item")
        if len(user_codes) != len(item_codes):
            raise DataError(f"{len(user_codes)} users and {len(item_codes)} items do not make pairs.")
        return self._score_pairs(user_codes, item_codes, threads)

    # --- in ids ------------------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any = None,
        *,
        histories: Any = None,
        n: int = 10,
        exclude_seen: bool = True,
        exclude: Any = None,
        candidates: Any = None,
        on_unknown: OnUnknown = "raise",
        threads: int | None = None,
    ) -> pl.DataFrame:
        """The ``n`` best items of every user: a table ``user, item, score, rank`` (rank from 1).

        Give ``users`` (known ids; all of them when neither is given) or ``histories`` of people the model has
        never seen: ``{"new visitor": ["item 1", ("item 9", 4.0)…]}``, interactions or a table.
        ``exclude`` and ``candidates`` are lists of items that hold for everybody, or dicts ``user -> list``;
        they compose with each other and with ``exclude_seen``. Unknown ids raise :class:`DataError`, or are
        left out with or without a warning. Lists are shorter than ``n`` where fewer items compete.
        """
        items, n = self.items, checked_count(n)
        if histories is not None:
            if users is not None:
                raise ConfigError("Give users or histories, not both.")
            new = read_histories(histories, items, on_unknown)
            seen = new.lists if exclude_seen else None
            filters = make_filters(new.ids, items, seen, exclude, candidates, on_unknown)
            return ranked_table(new.ids, self._rank_new(new, n, filters, threads), items)
        codes = self._requested(users, on_unknown)
        ids = self.users.decode(codes)
        seen = self.seen.take(codes) if exclude_seen else None
        filters = make_filters(ids, items, seen, exclude, candidates, on_unknown)
        return ranked_table(ids, self._rank_known(codes, n, filters, threads), items)

    def score(
        self, users: Any, items: Any, *, on_unknown: OnUnknown = "raise", threads: int | None = None
    ) -> NDArray[np.float32]:
        """The scores of (user, item) pairs, two equally long lists of ids; NaN where an id is unknown."""
        user_codes, users_known = resolve(self.users, users, on_unknown, "users")
        item_codes, items_known = resolve(self.items, items, on_unknown, "items")
        if len(user_codes) != len(item_codes):
            raise DataError(f"{len(user_codes)} users and {len(item_codes)} items do not make pairs.")
        known = users_known & items_known
        scores = np.full(len(known), np.nan, np.float32)
        scores[known] = self._score_pairs(user_codes[known], item_codes[known], threads)
        return scores

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the model into a directory, all of it or nothing; read it back with :func:`sqlrank.load`."""
        from sqlrank.storage import save_model

        return save_model(self, path)

    def _requested(self, users: Any, on_unknown: OnUnknown) -> NDArray[np.int32]:
        if users is None:
            return np.arange(len(self.users), dtype=np.int32)
        codes, known = resolve(self.users, users, on_unknown, "users")
        return codes[known]

    def _folded(self, histories: Histories, threads: int | None) -> NDArray[np.float32]:
        rows = self._fold_in(*histories.lists, histories.values, threads)
        if rows is None:
            name = type(self).__name__
            raise ConfigError(f"{name} cannot recommend for histories; fit it with these users instead.")
        return rows


def checked_count(n: int) -> int:
    """A list length as an int, or a ConfigError."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or int(n) < 1:
        raise ConfigError(f"n is {n!r}; it must be a whole number >= 1")
    return int(n)


def _checked_codes(codes: NDArray[np.int32], limit: int, what: str) -> NDArray[np.int32]:
    array = np.asarray(codes)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise DataError(f"{what} codes are a one-dimensional array of integers, not {array.dtype}.")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= limit):
        raise DataError(f"{what} codes run from 0 to {limit - 1}; got {array.min()} … {array.max()}.")
    return np.ascontiguousarray(array, np.int32)
