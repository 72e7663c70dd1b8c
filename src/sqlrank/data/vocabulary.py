"""The ids of one side, users or items, and the integer codes that stand for them inside."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data.ids import READ_FROM_TEXT, as_ids, close_matches, integers_of
from sqlrank.errors import DataError

__all__ = ["MAX_IDS", "Vocabulary"]

MAX_IDS = 2**31 - 1
"""Codes are int32: the largest number of users, or of items."""

_SUGGESTION_POOL = 100_000  # difflib is linear and slow: look for near misses among this many ids at most


class Vocabulary:
    """The ids of one side and their int32 codes: the code of an id is its position.

    >>> vocabulary = Vocabulary.from_values(["ann", "bob", "ann"])
    >>> vocabulary.encode(["bob", "ann"])
    array([1, 0], dtype=int32)
    >>> vocabulary.decode([1]).to_list()
    ['bob']

    Ids are 64-bit integers or strings; narrower integers are widened, categories become strings. Integers that
    were read from text are remembered as such: where they meet strings they are spelt out again. Integers that
    were integers in their source never equal a string.
    """

    def __init__(self, ids: pl.Series) -> None:
        ids = as_ids(ids)
        if ids.null_count():
            raise DataError(
                f"A vocabulary cannot hold a null id (position {int(ids.is_null().arg_max() or 0)})."
            )
        if ids.n_unique() != len(ids):
            twice = ids.filter(ids.is_duplicated())[0]
            raise DataError(f"A vocabulary holds every id once, but {twice!r} appears more than once.")
        self._ids = _named(_checked_size(ids))

    @classmethod
    def from_values(cls, values: Any) -> Vocabulary:
        """The distinct ids, sorted ascending (strings by their UTF-8 bytes)."""
        ids = as_ids(values)
        if ids.null_count():
            raise DataError(f"Row {int(ids.is_null().arg_max() or 0) + 1} has a null id.")
        return cls.trusted(ids.unique().sort())

    @classmethod
    def range(cls, n: int) -> Vocabulary:
        """The ids 0 … n-1, each its own code."""
        if n > MAX_IDS:
            raise DataError(f"{n} ids are more than codes of 31 bits can tell apart ({MAX_IDS}).")
        return cls.trusted(pl.Series(np.arange(n, dtype=np.int64)))

    @classmethod
    def trusted(cls, ids: pl.Series) -> Vocabulary:
        """From Int64 or String ids that the caller knows to be unique and free of nulls (not checked)."""
        new = cls.__new__(cls)
        new._ids = _named(_checked_size(ids))
        return new

    @property
    def ids(self) -> pl.Series:
        """The ids in the order of their codes: Int64 or String."""
        return self._ids

    @property
    def read_from_text(self) -> bool:
        """Whether these ids are integers that a text file spelt out."""
        return _spelt(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._ids.dtype == other._ids.dtype and self._ids.equals(other._ids)

    def __repr__(self) -> str:
        head = ", ".join(repr(value) for value in self._ids.head(3).to_list())
        return f"Vocabulary({len(self):,} ids: {head}{', …' if len(self) > 3 else ''})"

    def encode(self, values: Any) -> NDArray[np.int32]:
        """The codes of these ids; an id that is not in the vocabulary raises :class:`DataError`."""
        ids = self._as_here(as_ids(values))
        codes, known = self._lookup(ids)
        if not known.all():
            raise DataError(self._unknown_message(ids.filter(pl.Series(~known))))
        return codes

    def lookup(self, values: Any) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The codes of these ids (0 where unknown) and a mask of the known ones."""
        return self._lookup(as_ids(values))

    def decode(self, codes: Any) -> pl.Series:
        """The ids that these codes stand for."""
        positions = np.asarray(codes)
        if positions.size == 0:
            return self._ids.head(0)
        if positions.ndim != 1 or positions.dtype.kind not in "iu":
            raise DataError(
                f"Codes are a one-dimensional array of integers, not {positions.dtype} {positions.shape}."
            )
        if int(positions.min()) < 0 or int(positions.max()) >= len(self):
            raise DataError(
                f"Codes run from 0 to {len(self) - 1}; got {positions.min()} … {positions.max()}."
            )
        return self._ids.gather(pl.Series(np.ascontiguousarray(positions)))

    def extended(self, values: Any) -> Vocabulary:
        """A vocabulary in which these ids keep their codes and the unseen ones follow, sorted.

        >>> Vocabulary.from_values([7]).extended([9, 3, 7]).ids.to_list()
        [7, 3, 9]

        Integers read from text become strings when an unseen id is one.
        """
        ids = self._as_here(as_ids(values))
        if len(self) == 0:
            return Vocabulary.from_values(ids)
        _, known = self._lookup(ids)
        new = ids.filter(pl.Series(~known))
        if len(new) == 0:
            return self
        old = self._ids.cast(pl.String) if self.read_from_text and new.dtype == pl.String else self._ids
        if new.dtype != old.dtype:
            raise DataError(self._unknown_message(new))
        name = READ_FROM_TEXT if _spelt(old) and _spelt(new) else "id"
        return Vocabulary.trusted(pl.concat([old, Vocabulary.from_values(new)._ids]).alias(name))

    def _as_here(self, ids: pl.Series) -> pl.Series:
        """The ids as strings where these are strings and the others only happen to be integers."""
        return ids.cast(pl.String) if self._ids.dtype == pl.String and _spelt(ids) else ids

    def _lookup(self, ids: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        ids = self._as_here(ids)
        if self.read_from_text and ids.dtype == pl.String:
            ids = integers_of(ids)
        if ids.dtype != self._ids.dtype or len(self) == 0 or len(ids) == 0:
            return np.zeros(len(ids), np.int32), np.zeros(len(ids), np.bool_)
        if self._is_range:
            numbers = ids.fill_null(-1).to_numpy()
            known = (numbers >= 0) & (numbers < len(self))
            return np.where(known, numbers, 0).astype(np.int32), known
        found = (
            ids.alias("id").to_frame().join(self._table, on="id", how="left", maintain_order="left")["code"]
        )
        known = found.is_not_null().to_numpy()
        return found.fill_null(0).to_numpy(), known

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame({"id": self._ids, "code": np.arange(len(self), dtype=np.int32)})

    @cached_property
    def _is_range(self) -> bool:
        if self._ids.dtype != pl.Int64 or self._ids[0] != 0 or self._ids[-1] != len(self) - 1:
            return False
        return bool((self._ids == pl.Series(np.arange(len(self), dtype=np.int64))).all())

    def _unknown_message(self, unknown: pl.Series) -> str:
        if unknown.dtype != self._ids.dtype and len(self) and not self.read_from_text:
            mine, theirs = (
                ("strings", "integers") if self._ids.dtype == pl.String else ("integers", "strings")
            )
            return (
                f"The ids here are {mine}, but {unknown[0]!r} was asked for ({theirs}); convert one of them."
            )
        names = unknown.unique(maintain_order=True)
        shown = ", ".join(self._with_suggestion(name) for name in itertools.islice(names, 3))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"Unknown ids: {shown}{more}. The vocabulary knows {len(self):,} ids."

    def _with_suggestion(self, name: Any) -> str:
        hint = ""
        if isinstance(name, str):
            hint = close_matches(name, self._ids.head(_SUGGESTION_POOL).to_list())
        return f"{name!r}{hint}"


def _spelt(ids: pl.Series) -> bool:
    return ids.dtype == pl.Int64 and ids.name == READ_FROM_TEXT


def _named(ids: pl.Series) -> pl.Series:
    return ids if _spelt(ids) else ids.alias("id")


def _checked_size(ids: pl.Series) -> pl.Series:
    if len(ids) > MAX_IDS:
        raise DataError(f"{len(ids)} distinct ids are more than codes of 31 bits can tell apart ({MAX_IDS}).")
    return ids
