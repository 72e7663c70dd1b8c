"""Foursquare restaurants in New York: check-ins, and tips on request."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import polars as pl

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import numbers, read_bytes, read_parquet, read_text_table
from sqlrank.errors import DataError

__all__ = ["SPECS"]

_CHECKINS, _TIPS, _TAGS = (f"dataset_ubicomp2013_{name}.txt" for name in ("checkins", "tips", "tags"))
_TIP = re.compile(r"\s*(\d+)\t(\d+)\t")


def _load(folder: Path, *, tips: bool) -> Loaded:
    frames = [_checkins(folder / _CHECKINS)]
    if tips:
        frames.append(_tips(folder))
    rows = pl.concat(frames)
    # Neither has a time: a pair counts once, and the table of users says how many rows each of them had.
    train = to_interactions(rows, folder, duplicates="first")
    users = rows.group_by("user").agg(pl.len().cast(pl.Int64).alias("rows")).sort("user")
    return Loaded({"train": train}, _venues(folder / _TAGS), users)


def _checkins(path: Path) -> pl.DataFrame:
    frame = read_text_table(path, "\t", ["user", "item"], key="user")
    return numbers(frame, {"user": pl.Int64, "item": pl.Int64}, path)


def _tips(folder: Path) -> pl.DataFrame:
    path = folder / _TIPS
    if not path.is_file():
        frame = read_parquet(folder / "tips.parquet", ["user", "venue"])
        return frame.select(pl.col("user").cast(pl.Int64), item=pl.col("venue").cast(pl.Int64))
    # The text of a tip is free: it may break lines. A tip starts where two numbers do.
    lines = read_bytes(path).decode("utf-8", errors="replace").split("\n")
    found = [match for line in lines if (match := _TIP.match(line)) is not None]
    if not found or _TIP.match(lines[0].lstrip("\ufeff")) is None:
        raise DataError(f"{path}: row 1 is not 'user TAB venue TAB text': {lines[0][:60]!r}.")
    pairs = {"user": [int(match[1]) for match in found], "item": [int(match[2]) for match in found]}
    return pl.DataFrame(pairs, schema={"user": pl.Int64, "item": pl.Int64})


def _venues(path: Path) -> pl.DataFrame | None:
    """Venue and its tags."""
    if not path.is_file():
        return None
    # A venue that nobody tagged may come without the separator.
    lines = [line for line in read_bytes(path).decode("utf-8", errors="replace").splitlines() if line.strip()]
    cells = [line.split("\t", 1) for line in lines]
    frame = pl.DataFrame(
        {"item": [cell[0] for cell in cells], "tags": [cell[1] if cell[1:] else "" for cell in cells]}
    )
    tags = pl.col("tags").str.split(",").list.eval(pl.element().str.strip_chars())
    tags = tags.list.eval(pl.element().filter(pl.element() != ""))
    return numbers(frame, {"item": pl.Int64}, path).with_columns(tags)


def _spec(name: str, title: str, tips: bool, counts: Counts) -> Spec:
    load = partial(_load, tips=tips)
    if tips:
        layouts: tuple[Layout, ...] = (
            Layout("its authors' text files", (_CHECKINS, _TIPS), load),
            Layout("text and parquet", (_CHECKINS, "tips.parquet"), load),
        )
    else:
        layouts = (Layout("its authors' text files", (_CHECKINS,), load),)
    hosts = ("www-public.imtbs-tsp.eu", "www-public.it-sudparis.eu")
    urls = tuple(f"http://{host}/~zhang_da/pub/dataset_ubicomp2013.zip" for host in hosts)
    return Spec(
        name=name,
        title=title,
        folders=("foursquare", "foursquare-nyc-restaurant", "dataset_ubicomp2013"),
        layouts=layouts,
        source=Source(
            "https://sites.google.com/site/yangdingqi/home/foursquare-dataset",
            (Download(urls, "dataset_ubicomp2013.zip"),),
        ),
        citation="D. Yang et al. (2013), Fine-Grained Preference-Aware Location Search, UbiComp.",
        counts=counts,
    )


SPECS = (
    _spec("foursquare", "Foursquare restaurants in New York: check-ins", False, Counts(2_060, 2_876, 13_472)),
    _spec(
        "foursquare-with-tips",
        "Foursquare restaurants in New York: check-ins and tips",
        True,
        Counts(3_112, 3_298, 21_594),
    ),
)
