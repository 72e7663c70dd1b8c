"""NumPy twins of the kernels in cpp/src/interactions.cpp and of the dictionaries in dictionary.hpp."""

from __future__ import annotations

import numpy as np


def encode(values: list) -> np.ndarray:
    """Codes in the order of first appearance."""
    codes: dict = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values], np.int32)


def positions(codes: np.ndarray, rank: np.ndarray | None) -> np.ndarray:
    """Where every event goes in a stable sort by (ranked) code."""
    ranked = codes if rank is None else rank[codes]
    place = np.empty(len(codes), np.uint32)
    place[np.argsort(ranked, kind="stable")] = np.arange(len(codes))
    return place


def merge(users, items, values, times, n_users: int, policy: str):
    """Sorted rows (indptr, items, values, times) of one event per pair, and how many events went away."""
    order = np.lexsort((np.arange(len(users)), items, users))
    groups: dict[tuple[int, int], list[int]] = {}
    for event in order:
        groups.setdefault((int(users[event]), int(items[event])), []).append(int(event))
    rows = []
    for (user, item), events in groups.items():
        by_time = sorted(events, key=lambda e: 0 if times is None else times[e])  # stable: ties in row order
        chosen = by_time[0] if policy == "first" else by_time[-1]
        value = None
        if values is not None:
            mine = [float(values[e]) for e in events]
            value = {"max": max(mine), "sum": sum(mine), "mean": sum(mine) / len(mine)}.get(
                policy, values[chosen]
            )
        rows.append((user, item, value, None if times is None else times[chosen]))
    counts = np.bincount([row[0] for row in rows], minlength=n_users)
    return (
        np.concatenate([[0], np.cumsum(counts)]),
        np.array([row[1] for row in rows], np.int32),
        None if values is None else np.array([row[2] for row in rows], np.float32),
        None if times is None else np.array([row[3] for row in rows], np.int64),
        len(users) - len(rows),
    )


def transpose(indptr: np.ndarray, items: np.ndarray, n_items: int):
    """Offsets, users and positions of the same events by item."""
    order = np.argsort(items, kind="stable")
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.concatenate([[0], np.cumsum(np.bincount(items, minlength=n_items))]), users[order], order
