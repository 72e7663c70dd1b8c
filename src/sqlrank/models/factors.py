"""``FactorModel``: a vector per user and per item; the score is their inner product."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data import Vocabulary
from sqlrank.errors import FormatError
from sqlrank.models.base import Recommender, checked_count
from sqlrank.models.lists import ItemLists
from sqlrank.models.ranked import RankedLists
from sqlrank.models.requests import Filters, Histories, OnUnknown, resolve
from sqlrank.models.stored import stored_array, stored_number
from sqlrank.models.tables import ranked_table
from sqlrank.models.topk import rank_by_factors, score_pairs
from sqlrank.storage.manifest import MANIFEST

__all__ = ["FactorModel", "padded", "stride_of"]

_FLOATS_PER_LINE = 16  # rows start on cache lines and hold whole vector registers


def stride_of(rank: int) -> int:
    """Floats between two factor rows: the rank rounded up to a multiple of 16."""
    return -(-rank // _FLOATS_PER_LINE) * _FLOATS_PER_LINE


def padded(factors: NDArray[Any]) -> NDArray[np.float32]:
    """The same rows as float32, padded with zeros to :func:`stride_of` columns."""
    rows, rank = factors.shape
    if rank == stride_of(rank):
        return np.ascontiguousarray(factors, np.float32)
    out = np.zeros((rows, stride_of(rank)), np.float32)
    out[:, :rank] = factors
    return out


class FactorModel(Recommender):
    """Scores are ``user_factors @ item_factors.T``.

    When fitted, a subclass calls :meth:`_set_factors` with float32 rows padded with zeros (see
    :func:`padded`); it implements ``_fold_in`` for new users.
    """

    _user_factors: NDArray[np.float32]
    _item_factors: NDArray[np.float32]
    _rank: int

    @property
    def user_factors(self) -> NDArray[np.float32]:
        """One row per user, in the order of ``model.users``; read-only."""
        return self._visible(self._factors[0])

    @property
    def item_factors(self) -> NDArray[np.float32]:
        """One row per item, in the order of ``model.items``; read-only."""
        return self._visible(self._factors[1])

    def similar_items(
        self, items: Any, n: int = 10, *, on_unknown: OnUnknown = "raise", threads: int | None = None
    ) -> pl.DataFrame:
        """The ``n`` items whose factors point the same way: a table ``item, similar, score, rank``.

        The score is the cosine; an item is not listed as similar to itself.
        """
        codes, known = resolve(self.items, items, on_unknown, "items")
        return self._similar(self._item_factors, self.items, codes[known], n, "item", threads)

    def similar_users(
        self, users: Any, n: int = 10, *, on_unknown: OnUnknown = "raise", threads: int | None = None
    ) -> pl.DataFrame:
        """The ``n`` users whose factors point the same way: a table ``user, similar, score, rank``."""
        codes, known = resolve(self.users, users, on_unknown, "users")
        return self._similar(self._user_factors, self.users, codes[known], n, "user", threads)

    def _set_factors(self, users: NDArray[np.float32], items: NDArray[np.float32], rank: int) -> None:
        """Keep padded factor rows; ``rank`` of their columns mean something."""
        self._user_factors, self._item_factors, self._rank = users, items, rank

    def _columns(self) -> int | None:
        """How many columns the rows have, None where the settings do not say it."""
        return None

    def _constants(self, owner: str) -> slice:
        """Columns that are the same in all rows of the `owner`, "user" or "item": they point nowhere."""
        return slice(0, 0)

    @property
    def _factors(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if not self.is_fitted:
            raise self._not_fitted()
        return self._user_factors, self._item_factors

    def _visible(self, factors: NDArray[np.float32]) -> NDArray[np.float32]:
        view = factors[:, : self._rank]
        view.flags.writeable = False
        return view

    def _similar(
        self,
        factors: NDArray[np.float32],
        vocabulary: Vocabulary,
        codes: NDArray[np.int32],
        n: int,
        owner: str,
        threads: int | None,
    ) -> pl.DataFrame:
        directions = _unit_rows(factors, self._constants(owner))
        itself = ItemLists(np.arange(len(codes) + 1), codes)
        ranked = rank_by_factors(
            directions,
            directions,
            checked_count(n),
            rank=self._rank,
            user_rows=codes,
            exclude=itself,
            threads=threads,
        )
        return ranked_table(vocabulary.decode(codes), ranked, vocabulary, owner=owner, item="similar")

    def _rank_known(
        self, users: NDArray[np.int32], n: int, filters: Filters, threads: int | None
    ) -> RankedLists:
        return self._rank_rows(self._user_factors, users, n, filters, threads)

    def _rank_new(self, histories: Histories, n: int, filters: Filters, threads: int | None) -> RankedLists:
        return self._rank_rows(self._folded(histories, threads), None, n, filters, threads)

    def _rank_rows(
        self,
        rows: NDArray[np.float32],
        user_rows: NDArray[np.int32] | None,
        n: int,
        filters: Filters,
        threads: int | None,
    ) -> RankedLists:
        return rank_by_factors(
            rows,
            self._item_factors,
            n,
            rank=self._rank,
            user_rows=user_rows,
            exclude=filters.exclude,
            candidates=filters.candidates,
            threads=threads,
        )

    def _score_pairs(
        self, users: NDArray[np.int32], items: NDArray[np.int32], threads: int | None
    ) -> NDArray[np.float32]:
        return score_pairs(self._user_factors, users, self._item_factors, items, threads)

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"user_factors": self._user_factors, "item_factors": self._item_factors}

    def _facts(self) -> dict[str, Any]:
        return {"rank": self._rank}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        rank, expected = stored_number(facts, "rank", 1), self._columns()
        if expected not in (None, rank):
            raise FormatError(f"{MANIFEST}: rank is {rank}; with these settings it is {expected}")
        users = stored_array(arrays, "user_factors", np.float32, (len(self.users), stride_of(rank)))
        items = stored_array(arrays, "item_factors", np.float32, (len(self.items), stride_of(rank)))
        self._set_factors(users, items, rank)


def _unit_rows(factors: NDArray[np.float32], without: slice) -> NDArray[np.float32]:
    """Rows of length 1, without some columns; a row of zeros stays one, and is similar to nothing."""
    if without.start < without.stop:
        factors = factors.copy()
        factors[:, without] = 0.0
    lengths = np.sqrt(np.einsum("ij,ij->i", factors, factors, dtype=np.float64))
    lengths[lengths == 0] = 1.0
    directions: NDArray[np.float32] = (factors / lengths[:, None]).astype(np.float32)
    return directions
