"""Clean batches to compressed rows, with little more memory than the result needs.

Ids become codes in the order of appearance while batches stream by. At the end the vocabularies are
sorted, the user codes turn in place into the positions of a counting sort, and one column after the other
moves there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.data import vocabulary
from sqlrank.data.ids import READ_FROM_TEXT
from sqlrank.data.layout import Rows, merge_rows, offsets_of
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import DataError

__all__ = ["Assembler", "Assembly"]

# Blocks of at least 32 MB come from the system and go back to it one by one as the columns move.
SEGMENT_ROWS = 1 << 23
MAX_ROWS = 2**32 - 1
"""Positions in the counting sort are 32 bits wide."""


class _Store:
    """A column that grows by segments: nothing is ever copied, and a used segment can go."""

    def __init__(self, dtype: type[Any], rows: int | None) -> None:
        self._dtype = dtype
        self._capacity = SEGMENT_ROWS if rows is None else max(1, min(SEGMENT_ROWS, rows))
        self._full: list[NDArray[Any]] = []
        self._open: NDArray[Any] = np.empty(0, dtype)
        self._used = 0

    def extend(self, values: NDArray[Any]) -> None:
        while len(values):
            if self._used == len(self._open):
                self._close()
                self._open = np.empty(self._capacity, self._dtype)
            n = min(len(values), len(self._open) - self._used)
            self._open[self._used : self._used + n] = values[:n]
            self._used += n
            values = values[n:]

    def segments(self) -> list[NDArray[Any]]:
        """Hand the segments over; the column is empty afterwards."""
        self._close()
        segments, self._full = self._full, []
        return segments

    def _close(self) -> None:
        if self._used:
            self._full.append(self._open[: self._used])
        self._open, self._used = np.empty(0, self._dtype), 0


class _Pairs:
    """Events that are nothing but a pair, packed as user << 32 | item: sorted where they lie."""

    def __init__(self, rows: int) -> None:
        self._pairs = np.empty(rows, np.uint64)
        self._used = 0

    def extend(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        end = self._used + len(users)
        room = self._pairs[self._used : end]
        room[:] = users
        np.left_shift(room, 32, out=room)
        np.bitwise_or(room, items.astype(np.uint64), out=room)
        self._used = end

    def rows(
        self,
        user_rank: NDArray[np.int32] | None,
        item_rank: NDArray[np.int32] | None,
        n_users: int,
        keep_equal: bool,
        threads: int,
    ) -> tuple[Rows, int]:
        """Compressed rows, and how many events repeat a pair; they are merged unless ``keep_equal``."""
        pairs, self._pairs = self._pairs, np.empty(0, np.uint64)
        pairs.resize(self._used, refcheck=False)
        indptr = np.empty(n_users + 1, np.int64)
        distinct = _core.sort_pairs(pairs, user_rank, item_rank, keep_equal, indptr, threads)
        pairs.resize((int(indptr[-1]) + 1) // 2, refcheck=False)
        indices = pairs.view(np.int32)[: indptr[-1]]
        return Rows(indptr, indices, None, None), self._used - distinct


class _Side:
    """The ids of users, or of items, while they are collected."""

    def __init__(self, name: str, from_text: bool) -> None:
        self._name = name
        self._from_text = from_text
        self._limit = vocabulary.MAX_IDS
        self.index: _core.TextIndex | _core.NumberIndex = _core.NumberIndex(self._limit)

    def load(self, ids: pl.Series) -> None:
        if ids.dtype == pl.String:
            if isinstance(self.index, _core.NumberIndex):
                self.index = self._as_text(self.index)
            self.index.load(ids)
        elif isinstance(self.index, _core.TextIndex):
            self.index.load(ids.cast(pl.String))
        else:
            self.index.load(ids.to_numpy())

    def too_many(self, source: str) -> DataError:
        return DataError(f"{source}: more than {self._limit:,} different {self._name} (codes have 31 bits).")

    def finish(self) -> tuple[Vocabulary, NDArray[np.int32] | None]:
        """The sorted vocabulary, and the sorted code of every code so far (None: they are sorted already)."""
        ids = self._ids()
        if ids.is_sorted():
            return Vocabulary.trusted(ids), None
        order = ids.arg_sort().to_numpy()
        rank = np.empty(len(ids), np.int32)
        rank[order] = np.arange(len(ids), dtype=np.int32)
        return Vocabulary.trusted(ids.gather(pl.Series(order)).rechunk()), rank

    def _ids(self) -> pl.Series:
        if isinstance(self.index, _core.TextIndex):
            return pl.Series(self.index.release())
        numbers = np.empty(len(self.index), np.int64)
        self.index.copy_to(numbers)
        return pl.Series(READ_FROM_TEXT if self._from_text else "id", numbers)

    def _as_text(self, numbers: _core.NumberIndex) -> _core.TextIndex:
        """For text that looked like integers so far: the same ids spelt out, under the same codes."""
        texts = _core.TextIndex(self._limit)
        if len(numbers):
            known = np.empty(len(numbers), np.int64)
            numbers.copy_to(known)
            texts.load(pl.Series(known).cast(pl.String))
            nothing = _core.NumberIndex(0)
            _core.encode_batches(texts, np.empty(len(known), np.int32), nothing, np.empty(0, np.int32))
        return texts


class Assembly:
    """The finished arrays with their vocabularies, and how many events were merged away."""

    def __init__(self, users: Vocabulary, items: Vocabulary, rows: Rows, merged: int) -> None:
        self.users = users
        self.items = items
        self.rows = rows
        self.merged = merged


class Assembler:
    """Collects clean batches; ``finish`` gives the compressed rows."""

    def __init__(
        self,
        source: str,
        threads: int,
        rows: int | None = None,
        pairs_only: bool = False,
        from_text: bool = False,
    ) -> None:
        """``rows`` is how many there are at most, where known; ``pairs_only``: no ratings, no times.

        ``from_text``: every id was text in its source, even where it is an integer here.
        """
        self._source = source
        self._threads = threads
        self._rows = rows
        self._pairs = _Pairs(rows) if pairs_only and rows is not None else None
        self._sides = _Side("users", from_text), _Side("items", from_text)
        self._codes = _Store(np.int32, rows), _Store(np.int32, rows)
        self._values: _Store | None = None
        self._times: _Store | None = None
        self.events = 0

    def add(self, frame: pl.DataFrame) -> None:
        """One batch: user, item and optionally rating and time, free of nulls."""
        if frame.height == 0:
            return
        if self.events + frame.height > MAX_ROWS:
            raise DataError(f"{self._source} has more than {MAX_ROWS:,} rows; read it in parts.")
        users, items = self._sides
        users.load(frame["user"])
        items.load(frame["item"])
        codes = np.empty(frame.height, np.int32), np.empty(frame.height, np.int32)
        try:
            _core.encode_batches(users.index, codes[0], items.index, codes[1], self._threads)
        except OverflowError as error:
            side = users if len(users.index) >= vocabulary.MAX_IDS else items
            raise side.too_many(self._source) from error
        if self._pairs is not None:
            self._pairs.extend(*codes)
        else:
            self._codes[0].extend(codes[0])
            self._codes[1].extend(codes[1])
        if "rating" in frame:
            self._values = self._values or _Store(np.float32, self._rows)
            self._values.extend(frame["rating"].to_numpy())
        if "time" in frame:
            self._times = self._times or _Store(np.int64, self._rows)
            self._times.extend(frame["time"].to_numpy())
        self.events += frame.height

    def finish(self, duplicates: str) -> Assembly:
        """Sort, merge duplicates by the policy, and hand everything over."""
        users, user_rank = self._sides[0].finish()
        items, item_rank = self._sides[1].finish()
        if self._pairs is not None:
            keep_equal = duplicates == "error"
            rows, merged = self._pairs.rows(user_rank, item_rank, len(users), keep_equal, self._threads)
            return Assembly(users, items, rows, merged)
        rows, merged = self._sorted_rows(user_rank, item_rank, len(users), duplicates)
        return Assembly(users, items, rows, merged)

    def _sorted_rows(
        self,
        user_rank: NDArray[np.int32] | None,
        item_rank: NDArray[np.int32] | None,
        n_users: int,
        duplicates: str,
    ) -> tuple[Rows, int]:
        segments = self._codes[0].segments()
        counts = np.zeros(n_users, np.int64)
        for segment in segments:
            _core.count_codes(segment, user_rank, counts)
        indptr = offsets_of(counts)
        following = indptr[:-1].copy()
        for segment in segments:
            _core.positions(segment, user_rank, following)
        positions = [segment.view(np.uint32) for segment in segments]
        # Largest column first: the peak is reached while the others still wait.
        times = self._moved(self._times, positions, np.int64)
        values = self._moved(self._values, positions, np.float32)
        indices = self._moved_codes(positions, item_rank)
        segments.clear()
        positions.clear()
        return merge_rows(Rows(indptr, indices, values, times), duplicates, self._threads)

    def _moved(self, store: _Store | None, positions: list[NDArray[np.uint32]], dtype: type[Any]) -> Any:
        if store is None:
            return None
        out = np.empty(self.events, dtype)
        scatter = _core.scatter_times if dtype is np.int64 else _core.scatter_values
        for target, segment in _consumed(positions, store.segments()):
            scatter(segment, target, out, self._threads)
        return out

    def _moved_codes(
        self, positions: list[NDArray[np.uint32]], rank: NDArray[np.int32] | None
    ) -> NDArray[np.int32]:
        out = np.empty(self.events, np.int32)
        for target, segment in _consumed(positions, self._codes[1].segments()):
            _core.scatter_codes(segment, target, rank, out, self._threads)
        return out


def _consumed(positions: list[NDArray[np.uint32]], segments: list[NDArray[Any]]) -> Any:
    """Pairs of positions and values; a segment of values is let go when the next one is asked for."""
    for target in positions:
        yield target, segments.pop(0)
