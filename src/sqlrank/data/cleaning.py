"""What was dropped or merged on the way from a table to ``Interactions``, and the k-core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["CleaningReport", "Core", "find_core"]


@dataclass(frozen=True)
class Step:
    """One reason for which rows left the data, and how many they were."""

    reason: str
    rows: int


@dataclass(frozen=True)
class CleaningReport:
    """Everything that happened to the rows; ``print(data.report)`` shows it."""

    source: str = ""
    """The file, folder or kind of table that was read."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Which column served as user, item, rating and time."""
    guessed: tuple[str, ...] = ()
    """The roles whose column was guessed from its name."""
    rows: int = 0
    """Rows read."""
    steps: tuple[Step, ...] = ()
    """Rows dropped or merged, in the order in which it happened."""
    notes: tuple[str, ...] = ()
    """Anything else worth knowing, such as how many dropped rows were negative."""
    events: int = 0
    """Distinct (user, item) pairs that remain."""

    def with_step(self, reason: str, rows: int, events: int) -> CleaningReport:
        """This report with one more step; steps that touched no row are left out."""
        steps = (*self.steps, Step(reason, rows)) if rows else self.steps
        return replace(self, steps=steps, events=events)

    def dropped(self, word: str = "") -> int:
        """How many rows were dropped or merged by the steps whose reason contains ``word``."""
        return sum(step.rows for step in self.steps if word in step.reason)

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows read from {self.source}" if self.source else f"{self.rows:,} rows read"]
        lines += [self.column_line()] if self.columns else []
        lines += [f"  - {step.rows:,} {step.reason}" for step in self.steps]
        lines += [f"    {note}" for note in self.notes]
        lines += [f"  = {self.events:,} events"]
        return "\n".join(lines)

    def column_line(self) -> str:
        """One line that says which columns are used, and which of them were guessed."""
        parts = [
            f"{role} = {name!r}" + (" (guessed)" if role in self.guessed else "")
            for role, name in self.columns.items()
        ]
        return "  columns: " + ", ".join(parts)


@dataclass(frozen=True)
class Core:
    """The events that survive, and after how many rounds nothing changed any more."""

    keep: NDArray[np.bool_]
    rounds: int


def find_core(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    *,
    n_users: int,
    n_items: int,
    min_user_events: int,
    min_item_events: int,
) -> Core:
    """The largest set of events in which every user and every item has enough of them.

    Dropping a rare item may leave a user with too few events, and so on: repeat until nothing changes.
    The result does not depend on the order, because a union of two such sets is one, too.
    """
    alive = np.arange(len(users))
    rounds = 0
    while True:
        user_ok = np.bincount(users[alive], minlength=n_users) >= min_user_events
        item_ok = np.bincount(items[alive], minlength=n_items) >= min_item_events
        stays = user_ok[users[alive]] & item_ok[items[alive]]
        if stays.all():
            break
        alive = alive[stays]
        rounds += 1
    keep = np.zeros(len(users), np.bool_)
    keep[alive] = True
    return Core(keep, rounds)
