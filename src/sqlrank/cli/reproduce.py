"""`sqlrank reproduce`: the paper's tables and figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.output import print_json, print_table, say, wrapped
from sqlrank.cli.places import check_writable
from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    from sqlrank.experiments import Outcome

__all__ = ["reproduce"]

RUNNING = Group("Running", sort_key=5)


def _flag(help: str, *names: str) -> Parameter:
    return Parameter(name=names or None, help=help, group=RUNNING, negative=(), show_default=False)


def reproduce(
    *experiments: Annotated[str, Parameter(help="table1, figure-sq, …, all, or a TOML file of your own.")],
    list_: Annotated[bool, _flag("Say what there is, and stop.", "--list")] = False,
    data_dir: Annotated[str | None, _flag("Folder of the data sets [SQLRANK_DATA, else a cache].")] = None,
    output: Annotated[Path, _flag("Folder for tables and figures [results].", "--output", "-o")] = Path(
        "results"
    ),
    page: Annotated[
        Path | None, _flag("Folder for a page about all of it, with its numbers and figures.")
    ] = None,
    seeds: Annotated[int | None, _flag("Fits per row [each experiment's own number].")] = None,
    miniature: Annotated[bool, _flag("Made-up data and few epochs, to see that it runs.")] = False,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """Run the paper's experiments, our numbers beside the paper's.

    What is done is kept in the output folder: called again, the command goes on where it was.
    """
    from sqlrank.experiments import load_experiment, names
    from sqlrank.experiments import reproduce as run
    from sqlrank.experiments.page import write_page
    from sqlrank.experiments.report import results

    if list_ or not experiments:
        _list(common)
        return
    for word in experiments:
        if word != "all":
            load_experiment(word)
    if page is not None and (set(experiments) - {"all", *names()} or seeds is not None):
        raise ConfigError("--page is about the experiments that come with sqlrank, with their own seeds")
    for folder in filter(None, (output, page)):
        check_writable(folder.absolute())
    began = time.perf_counter()
    outcomes = run(
        experiments,
        data_dir,
        output,
        seeds=seeds,
        small=miniature,
        threads=common.threads,
        progress=not common.quiet,
    )
    if common.json:
        print_json([row for outcome in outcomes for row in results(outcome).to_dicts()])
    else:
        for outcome in outcomes:
            _show(outcome)
    say(f"{time.perf_counter() - began:.0f} s; tables and figures are in {output}/", common.quiet)
    if page is not None:
        for path in write_page(outcomes, page, _machine(miniature, common.threads)):
            say(str(path), common.quiet)


def _show(outcome: Outcome) -> None:
    """One line per number, then what follows from them."""
    import polars as pl

    from sqlrank.experiments.report import by_task, conclusions, findings, number, protocol_lines

    rows = [
        {
            "data": row.row.task.title,
            "method": row.row.label,
            "metric": found.metric,
            "ours": number(found.everybody, found.sd),
            "the paper's": "" if found.paper is None else f"{found.paper:.4f}",
            "verdict": found.verdict or "",
        }
        for row in by_task(outcome.rows)
        for found in findings(row)
    ]
    print(f"\n{outcome.experiment.title}\n")
    if rows:
        print_table(pl.DataFrame(rows), indent="  ")
        print()
    for line in [*protocol_lines(outcome), *conclusions(outcome)]:
        print(wrapped(f"  {line}", "    "))


def _list(common: Common) -> None:
    import polars as pl

    from sqlrank.experiments import load_experiment, names

    rows = []
    for name in names():
        experiment = load_experiment(name)
        tasks = dict.fromkeys(row.task.dataset for row in experiment.rows)
        rows.append({"id": name, "what": experiment.title, "data sets": ", ".join(tasks)})
    if common.json:
        print_json(rows)
    else:
        print_table(pl.DataFrame(rows))


def _machine(small: bool, threads: int | None) -> dict[str, object]:
    from sqlrank import _core
    from sqlrank._threads import resolve_threads
    from sqlrank._versions import versions

    known = versions()
    packages = {name: known[name] for name in ("sqlrank", "numpy", "implicit", "optuna")}
    facts: dict[str, object] = {
        **packages,
        "instruction set": str(_core.isa),
        "threads": resolve_threads(threads),
    }
    return {**facts, "small": True} if small else facts
