"""Readable names of items, from any table that has them."""

from __future__ import annotations

from typing import Any

import polars as pl

from sqlrank.data.columns import choose_columns
from sqlrank.data.files import file_parts
from sqlrank.data.text import TextOptions
from sqlrank.errors import ConfigError, DataError
from sqlrank.models import Recommender

__all__ = ["read_titles", "with_titles"]

_USUAL = ("title", "name", "description", "label")


def read_titles(
    path: str, model: Recommender, title: str | None = None, key: str | None = None
) -> pl.DataFrame:
    """A table (item, title) of the items that the model knows; the first name of an item counts.

    The item's column is `key`, or one with a usual name, or the first; the title's is `title`, or one called title,
    name or description, or the one behind the item's.
    """
    frame = _read(path, title, key)
    ids = frame["item"].cast(pl.String).str.strip_chars().cast(model.items.ids.dtype, strict=False)
    table = pl.DataFrame({"item": ids, "title": frame["title"].cast(pl.String).str.strip_chars()})
    table = table.drop_nulls().unique("item", keep="first", maintain_order=True)
    if not table["item"].is_in(model.items.ids.implode()).any():
        raise DataError(f"{path}: no item of the model is in its first column or the one named with --key")
    return table


def with_titles(table: pl.DataFrame, titles: pl.DataFrame | None, column: str = "item") -> pl.DataFrame:
    """The table with a column `title` behind its items."""
    if titles is None:
        return table
    joined = table.join(titles.rename({"item": column}), on=column, how="left", maintain_order="left")
    order = list(table.columns)
    order.insert(order.index(column) + 1, "title")
    return joined.select(order)


def _read(path: str, title: str | None, key: str | None) -> pl.DataFrame:
    for encoding in ("utf-8", "latin-1"):
        try:
            parts = file_parts(path, TextOptions(encoding=encoding))
            names = _columns(parts[0].columns, path, title, key, parts[0].header)
            return pl.concat(batch.frame for part in parts for batch in part.batches(names))
        except DataError as error:
            if encoding == "latin-1" or "utf" not in str(error).lower():
                raise
    raise AssertionError("one of the encodings returns or raises")


def _columns(columns: Any, path: str, title: str | None, key: str | None, header: bool) -> dict[str, str]:
    for flag, name in (("--title", title), ("--key", key)):
        if name is not None and name not in columns:
            raise ConfigError(f"{flag}: {path} has no column '{name}'; its columns are {', '.join(columns)}")
    if key is None and header:
        try:
            wanted = {"user": columns[0], "rating": False, "time": False}
            key = choose_columns(columns, wanted, path).names["item"]
        except (DataError, ConfigError):
            key = columns[0]
    key = key or columns[0]
    others = [name for name in columns if name != key]
    usual = [name for word in _USUAL for name in others if word in name.lower()]
    if title is None and not others:
        raise ConfigError(f"--items {path} has one column only; it needs the item and its title")
    return {"item": key, "title": title or (usual or others)[0]}
