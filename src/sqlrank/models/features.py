"""Known features of items or users, from a table or a matrix to one float32 row per code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data import Vocabulary
from sqlrank.errors import DataError

__all__ = ["Features", "read_features"]


@dataclass(frozen=True)
class Features:
    """A name per column and a row per code."""

    names: list[str]
    values: NDArray[np.float32]


def read_features(source: Any, ids: Vocabulary, side: str) -> Features:
    """Read the features of all `ids`; `side` is "item" or "user".

    A table has the ids in the column called like the side (or in its first column), in any order, and may know more
    ids than are asked for. Numbers and truth values are taken as they are; words become a column of 0 and 1 each,
    and a missing word is 0 in all of them. A NumPy array or SciPy sparse matrix has one row per id in the order of
    the vocabulary.

    >>> table = pl.DataFrame({"item": [7, 3], "price": [0.5, 2.0], "color": ["red", "blue"]})
    >>> features = read_features(table, Vocabulary.from_values([3, 7]), "item")
    >>> features.names, features.values.tolist()
    (['price', 'color=blue', 'color=red'], [[2.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    """
    if hasattr(source, "toarray"):
        return _from_matrix(source.toarray(), ids, side)
    if isinstance(source, np.ndarray):
        return _from_matrix(source, ids, side)
    table = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    key = side if side in table.columns else table.columns[0]
    names, columns = [], []
    for column in table.drop(key).get_columns():
        for name, values in _columns(column, side):
            names.append(name)
            columns.append(values)
    stacked = np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), np.float32)
    return Features(names, _aligned(stacked, table[key], ids, side))


def _from_matrix(matrix: NDArray[Any], ids: Vocabulary, side: str) -> Features:
    values = np.asarray(matrix, np.float32)
    if values.ndim != 2 or len(values) != len(ids):
        raise DataError(
            f"{side} features have shape {values.shape}; a matrix has one row for each of the {len(ids)} {side}s, "
            "in the order of the data's vocabulary"
        )
    _require_finite(values, f"the {side} features")
    return Features([f"{side} feature {column}" for column in range(values.shape[1])], values)


def _columns(column: pl.Series, side: str) -> list[tuple[str, NDArray[np.float32]]]:
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values = column.cast(pl.Float32).fill_null(0).to_numpy()
        _require_finite(values, f"column '{column.name}' of the {side} features")
        return [(column.name, values)]
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        words = column.cast(pl.String)
        return [
            (f"{column.name}={word}", (words == word).fill_null(False).cast(pl.Float32).to_numpy())
            for word in words.drop_nulls().unique().sort()
        ]
    raise DataError(
        f"column '{column.name}' of the {side} features is {column.dtype}; features are numbers, words or truth values"
    )


def _require_finite(values: NDArray[np.float32], what: str) -> None:
    if not np.isfinite(values).all():
        raise DataError(f"{what} have values that are not finite numbers; fill them before")


def _aligned(values: NDArray[np.float32], keys: pl.Series, ids: Vocabulary, side: str) -> NDArray[np.float32]:
    if keys.n_unique() != len(keys):
        twice = keys.filter(keys.is_duplicated())[0]
        raise DataError(
            f"the {side} features have more than one row for {twice!r}; give every {side} one row"
        )
    codes, known = ids.lookup(keys)
    out = np.zeros((len(ids), values.shape[1]), np.float32)
    out[codes[known]] = values[known]
    have = np.zeros(len(ids), np.bool_)
    have[codes[known]] = True
    if not have.all():
        missing = ids.decode(np.flatnonzero(~have).astype(np.int32)).head(3).to_list()
        raise DataError(f"{(~have).sum()} {side}s have no row in the {side} features, for example {missing}")
    return out
