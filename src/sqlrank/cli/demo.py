"""`sqlrank demo`: the whole way on made-up data, in well under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from cyclopts import Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.fit import facts_of, print_results, rivals_of, verdict
from sqlrank.cli.output import print_json, print_table, say, write_table
from sqlrank.cli.places import REPORT, check_model_place, check_writable, save_with_report
from sqlrank.cli.workflow import Outcome, fit_and_measure, hold_out
from sqlrank.data import Interactions, datasets
from sqlrank.errors import FormatError
from sqlrank.models import SQLRank
from sqlrank.report.fit_report import Example, fit_report

__all__ = ["demo"]

_MADE = ("events.csv", "items.csv", "recommendations.csv", "model")
_SHOWN = 10


def demo(
    *,
    output: Annotated[
        str, Parameter(name=("--output", "-o"), help="Folder for everything it makes.")
    ] = "sqlrank-demo",
    users: Annotated[int, Parameter(help="How many people.")] = 3_000,
    items: Annotated[int, Parameter(help="How many films.")] = 800,
    seed: Annotated[int, Parameter(help="Same seed, same people, same films, same numbers.")] = 0,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """See it work on made-up data, without any file of your own.

    Makes people with tastes and films with genres, lets the people choose, learns from their choices what each of
    them likes, compares with simpler ways, and writes all of it into a folder.
    """
    folder = Path(output)
    _check_folder(folder)
    made = datasets.make_events(users, items, events_per_user=30, seed=seed, threads=common.threads)
    assert made.items is not None
    data = made.train
    say(f"{users:,} made-up people chose among {items:,} made-up films: {len(data):,} choices", common.quiet)
    parts = hold_out(data, 0.1, "auto", seed)
    say(f"{len(parts.train):,} of them to learn from; {parts.how}", common.quiet)
    outcome = fit_and_measure(
        SQLRank(rank=16),
        data,
        parts,
        metric="ndcg@10",
        patience=5,
        refit=True,
        seed=seed,
        common=common,
        rivals=rivals_of("sqlrank", "popularity", "itemknn"),
    )
    genres = dict(zip(made.items["item"].to_list(), made.items["genre"].to_list(), strict=True))
    examples = [_example(outcome, data, code, genres, common) for code in _typical(data)]
    _write(folder, outcome, data, made.items, examples, common)
    _tell(folder, outcome, examples, common)


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FormatError(f"-o {folder} is a file; the demo is written into a folder")
    strange = (
        sorted(entry.name for entry in folder.iterdir() if entry.name not in _MADE) if folder.is_dir() else []
    )
    if strange:
        raise FormatError(f"-o {folder} holds other files ({', '.join(strange[:3])}); choose another folder")
    check_writable(folder.absolute().parent)
    check_model_place(folder / "model")


def _typical(data: Interactions) -> list[int]:
    """Three people with about as many choices as most have."""
    counts = np.diff(data.indptr)
    return [int(code) for code in np.argsort(np.abs(counts - np.median(counts)), kind="stable")[:3]]


def _example(
    outcome: Outcome, data: Interactions, code: int, genres: dict[str, str], common: Common
) -> Example:
    mine = slice(data.indptr[code], data.indptr[code + 1])
    assert data.timestamps is not None
    latest = np.argsort(data.timestamps[mine], kind="stable")[::-1][:_SHOWN]
    had = data.items.decode(data.indices[mine][latest]).to_list()
    user = data.users.ids[code]
    next_items = outcome.model.recommend(users=[user], n=_SHOWN, threads=common.threads)["item"].to_list()
    return Example(
        str(user),
        [f"{item} ({genres[item].lower()})" for item in had],
        [f"{item} ({genres[item].lower()})" for item in next_items],
    )


def _write(
    folder: Path,
    outcome: Outcome,
    data: Interactions,
    items: pl.DataFrame,
    examples: list[Example],
    common: Common,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = data.to_table().sort("timestamp", "user", "item")
    time = pl.from_epoch("timestamp", time_unit="us").alias("time")
    write_table(table.select("user", "item", time), folder / "events.csv")
    write_table(items.select("item", "genre"), folder / "items.csv")
    write_table(outcome.model.recommend(n=_SHOWN, threads=common.threads), folder / "recommendations.csv")
    facts = facts_of(outcome, data, "made-up data", "Report of the demo", "sqlrank demo", examples=examples)
    save_with_report(outcome.model, folder / "model", fit_report(facts))


def _tell(folder: Path, outcome: Outcome, examples: list[Example], common: Common) -> None:
    report = folder / "model" / REPORT
    person = examples[0].user
    if common.json:
        numbers: dict[str, Any] = {
            name: result.as_dict() for name, result in outcome.results.get("all", {}).items()
        }
        print_json(
            {"folder": str(folder), "report": str(report), "metrics": numbers, "seconds": outcome.seconds}
        )
        return
    for example in examples:
        columns = {f"{example.user} chose last": example.history, "and might like next": example.recommended}
        height = max(map(len, columns.values()))
        print_table(
            pl.DataFrame({name: [*rows, *[""] * (height - len(rows))] for name, rows in columns.items()})
        )
        print()
    print_results(outcome.results)
    say(verdict(outcome.results.get("all", {})), common.quiet)
    say(f"report: {report}", common.quiet)
    say(f"try:    sqlrank recommend {folder / 'model'} --user '{person}'", common.quiet)
    say(f"        sqlrank fit {folder / 'events.csv'} -o my-model --rank 32", common.quiet)
    say("then:   sqlrank inspect FILE, with a file of your own", common.quiet)
