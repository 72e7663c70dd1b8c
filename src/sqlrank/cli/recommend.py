"""`sqlrank recommend`: lists for users, or for somebody of whom only a history is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.output import format_of, print_json, print_table, say, write_table
from sqlrank.cli.places import check_writable, load_model
from sqlrank.cli.requests import typed_history, typed_ids
from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from sqlrank.models import Recommender

__all__ = ["recommend"]

WHO = Group("For whom", sort_key=1)
WHAT = Group("What", sort_key=2)


def _who(help: str) -> Parameter:
    return Parameter(help=help, group=WHO, negative=())


def _what(help: str, *names: str, negative: str = "") -> Parameter:
    return Parameter(name=names or None, help=help, group=WHAT, negative=negative)


def recommend(
    model: Annotated[str, Parameter(help="Folder of a saved model.")],
    /,
    *,
    user: Annotated[tuple[str, ...], _who("A user; repeat for more, or @file with one per line.")] = (),
    history: Annotated[
        tuple[str, ...], _who("Items somebody had: a,b,c (or a:5,b:3 for a model of ratings).")
    ] = (),
    all: Annotated[bool, _who("Every user of the model.")] = False,  # the name of the flag
    n: Annotated[int, _what("How many items.", "--n", "-n")] = 10,
    exclude: Annotated[tuple[str, ...], _what("Items to leave out: a,b or @file.")] = (),
    candidates: Annotated[tuple[str, ...], _what("The only items that compete: a,b or @file.")] = (),
    exclude_seen: Annotated[
        bool, _what("Leave out what the user had already.", negative="--include-seen")
    ] = True,
    items: Annotated[str | None, _what("Table with the items' titles.")] = None,
    title: Annotated[str | None, _what("Its column with the title.")] = None,
    key: Annotated[str | None, _what("Its column with the item.")] = None,
    output: Annotated[
        str | None, _what("Write a .parquet, .csv, .tsv or .ndjson file instead.", "--output", "-o")
    ] = None,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """The best items for users, or for somebody who has just arrived.

    Prints a table; --json prints a list of objects; -o writes a file.
    """
    _check_who(user, history, all)
    place = None if output is None else Path(output)
    if place is not None:
        format_of(place)
        check_writable(place.absolute().parent)
    loaded = load_model(model)
    wanted = _requests(loaded, user, history)
    shared: dict[str, Any] = {"n": n, "exclude_seen": exclude_seen, "threads": common.threads}
    if exclude:
        shared["exclude"] = typed_ids(exclude, loaded.items, "--exclude")
    if candidates:
        shared["candidates"] = typed_ids(candidates, loaded.items, "--candidates")
    table = loaded.recommend(**wanted, **shared)
    if items is not None:
        from sqlrank.cli.titles import read_titles, with_titles

        table = with_titles(table, read_titles(items, loaded, title, key))
    _give(table, place, common)


def _check_who(user: tuple[str, ...], history: tuple[str, ...], everybody: bool) -> None:
    ways = sum((bool(user), bool(history), everybody))
    if ways == 0:
        raise ConfigError("say for whom: --user ID, --history a,b,c or --all")
    if ways > 1:
        raise ConfigError("give one of --user, --history and --all")


def _requests(model: Recommender, user: tuple[str, ...], history: tuple[str, ...]) -> dict[str, Any]:
    if history:
        rated = bool(getattr(model, "is_explicit", False))
        return {"histories": {"you": typed_history(history, model.items, rated)}}
    if not user:
        return {}
    users = typed_ids(user, model.users, "--user")
    if not users:
        raise ConfigError("--user names nobody; give an id, or @file with one id per line")
    return {"users": users}


def _give(table: pl.DataFrame, place: Path | None, common: Common) -> None:
    if place is not None:
        write_table(table, place)
        say(f"{table.height:,} rows in {place}", common.quiet)
        if common.json:
            print_json({"output": str(place), "rows": table.height})
    elif common.json:
        print_json(table.to_dicts())
    elif table.height == 0:
        say("nothing to recommend: no item is left after the filters")
    else:
        print_table(table)
