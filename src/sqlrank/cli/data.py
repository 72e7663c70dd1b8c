"""`sqlrank data`: named data sets, and artificial ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.output import format_of, print_json, print_table, say, write_table
from sqlrank.cli.places import check_writable
from sqlrank.errors import ConfigError

__all__ = ["data"]

data = App(name="data", help="Named data sets, and artificial ones.", help_format="plaintext")


@data.command(name="list")
def list_(
    *,
    data_dir: Annotated[
        str | None,
        Parameter(help="Folder of the data sets [SQLRANK_DATA, else a cache].", show_default=False),
    ] = None,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """The named data sets, and whether they are on this machine."""
    import polars as pl

    from sqlrank.data.datasets.folders import locate
    from sqlrank.data.datasets.registry import find, names
    from sqlrank.errors import DataError

    rows = []
    for name in names():
        spec = find(name)
        try:
            here = str(locate(spec, data_dir)[0])
        except DataError:
            here = "sqlrank data fetch" if spec.source.downloads else "on request only"
        rows.append({"name": name, "what": spec.title, "here": here})
    if common.json:
        print_json(rows)
    else:
        print_table(pl.DataFrame(rows))


@data.command
def fetch(
    name: Annotated[str, Parameter(help="One of those in `sqlrank data list`.")],
    /,
    *,
    data_dir: Annotated[
        str | None,
        Parameter(help="Folder of the data sets [SQLRANK_DATA, else a cache].", show_default=False),
    ] = None,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """Download a data set from its owner and check it; their terms apply."""
    from sqlrank.data.datasets import fetch as download

    folder = download(name, data_dir, progress=not common.quiet)
    if common.json:
        print_json({"name": name, "folder": str(folder)})
    else:
        print(folder)


@data.command
def make(
    output: Annotated[str, Parameter(help="A .parquet, .csv, .tsv or .ndjson file.")],
    /,
    *,
    kind: Annotated[Literal["events", "ratings"], Parameter(help="Choices alone, or with stars.")] = "events",
    users: Annotated[int, Parameter(help="How many users.")] = 1_000,
    items: Annotated[int, Parameter(help="How many items.")] = 500,
    events_per_user: Annotated[float, Parameter(help="On average.")] = 20.0,
    seed: Annotated[int, Parameter(help="Same seed, same data.")] = 0,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """Make artificial events of named people and films, to try things on."""
    from sqlrank.data import datasets

    place = Path(output)
    format_of(place)
    check_writable(place.absolute().parent)
    if events_per_user > items:
        raise ConfigError(f"--events-per-user {events_per_user:g} is more than the {items} items there are")
    maker = datasets.make_events if kind == "events" else datasets.make_ratings
    made = maker(
        users, items, events_per_user=events_per_user, timestamps=True, seed=seed, threads=common.threads
    )
    table = made.train.to_table().sort("timestamp")
    write_table(table.rename({"value": "rating"}) if "value" in table.columns else table, place)
    say(f"{table.height:,} events of {users:,} users and {items:,} items in {place}", common.quiet)
    if common.json:
        print_json({"output": str(place), "events": table.height})
