"""Amazon's musical instruments: ratings and 5-core reviews, as the McAuley lab publishes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import numbers, read_bytes, read_parquet, read_text_table
from sqlrank.errors import DataError

__all__ = ["SPECS"]

_COLUMNS = ("user", "item", "rating", "timestamp")
_TYPES = {"rating": pl.Float32, "timestamp": pl.Int64}
_KEYS = {"user": "reviewerID", "item": "asin", "rating": "overall", "timestamp": "unixReviewTime"}


def _loaded(ratings: pl.DataFrame, path: Path) -> Loaded:
    # Whoever reviewed twice (it happens in the large files) keeps the last rating.
    return Loaded({"train": to_interactions(ratings, path, duplicates="last")})


def _load_csv(folder: Path, *, file: str, columns: Sequence[str]) -> Loaded:
    return _loaded(
        numbers(read_text_table(folder / file, ",", columns), _TYPES, folder / file), folder / file
    )


def _load_parquet(folder: Path) -> Loaded:
    return _loaded(read_parquet(folder / "ratings.parquet", _COLUMNS), folder / "ratings.parquet")


def _load_reviews(folder: Path, *, file: str) -> Loaded:
    """One JSON object per line; only four of its keys matter."""
    columns: dict[str, list[Any]] = {name: [] for name in _KEYS}
    for row, line in enumerate(read_bytes(folder / file).splitlines()):
        if not line.strip():
            continue
        try:
            review = json.loads(line)
            for name, key in _KEYS.items():
                columns[name].append(review[key])
        except (ValueError, KeyError, TypeError) as error:
            reason = f"has no key {error}" if isinstance(error, KeyError) else "is not a JSON object"
            raise DataError(
                f"{folder / file}: row {row + 1} {reason}; expected one review per line."
            ) from error
    try:
        schema = {"user": pl.String, "item": pl.String, "rating": pl.Float32, "timestamp": pl.Int64}
        return _loaded(pl.DataFrame(columns, schema=schema), folder / file)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{folder / file}: a value has the wrong type ({error}).") from error


def _layouts() -> tuple[Layout, ...]:
    reviews = [
        Layout(f"5-core reviews of {year}", (file,), partial(_load_reviews, file=file))
        for year, stem in ((2014, "reviews_Musical_Instruments_5"), (2018, "Musical_Instruments_5"))
        for file in (f"{stem}.json.gz", f"{stem}.json")
    ]
    swapped = ("item", "user", "rating", "timestamp")  # the 2018 files put the item first
    return (
        *reviews,
        Layout("5-core as parquet", ("ratings.parquet",), _load_parquet),
        *_csv_layouts("ratings_Musical_Instruments.csv", 2014, _COLUMNS),
        *_csv_layouts("Musical_Instruments.csv", 2018, swapped),
    )


def _csv_layouts(file: str, year: int, columns: Sequence[str]) -> tuple[Layout, ...]:
    load = partial(_load_csv, file=file, columns=columns)
    return (Layout(f"all ratings of {year}", (file,), load),)


SPECS = (
    Spec(
        name="amazon-musical-instruments",
        title="Amazon musical instruments, ratings 1 to 5 with times",
        folders=("amazon-musical-instruments", "amazon-musical-instruments-5core"),
        layouts=_layouts(),
        source=Source(
            "https://cseweb.ucsd.edu/~jmcauley/datasets/amazon/links.html",
            (
                Download(
                    (
                        "https://snap.stanford.edu/data/amazon/productGraph/categoryFiles/"
                        "reviews_Musical_Instruments_5.json.gz",
                    ),
                    "reviews_Musical_Instruments_5.json.gz",
                ),
            ),
        ),
        citation="R. He and J. McAuley (2016), Ups and Downs: Modeling the Visual Evolution of Fashion, WWW.",
        counts=Counts(1_429, 900, 10_261),
    ),
)
