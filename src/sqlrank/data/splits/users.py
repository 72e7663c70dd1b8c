"""Splits by user (strong generalisation), and validation carved like the test."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlrank.data.interactions import Interactions
from sqlrank.data.splits.checks import check_fresh, check_share, warn_of_leakage
from sqlrank.data.splits.events import Order, Parts, choose_order, rank_within_users
from sqlrank.data.splits.keys import event_keys, share_below, user_keys

__all__ = ["UserHoldout", "user_holdout", "with_validation"]


@dataclass(frozen=True)
class UserHoldout:
    """Users a model has never trained on, for the test of strong generalisation.

    train       all events of the other users
    fold_in     the part of the held-out users' events that a model may see when it recommends
    target      the rest of their events: what it should find
    held_out    codes of the held-out users

    All three parts share the vocabularies of the input; a held-out user has no event in `train`.
    """

    train: Interactions
    fold_in: Interactions
    target: Interactions

    @property
    def held_out(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Codes of the held-out users, ascending."""
        return np.flatnonzero(np.diff(self.fold_in.indptr)).astype(np.int32)


def user_holdout(
    data: Interactions, test: float = 0.1, *, target: float = 0.2, order: Order = "auto", seed: int = 0
) -> UserHoldout:
    """Hold out whole users, each with probability `test`, and split their events into fold-in and target.

    target  share of a held-out user's events to be found: rounded, at least one, never all
    order   which events are the target: "time" the last ones, "random" any, "auto" the last if there is time

    Users with a single event cannot be both folded in and tested: they always train.
    """
    share, target_share = check_share(test, "test"), check_share(target, "target")
    by_time = choose_order(data, order, "user_holdout") == "time"
    if not by_time:
        warn_of_leakage(data, "user_holdout")
    counts = np.diff(data.indptr)
    eligible = counts >= 2
    chosen = share_below(user_keys(data.users, seed), share) & eligible
    check_fresh(np.array([chosen.sum(), (eligible & ~chosen).sum()]), share, seed, "user_holdout")
    n_target = np.clip(np.rint(target_share * counts).astype(np.int64), 1, np.maximum(counts - 1, 1))
    places = rank_within_users(data, event_keys(data, seed), data.timestamps if by_time else None)
    held_out = np.repeat(chosen, counts)
    is_target = held_out & (places >= np.repeat(counts - n_target, counts))
    return UserHoldout(data.take(~held_out), data.take(held_out & ~is_target), data.take(is_target))


def with_validation(
    split: Callable[..., Parts], data: Interactions, *, seed: int = 0, **options: Any
) -> tuple[Interactions, Interactions, Interactions]:
    """Split twice in the same way: (train, validation, test), validation carved from the training half.

    `options` go to `split` both times. Where `split` takes a seed, the second cut uses seed + 1: an event
    keeps its random number for one seed. (`per_user` leaves nothing to carve that way: every user has exactly
    n_train events after it. Use `random` or `last_n` on its training half.)

        train, validation, test = with_validation(split.random, data, test=0.1, seed=0)
        train, validation, test = with_validation(split.by_time, data, test=0.1)
    """
    seeded = "seed" in inspect.signature(split).parameters
    rest, test = split(data, **options, **({"seed": seed} if seeded else {}))
    train, validation = split(rest, **options, **({"seed": seed + 1} if seeded else {}))
    return train, validation, test
