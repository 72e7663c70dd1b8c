"""`sqlrank theory`: the paper's theory, simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from sqlrank.cli.common import Common
from sqlrank.cli.output import print_json, print_table, say

__all__ = ["theory"]

theory = App(name="theory", help="The paper's theory, simulated.", help_format="plaintext")


@theory.command
def rates(
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"), help="Folder for the report.")] = Path(
        "results/rates"
    ),
    replicates: Annotated[int, Parameter(help="Data sets per point of the grid.")] = 12,
    quick: Annotated[bool, Parameter(help="A tiny grid, to see that it runs.", negative=())] = False,
    seed: Annotated[int, Parameter(help="Seed of the simulation.")] = 0,
    common: Common = Common(),  # noqa: B008 # frozen
) -> None:
    """How the excess risk grows, beside the exponents of the paper's Corollaries 1 and 2."""
    import polars as pl

    from sqlrank.theory.figures import require_matplotlib
    from sqlrank.theory.rates import QUICK, exponent_rows, run_rates, write_report

    require_matplotlib()  # before the minutes of simulation, not after
    result = run_rates(seed, replicates, common.threads, QUICK if quick else None)
    rows = exponent_rows(result)
    if common.json:
        print_json(rows)
    else:
        print_table(pl.DataFrame(rows))
    for path in write_report(result, output):
        say(str(path), common.quiet)
