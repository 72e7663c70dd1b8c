"""Assertions the contract is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from sqlrank.models import Recommender

__all__ = ["assert_same_model", "assert_well_formed", "by_user", "raises"]


@contextmanager
def raises(*errors: type[BaseException]) -> Iterator[None]:
    """Fail unless the block raises one of these errors."""
    try:
        yield
    except errors as error:
        assert str(error), f"{type(error).__name__} says nothing"
        return
    raise AssertionError(f"did not raise {' or '.join(error.__name__ for error in errors)}")


def by_user(table: pl.DataFrame) -> dict[object, list[object]]:
    """The recommended items of every user, in the table's order."""
    lists: dict[object, list[object]] = {}
    for user, item in table.select("user", "item").iter_rows():
        lists.setdefault(user, []).append(item)
    return lists


def assert_well_formed(model: Recommender, table: pl.DataFrame) -> None:
    """Columns, ranks from 1, scores falling, equal scores by code, nothing twice."""
    assert table.columns == ["user", "item", "score", "rank"]
    assert table.schema["score"] == pl.Float32
    assert table.schema["user"] == model.users.ids.dtype
    assert table.schema["item"] == model.items.ids.dtype
    assert not table.select("user", "item").is_duplicated().any(), "an item is listed twice for a user"
    users, scores, ranks = table["user"], table["score"].to_numpy(), table["rank"].to_numpy()
    new = (users != users.shift(1)).fill_null(True).to_numpy()
    assert (ranks[new] == 1).all()
    inner = np.flatnonzero(~new)
    assert (ranks[inner] == ranks[inner - 1] + 1).all()
    assert (scores[inner] <= scores[inner - 1]).all(), "scores rise within a list"
    assert np.isfinite(scores).all()


def assert_same_model(first: Recommender, second: Recommender) -> None:
    """Equal ids, equal bits in every learnt array, equal lists."""
    assert type(first) is type(second)
    assert first.settings == second.settings
    assert first.users == second.users
    assert first.items == second.items
    states = first._state(), second._state()
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        other = states[1][name]
        assert array.dtype == other.dtype, name
        assert array.shape == other.shape, name
        assert array.tobytes() == other.tobytes(), f"{name} differs"
    for mine, theirs in zip(first.seen, second.seen, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert first.recommend(n=7).equals(second.recommend(n=7))
