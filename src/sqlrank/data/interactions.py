"""``Interactions``: who did what with which item, as compressed rows over integer codes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data.cleaning import CleaningReport, find_core
from sqlrank.data.layout import compressed_rows, ranges_of, transpose
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import ConfigError, DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Interactions", "ItemView"]


class ItemView(NamedTuple):
    """The same events item by item: item ``j`` owns ``indices[indptr[j]:indptr[j + 1]]``: its users."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    order: NDArray[np.int64]
    """Positions in the user-major arrays: ``data.values[view.order]`` are the values item by item."""


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Users × items with an optional value and an optional time per event. Immutable.

    The events of user ``u`` are ``indices[indptr[u]:indptr[u + 1]]``: item codes, ascending and distinct.
    ``values`` and ``timestamps`` run in parallel to ``indices``. Build one with :func:`sqlrank.read`.
    """

    users: Vocabulary
    items: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32] | None = None
    timestamps: NDArray[np.int64] | None = None
    """Dates and times are microseconds since 1970 in UTC; integer columns are kept as they are."""
    report: CleaningReport = field(default_factory=CleaningReport)

    def __post_init__(self) -> None:
        _freeze(self, "indptr", np.int64, len(self.users) + 1)
        _freeze(self, "indices", np.int32, len(self.indices))
        _freeze(self, "values", np.float32, len(self.indices))
        _freeze(self, "timestamps", np.int64, len(self.indices))
        _check_layout(self.indptr, self.indices, self.n_items)

    @classmethod
    def from_csr(
        cls,
        users: Vocabulary,
        items: Vocabulary,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32] | None = None,
        timestamps: NDArray[np.int64] | None = None,
        report: CleaningReport | None = None,
    ) -> Interactions:
        """From arrays that already have the layout described above."""
        return cls(
            users, items, indptr, indices, values, timestamps, report or CleaningReport(events=len(indices))
        )

    @property
    def n_users(self) -> int:
        """How many users the vocabulary holds, with or without events."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """How many items the vocabulary holds, with or without events."""
        return len(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        """(users, items)."""
        return self.n_users, self.n_items

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def density(self) -> float:
        """The share of all (user, item) pairs that have an event."""
        cells = self.n_users * self.n_items
        return len(self) / cells if cells else 0.0

    def __repr__(self) -> str:
        extras = [name for name in ("values", "timestamps") if getattr(self, name) is not None]
        with_extras = f" with {' and '.join(extras)}" if extras else ""
        size = f"{self.n_users:,} users × {self.n_items:,} items, {len(self):,} events"
        return f"Interactions({size}{with_extras})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interactions):
            return NotImplemented
        return (
            self.users == other.users
            and self.items == other.items
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and _same(self.values, other.values)
            and _same(self.timestamps, other.timestamps)
        )

    @property
    def user_codes(self) -> NDArray[np.int32]:
        """The user code of every event (computed on each call: 4 bytes per event)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def by_item(self) -> ItemView:
        """The events item by item; computed on first use and kept."""
        indptr, indices, order = transpose(self.indptr, self.indices, self.n_items)
        for array in (indptr, indices, order):
            array.flags.writeable = False
        return ItemView(indptr, indices, order)

    def take(self, mask: NDArray[np.bool_]) -> Interactions:
        """Only the events where ``mask`` is true; the vocabularies stay as they are."""
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise DataError(
                f"take needs one boolean per event ({len(self)}), got {mask.dtype} of shape {mask.shape}."
            )
        kept = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
        indptr = kept[self.indptr]
        return replace(
            self,
            indptr=indptr,
            indices=self.indices[mask],
            values=None if self.values is None else self.values[mask],
            timestamps=None if self.timestamps is None else self.timestamps[mask],
            report=replace(self.report, events=int(indptr[-1])),
        )

    def binarize(self, min_value: float | None = None) -> Interactions:
        """Implicit feedback: drop events with a value below ``min_value``, then forget the values."""
        return replace(self._at_least(min_value), values=None)

    def filter(
        self, *, min_user_events: int = 1, min_item_events: int = 1, min_value: float | None = None
    ) -> Interactions:
        """Drop small values, then rare users and items until none is left (k-core); vocabularies shrink.

        With the defaults, users and items without any event leave the vocabularies; 0 keeps them.
        """
        data = self._at_least(min_value)
        if min(min_user_events, min_item_events) < 0:
            raise ConfigError("min_user_events and min_item_events count events: they cannot be negative.")
        core = find_core(
            data.user_codes,
            data.indices,
            n_users=data.n_users,
            n_items=data.n_items,
            min_user_events=min_user_events,
            min_item_events=min_item_events,
        )
        kept = data.take(core.keep) if core.rounds else data
        reason = (
            f"of users with fewer than {min_user_events} or items with fewer than {min_item_events} events"
        )
        plural = "s" if core.rounds > 1 else ""
        report = data.report.with_step(
            f"{reason} ({core.rounds} round{plural})", len(data) - len(kept), len(kept)
        )
        return replace(kept, report=report)._without_empty(bool(min_user_events), bool(min_item_events))

    def with_vocabularies(self, users: Vocabulary, items: Vocabulary) -> Interactions:
        """The same events in other (usually larger) vocabularies.

        An id that has events but is missing there raises :class:`DataError`.
        """
        if users == self.users and items == self.items:
            return replace(self, users=users, items=items)
        used_users = np.diff(self.indptr) > 0
        used_items = np.zeros(self.n_items, np.bool_)
        used_items[self.indices] = True
        user_map = _recode(self.users, users, used_users, "users")
        item_map = _recode(self.items, items, used_items, "items")
        arrays = compressed_rows(
            user_map[self.user_codes], item_map[self.indices], self.values, self.timestamps, len(users)
        )
        return replace(
            self,
            users=users,
            items=items,
            indptr=arrays.indptr,
            indices=arrays.indices,
            values=arrays.values,
            timestamps=arrays.timestamps,
        )

    def to_table(self) -> pl.DataFrame:
        """One row per event in the user's own ids: user, item and, where known, value and timestamp."""
        columns = {
            "user": self.users.decode(self.user_codes),
            "item": self.items.decode(self.indices),
        }
        if self.values is not None:
            columns["value"] = pl.Series(self.values)
        if self.timestamps is not None:
            columns["timestamp"] = pl.Series(self.timestamps)
        return pl.DataFrame(columns)

    def to_scipy(self) -> csr_array[np.float32]:
        """A users × items matrix of the values, or of ones when there are none."""
        from scipy.sparse import csr_array

        values = np.ones(len(self), np.float32) if self.values is None else self.values
        return csr_array((values, self.indices, self.indptr), shape=self.shape)

    def _at_least(self, min_value: float | None) -> Interactions:
        if min_value is None:
            return self
        if self.values is None:
            raise ConfigError(f"min_value={min_value} needs values, but these interactions have none.")
        kept = self.take(self.values >= min_value)
        reason = f"events with a value below {min_value:g}"
        return replace(kept, report=self.report.with_step(reason, len(self) - len(kept), len(kept)))

    def _without_empty(self, shrink_users: bool, shrink_items: bool) -> Interactions:
        users, items, indptr, indices = self.users, self.items, self.indptr, self.indices
        has_events = np.diff(indptr) > 0
        if shrink_users and not has_events.all():
            users = Vocabulary.trusted(users.ids.filter(pl.Series(has_events)))
            indptr = np.concatenate([indptr[:-1][has_events], indptr[-1:]])
        has_events = np.zeros(self.n_items, np.bool_)
        has_events[indices] = True
        if shrink_items and not has_events.all():
            items = Vocabulary.trusted(items.ids.filter(pl.Series(has_events)))
            indices = ranges_of(has_events)[indices]
        return replace(self, users=users, items=items, indptr=indptr, indices=indices)


def _freeze(data: Interactions, name: str, dtype: type[Any], length: int) -> None:
    """Store a read-only array of the right type; a view, so that the caller's own array stays writable."""
    array = getattr(data, name)
    if array is None:
        return
    view = np.ascontiguousarray(array, dtype=dtype).view()
    if view.shape != (length,):
        raise DataError(f"{name} must have shape ({length},), not {view.shape}.")
    view.flags.writeable = False
    object.__setattr__(data, name, view)


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


def _recode(old: Vocabulary, new: Vocabulary, used: NDArray[np.bool_], side: str) -> NDArray[np.int32]:
    codes, known = new.lookup(old.ids)
    lost = used & ~known
    if lost.any():
        names = ", ".join(repr(name) for name in old.ids.filter(pl.Series(lost)).head(3))
        raise DataError(f"{int(lost.sum())} {side} have events but are not in the new vocabulary: {names}.")
    return codes


def _check_layout(indptr: NDArray[np.int64], indices: NDArray[np.int32], n_items: int) -> None:
    """Kernels follow offsets and codes without looking again, and count on an item standing once in a row."""
    if indptr[0] != 0 or indptr[-1] != len(indices):
        raise DataError(f"indptr must run from 0 to {len(indices)}, not {indptr[0]} to {indptr[-1]}.")
    if bool((indptr[1:] < indptr[:-1]).any()):
        raise DataError("indptr must not fall")
    if not len(indices):
        return
    if int(indices.view(np.uint32).max()) >= n_items:  # without a sign a negative code is larger than any
        raise DataError(f"indices holds codes outside the {n_items} items")
    rises = indices[1:] > indices[:-1]
    first = indptr[1:-1]
    rises[first[(first > 0) & (first < len(indices))] - 1] = True  # from one row to the next it may fall
    if not rises.all():
        row = int(np.searchsorted(indptr, int(np.argmin(rises)) + 1, side="right")) - 1
        raise DataError(f"the items of row {row} do not rise: every item may stand once, in ascending order")
