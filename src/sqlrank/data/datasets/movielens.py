"""MovieLens-1M and MovieLens-100K, as GroupLens publishes them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import numbers, read_parquet, read_text_table

__all__ = ["SPECS", "ml_1m_movies", "ml_1m_ratings", "ml_1m_users"]

_CITATION = (
    "F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets: History and Context, ACM TiiS 5(4)."
)
_FILES = "https://files.grouplens.org/datasets/movielens"

_GENRE_FLAGS = (
    "unknown|Action|Adventure|Animation|Children's|Comedy|Crime|Documentary|Drama|Fantasy|Film-Noir|"
    "Horror|Musical|Mystery|Romance|Sci-Fi|Thriller|War|Western"
)
_GENRES_100K = tuple(_GENRE_FLAGS.split("|"))


def ml_1m_ratings(folder: Path) -> pl.DataFrame:
    """The ratings: user, item, rating and, from the owner's file, timestamp (Unix seconds)."""
    path = folder / "ratings.dat"
    if not path.is_file():
        return read_parquet(folder / "ratings.parquet", ["user", "item", "rating"])
    frame = read_text_table(path, "::", ["user", "item", "rating", "timestamp"])
    types = {"user": pl.Int64, "item": pl.Int64, "rating": pl.Float32, "timestamp": pl.Int64}
    return numbers(frame, types, path)


def ml_1m_movies(folder: Path) -> pl.DataFrame | None:
    """Item, title and genres; also of movies that nobody rated."""
    path = folder / "movies.dat"
    if not path.is_file():
        return None
    frame = read_text_table(path, "::", ["item", "title", "genres"], encoding="latin-1")
    return numbers(frame, {"item": pl.Int64}, path).with_columns(pl.col("genres").str.split("|"))


def ml_1m_users(folder: Path) -> pl.DataFrame | None:
    """User, gender, age group, occupation code and zip code."""
    path = folder / "users.dat"
    if not path.is_file():
        return None
    frame = read_text_table(path, "::", ["user", "gender", "age", "occupation", "zip"], encoding="latin-1")
    return numbers(frame, {"user": pl.Int64, "age": pl.Int64, "occupation": pl.Int64}, path)


def _load_1m(folder: Path) -> Loaded:
    ratings = ml_1m_ratings(folder)
    train = to_interactions(
        ratings, folder / "ratings.dat" if "timestamp" in ratings else folder / "ratings.parquet"
    )
    return Loaded({"train": train}, ml_1m_movies(folder), ml_1m_users(folder))


def _load_100k(folder: Path) -> Loaded:
    path = folder / "u.data"
    frame = read_text_table(path, "\t", ["user", "item", "rating", "timestamp"], key="user")
    types = {"user": pl.Int64, "item": pl.Int64, "rating": pl.Float32, "timestamp": pl.Int64}
    ratings = numbers(frame, types, path)
    return Loaded(
        {"train": to_interactions(ratings, path)},
        _items_100k(folder / "u.item"),
        _users_100k(folder / "u.user"),
    )


def _items_100k(path: Path) -> pl.DataFrame | None:
    if not path.is_file():
        return None
    columns = ["item", "title", "released", "video_released", "imdb_url", *_GENRES_100K]
    frame = numbers(
        read_text_table(path, "|", columns, encoding="latin-1", key="item"), {"item": pl.Int64}, path
    )
    flags = pl.concat_list(
        pl.when(pl.col(name).str.strip_chars() == "1").then(pl.lit(name)).otherwise(None)
        for name in _GENRES_100K
    )
    return frame.select(
        "item",
        "title",
        pl.col("released").str.to_date("%d-%b-%Y", strict=False),
        "imdb_url",
        genres=flags.list.drop_nulls(),
    )


def _users_100k(path: Path) -> pl.DataFrame | None:
    if not path.is_file():
        return None
    frame = read_text_table(
        path, "|", ["user", "age", "gender", "occupation", "zip"], encoding="latin-1", key="user"
    )
    return numbers(frame, {"user": pl.Int64, "age": pl.Int64}, path)


SPECS = (
    Spec(
        name="ml-1m",
        title="MovieLens-1M: one million ratings, 1 to 5",
        folders=("ml-1m",),
        layouts=(
            Layout("GroupLens", ("ratings.dat",), _load_1m),
            Layout("parquet without timestamps", ("ratings.parquet",), _load_1m),
        ),
        source=Source(
            "https://grouplens.org/datasets/movielens/1m/",
            (
                Download(
                    (f"{_FILES}/ml-1m.zip",),
                    "ml-1m.zip",
                    size=5_917_549,
                    md5="c4d9eecfca2ab87c1945afe126590906",
                    sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
                ),
            ),
        ),
        citation=_CITATION,
        counts=Counts(6_040, 3_706, 1_000_209),
    ),
    Spec(
        name="ml-100k",
        title="MovieLens-100K: a hundred thousand ratings, 1 to 5, with times",
        folders=("ml-100k",),
        layouts=(Layout("GroupLens", ("u.data",), _load_100k),),
        source=Source(
            "https://grouplens.org/datasets/movielens/100k/",
            (
                Download(
                    (f"{_FILES}/ml-100k.zip",),
                    "ml-100k.zip",
                    size=4_924_029,
                    md5="0e33842e24a9c977be4e0107933c0723",
                    sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
                ),
            ),
        ),
        citation=_CITATION,
        counts=Counts(943, 1_682, 100_000),
    ),
)
