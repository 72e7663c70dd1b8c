"""Coat and Yahoo! R3: train on what people chose to rate, test on items drawn at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import numbers, read_bytes, read_matrix, read_text_table
from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import DataError

__all__ = ["SPECS"]

_FEATURES = "user_item_features"
_YAHOO = {
    "train": "ydata-ymusic-rating-study-v1_0-train.txt",
    "test": "ydata-ymusic-rating-study-v1_0-test.txt",
}


def _load_coat(folder: Path) -> Loaded:
    """Users and items are the rows and columns of the matrices, counted from 0; 0 means not rated."""
    matrices = {part: read_matrix(folder / f"{part}.ascii") for part in ("train", "test")}
    if matrices["train"].shape != matrices["test"].shape:
        shapes = " and ".join(f"{rows} × {columns}" for rows, columns in (m.shape for m in matrices.values()))
        raise DataError(f"{folder}: train.ascii and test.ascii must be of one shape, not {shapes}.")
    parts = {part: _nonzero(matrix, folder / f"{part}.ascii") for part, matrix in matrices.items()}
    n_users, n_items = matrices["train"].shape
    return Loaded(
        parts,
        items=_attributes(folder / _FEATURES, "item", n_items),
        users=_attributes(folder / _FEATURES, "user", n_users),
        user_ids=Vocabulary.range(n_users),
        item_ids=Vocabulary.range(n_items),
    )


def _nonzero(matrix: pl.DataFrame, path: Path) -> Interactions:
    cells = matrix.to_numpy()
    users, items = np.nonzero(cells)
    frame = pl.DataFrame({"user": users, "item": items, "rating": cells[users, items].astype(np.float32)})
    return to_interactions(frame, path)


def _attributes(folder: Path, side: str, n: int) -> pl.DataFrame | None:
    """One column per attribute (gender, color, ...) from a 0/1 matrix with columns named in a map file."""
    matrix_path, names_path = folder / f"{side}_features.ascii", folder / f"{side}_features_map.txt"
    if not (matrix_path.is_file() and names_path.is_file()):
        return None
    matrix = read_matrix(matrix_path, what="features").to_numpy()
    names = [line.strip() for line in read_bytes(names_path).decode("utf-8").splitlines() if line.strip()]
    if matrix.shape != (n, len(names)):
        raise DataError(f"{matrix_path}: expected {n} rows of {len(names)} features, found {matrix.shape}.")
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        groups.setdefault(name.partition(":")[0], []).append(column)
    table = {side: pl.Series(np.arange(n))}
    for group, columns in groups.items():
        values = pl.Series([names[column].partition(":")[2] for column in columns])
        chosen = matrix[:, columns]
        known = pl.Series(chosen.any(axis=1))
        table[group] = pl.select(pl.when(known).then(values.gather(chosen.argmax(axis=1)))).to_series()
    return pl.DataFrame(table)


def _load_yahoo(folder: Path) -> Loaded:
    parts = {}
    for part, file in _YAHOO.items():
        path = folder / file
        frame = read_text_table(path, "\t", ["user", "item", "rating"])
        ratings = numbers(frame, {"user": pl.Int64, "item": pl.Int64, "rating": pl.Float32}, path)
        parts[part] = to_interactions(ratings, path)
    return Loaded(parts)


SPECS = (
    Spec(
        name="coat",
        title="Coat shopping: self-selected ratings to train on, ratings of random coats to test on",
        folders=("coat",),
        layouts=(Layout("its authors' matrices", ("train.ascii", "test.ascii"), _load_coat),),
        source=Source(
            "https://www.cs.cornell.edu/~schnabts/mnar/",
            (Download(("https://www.cs.cornell.edu/~schnabts/mnar/coat.zip",), "coat.zip"),),
        ),
        citation="T. Schnabel et al. (2016), Recommendations as Treatments, ICML.",
        counts=Counts(290, 300, 6_960, test=4_640),
    ),
    Spec(
        name="yahoo-r3",
        title="Yahoo! R3 music: self-selected ratings to train on, ratings of random songs to test on",
        folders=("yahoo-r3", "yahooR3", "YahooR3"),
        layouts=(Layout("Yahoo! Webscope", tuple(_YAHOO.values()), _load_yahoo),),
        source=Source("https://webscope.sandbox.yahoo.com/catalog.php?datatype=r"),
        citation="B. Marlin and R. Zemel (2009), Ranking with Non-Random Missing Data, RecSys.",
        counts=Counts(15_400, 1_000, 311_704, test=54_000),
    ),
)
