"""`sqlrank similar`: neighbours of an item."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.output import print_json, print_table
from sqlrank.cli.places import load_model
from sqlrank.cli.requests import typed_ids
from sqlrank.errors import ConfigError

__all__ = ["similar"]


def similar(
    model: Annotated[str, Parameter(help="Folder of a saved model.")],
    item: Annotated[str, Parameter(help="The item; a,b for more, or @file.")],
    /,
    *,
    n: Annotated[int, Parameter(name=("--n", "-n"), help="How many neighbours.")] = 10,
    items: Annotated[str | None, Parameter(help="Table with the items' titles.")] = None,
    title: Annotated[str | None, Parameter(help="Its column with the title.")] = None,
    key: Annotated[str | None, Parameter(help="Its column with the item.")] = None,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """The items most like an item: those that the same people choose, as far as the model has learnt it."""
    loaded = load_model(model)
    neighbours = getattr(loaded, "similar_items", None)
    if neighbours is None:
        raise ConfigError(
            f"{type(loaded).__name__} does not know which items are similar; use a model with factors"
        )
    table = neighbours(typed_ids([item], loaded.items, "ITEM"), n=n, threads=common.threads)
    if items is not None:
        from sqlrank.cli.titles import read_titles, with_titles

        table = with_titles(table, read_titles(items, loaded, title, key), "similar")
    if common.json:
        print_json(table.to_dicts())
    else:
        print_table(table)
