"""The SQL-Rank authors' own one-class split of MovieLens-1M: every rating counts, 50 per user to train."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.movielens import ml_1m_movies, ml_1m_ratings, ml_1m_users
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import numbers, read_parquet, read_text_table
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import DataError

__all__ = ["SPECS"]

_REPOSITORY = "https://raw.githubusercontent.com/wuliwei9278/SQL-Rank/master"
_CSV = {"train": "ml1m_oc_50_train_ratings.csv", "test": "ml1m_oc_50_test_ratings.csv"}
_MIN_RATING, _MIN_EVENTS = 4, 60
# The split has every user with 60 ratings or more on the kept items, but for this one (63 ratings).
_LEFT_OUT = 3598


def _load_csv(folder: Path) -> Loaded:
    parts = {}
    for part, file in _CSV.items():
        frame = read_text_table(folder / file, ",", ["user", "item", "rating"], key="user")
        parts[part] = numbers(frame, {"user": pl.Int64, "item": pl.Int64}, folder / file).select(
            "user", "item"
        )
    return _loaded(folder, parts)


def _load_parquet(folder: Path) -> Loaded:
    return _loaded(
        folder, {part: read_parquet(folder / f"{part}.parquet", ["user", "item"]) for part in _CSV}
    )


def _loaded(folder: Path, frames: dict[str, pl.DataFrame]) -> Loaded:
    parts = {part: to_interactions(frame, folder) for part, frame in frames.items()}
    pairs = pl.concat([frame.select(pl.col("user", "item").cast(pl.Int64)) for frame in frames.values()])
    movies, people = _tables(folder.parent / "ml-1m", pairs)
    return Loaded(parts, movies, people, _numbers_up_to(pairs["user"]), _numbers_up_to(pairs["item"]))


def _numbers_up_to(ids: pl.Series) -> Vocabulary:
    """1 ... the largest id: a dozen items have no event, and yet the authors recommend among them."""
    lowest, highest = ids.min(), ids.max()
    if not (isinstance(lowest, int) and isinstance(highest, int) and lowest >= 1):
        raise DataError(f"The ids of this data set count from 1, but {lowest!r} is one of them.")
    return Vocabulary(pl.Series(np.arange(1, highest + 1)))


def _tables(folder: Path, pairs: pl.DataFrame) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """Titles and user attributes, where MovieLens-1M itself lies beside this data set.

    The authors renumbered the movies with a rating of 4 or more, and then the users with at least 60 ratings
    on those, each in the order of the original ids. The tables are attached only if that gives exactly these
    events.
    """
    if not any((folder / name).is_file() for name in ("ratings.dat", "ratings.parquet")):
        return None, None
    ratings = ml_1m_ratings(folder).select(pl.col("user", "item").cast(pl.Int64), "rating")
    movies = _numbered(ratings.filter(pl.col("rating") >= _MIN_RATING)["item"], "item")
    kept = ratings.join(movies, left_on="item", right_on="original")
    active = (
        kept.group_by("user").len().filter((pl.col("len") >= _MIN_EVENTS) & (pl.col("user") != _LEFT_OUT))
    )
    users = _numbered(active["user"], "user")
    derived = kept.join(users, left_on="user", right_on="original").select(
        user="user_right", item="item_right"
    )
    if not derived.sort("user", "item").equals(pairs.sort("user", "item")):
        return None, None
    return (
        _renumbered(ml_1m_movies(folder), movies, "item", "movielens_item"),
        _renumbered(ml_1m_users(folder), users, "user", "movielens_user"),
    )


def _numbered(ids: pl.Series, name: str) -> pl.DataFrame:
    original = ids.unique().sort()
    return pl.DataFrame({"original": original, name: np.arange(1, len(original) + 1)})


def _renumbered(
    table: pl.DataFrame | None, numbered: pl.DataFrame, key: str, old: str
) -> pl.DataFrame | None:
    if table is None:
        return None
    joined = numbered.join(table.rename({key: "original"}), on="original", how="left", maintain_order="left")
    return joined.select(key, pl.col("original").alias(old), pl.exclude(key, "original"))


SPECS = (
    Spec(
        name="ml-1m-oc50",
        title="MovieLens-1M one-class, the SQL-Rank authors' split: every rating counts",
        folders=("ml-1m-oc50",),
        layouts=(
            Layout("the authors' CSV", tuple(_CSV.values()), _load_csv),
            Layout("parquet", ("train.parquet", "test.parquet"), _load_parquet),
        ),
        source=Source(
            "https://github.com/wuliwei9278/SQL-Rank",
            tuple(Download((f"{_REPOSITORY}/{file}",), file) for file in _CSV.values()),
        ),
        citation=(
            "L. Wu, C.-J. Hsieh and J. Sharpnack (2018), SQL-Rank, ICML; "
            "F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets, ACM TiiS 5(4)."
        ),
        counts=Counts(3_937, 3_533, 196_850, test=726_623),
    ),
)
