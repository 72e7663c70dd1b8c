"""What :func:`sqlrank.datasets.load` and the generators return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary

__all__ = ["Dataset", "share_vocabularies"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with a name: its parts, and what is known about its items and users.

    All parts share one pair of vocabularies, the union over the parts, so that the codes of one mean the same
    in the others.
    """

    name: str
    train: Interactions
    validation: Interactions | None = None
    test: Interactions | None = None
    items: pl.DataFrame | None = None
    """One row per item, keyed by the column ``item``; may name items that have no events."""
    users: pl.DataFrame | None = None
    """One row per user, keyed by the column ``user``."""
    description: str = ""
    """Where it comes from, what was read, and how to cite it."""

    @property
    def parts(self) -> dict[str, Interactions]:
        """The parts that exist, by name."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: part for name, part in parts.items() if part is not None}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(part):,}" for name, part in self.parts.items())
        tables = [name for name in ("items", "users") if getattr(self, name) is not None]
        known = f"; tables: {', '.join(tables)}" if tables else ""
        n_users, n_items = self.train.shape
        return f"{type(self).__name__}({self.name!r}: {n_users:,} users × {n_items:,} items; {sizes}{known})"


def share_vocabularies(
    parts: Mapping[str, Interactions], users: Vocabulary | None = None, items: Vocabulary | None = None
) -> dict[str, Interactions]:
    """The same parts over these vocabularies; by default the union of their own, ids ascending."""
    users = users or _union([part.users for part in parts.values()])
    items = items or _union([part.items for part in parts.values()])
    return {name: part.with_vocabularies(users, items) for name, part in parts.items()}


def _union(vocabularies: list[Vocabulary]) -> Vocabulary:
    first = vocabularies[0]
    if all(other == first for other in vocabularies[1:]):
        return first
    union = first
    for other in vocabularies[1:]:
        union = union.extended(other.ids)
    return Vocabulary.from_values(union.ids)
