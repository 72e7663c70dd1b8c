"""The result of a comparison: one table, and how it is shown and saved."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sqlrank.errors import ConfigError
from sqlrank.evaluation.contest import Contestant
from sqlrank.evaluation.names import KINDS, parse_metric
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.result import Evaluation
from sqlrank.evaluation.significance import Difference, paired_bootstrap

__all__ = ["Comparison"]


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `sqlrank.compare` returns: `result.table`, `print(result)`, `result.save(folder)`.

    rows        one per model in the order they were given: settings, one trial per seed, or the error
    metrics     their names; the first one orders the table
    protocol    the rules of all numbers
    setup       in words: the split and the size of its parts
    """

    rows: Sequence[Contestant]
    metrics: tuple[str, ...]
    seeds: tuple[int, ...]
    protocol: Protocol
    setup: str
    _intervals: dict[tuple[str, str], tuple[str, Difference]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_intervals", _differences(self))

    def __getitem__(self, name: str) -> list[Evaluation]:
        """The evaluations of a model, one per seed."""
        for row in self.rows:
            if row.name == name:
                return [trial.evaluation for trial in row.trials]
        raise ConfigError(
            f"no model {name!r} was compared; there are {', '.join(row.name for row in self.rows)}"
        )

    def mean(self, name: str, metric: str | None = None) -> float:
        """The mean of a metric (default: the first) over the seeds."""
        wanted = str(parse_metric(metric or self.metrics[0]))
        values = [evaluation[wanted] for evaluation in self[name]]
        return math.fsum(values) / len(values) if values else math.nan

    def rival(self, name: str, metric: str | None = None) -> tuple[str, Difference] | None:
        """The best of the other models, and how much better (> 0) than it this one is, with its interval.

        None for models that failed or have no rival, and for metrics that are no mean over users.
        """
        return self._intervals.get((name, str(parse_metric(metric or self.metrics[0]))))

    @property
    def ranking(self) -> list[str]:
        """The models that did not fail, best first by the first metric; equals in the given order."""
        names = [row.name for row in self.rows if row.error is None]
        return sorted(names, key=lambda name: -_order(self.mean(name)))

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per model, best first, failures last.

        Per metric m: `m` (mean over seeds), `m sd` (over seeds), `m rival` (the best other model), `m difference` to
        it, `m low` and `m high` (95 % interval, paired bootstrap over users). Then `fit_seconds` (mean over seeds),
        `users_per_second`, `peak_memory_mb`, `seeds`, `error`.
        """
        by_name = {row.name: row for row in self.rows}
        order = [*self.ranking, *(row.name for row in self.rows if row.error is not None)]
        records = [self._record(by_name[name]) for name in order]
        text = {"model", "error", *(f"{metric} rival" for metric in self.metrics)}
        schema = {name: pl.String if name in text else pl.Float64 for name in records[0]}
        return pl.DataFrame(records, schema={**schema, "seeds": pl.Int64})

    def _record(self, row: Contestant) -> dict[str, Any]:
        record: dict[str, Any] = {"model": row.name}
        for metric in self.metrics:
            values = [trial.evaluation[metric] for trial in row.trials]
            rival, gap = self._intervals.get((row.name, metric), (None, None))
            record[metric] = _known(self.mean(row.name, metric))
            record[f"{metric} sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
            record[f"{metric} rival"] = rival
            record[f"{metric} difference"] = _known(gap.value) if gap else None
            record[f"{metric} low"] = _known(gap.low) if gap else None
            record[f"{metric} high"] = _known(gap.high) if gap else None
        n = len(row.trials)
        record["fit_seconds"] = math.fsum(t.fit_seconds for t in row.trials) / n if n else None
        record["users_per_second"] = math.fsum(t.users_per_second for t in row.trials) / n if n else None
        record["peak_memory_mb"] = None if row.peak_memory is None else row.peak_memory / 2**20
        record["seeds"] = n
        record["error"] = row.error
        return record

    @property
    def protocol_line(self) -> str:
        """The rules in one line, as the evaluations resolved them."""
        done = next((row.trials[0].evaluation.protocol for row in self.rows if row.trials), self.protocol)
        return f"{done.name}: {done}" if done.name else str(done)

    @property
    def verdict(self) -> str:
        """One sentence: which model is best, and is that more than luck?"""
        order, metric = self.ranking, self.metrics[0]
        if not order:
            return "No model could be fitted and measured."
        best = self.rival(order[0])
        if best is None:
            return f"{order[0]} has {metric} {self.mean(order[0]):.4f}; there is nothing to compare it with."
        rival, gap = best
        sure = "clearly better than" if gap.low > 0 else "not clearly better than"
        return (
            f"By {metric}, {order[0]} is best and {sure} {rival}: {gap.value:+.4f}, "
            f"95 % interval {gap.low:+.4f} to {gap.high:+.4f} over {gap.users:,} users."
        )

    def show(self) -> None:
        """Print for people: with colour on a terminal, as plain text elsewhere."""
        from sqlrank.evaluation.comparison_text import rich_view

        if sys.stdout.isatty():
            from rich.console import Console

            Console().print(rich_view(self))
        else:
            print(self)

    def __str__(self) -> str:
        from sqlrank.evaluation.comparison_text import plain_text

        return plain_text(self)

    def __repr__(self) -> str:
        return f"Comparison({self.metrics[0]}: {', '.join(f'{n} {self.mean(n):.4f}' for n in self.ranking)})"

    def __rich__(self) -> Any:
        from sqlrank.evaluation.comparison_text import rich_view

        return rich_view(self)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write comparison.parquet, comparison.md, per_user.parquet, and comparison.png where matplotlib is there."""
        from sqlrank.evaluation.comparison_files import save

        return save(self, Path(folder))

    @property
    def per_user(self) -> pl.DataFrame:
        """One row per model, seed and user: model, seed, user, and one column per metric that users have."""
        parts = [
            trial.evaluation.per_user.select(
                pl.lit(row.name).alias("model"), pl.lit(trial.seed).alias("seed"), pl.all()
            )
            for row in self.rows
            for trial in row.trials
        ]
        return pl.concat(parts) if parts else pl.DataFrame()


def _differences(result: Comparison) -> dict[tuple[str, str], tuple[str, Difference]]:
    """For every model and metric: the best rival, and the interval of the difference over users."""
    names = [row.name for row in result.rows if row.error is None]
    metrics = [metric for metric in result.metrics if KINDS[parse_metric(metric).kind].per_user]
    if len(names) < 2 or not metrics:
        return {}
    tables = {row.name: [trial.evaluation.per_user for trial in row.trials] for row in result.rows}
    rivals: dict[tuple[str, str], str] = {}
    for metric in metrics:
        order = sorted(names, key=lambda name: -_order(result.mean(name, metric)))
        rivals |= {(name, metric): order[1] if name == order[0] else order[0] for name in names}
    columns = [_gaps(tables[name], tables[rival], metric) for (name, metric), rival in rivals.items()]
    everybody = columns[0].select("user")
    for column in columns[1:]:
        everybody = everybody.join(column.select("user"), on="user", how="full", coalesce=True)
    everybody = everybody.unique().sort("user")
    matrix = np.column_stack(
        [
            everybody.join(c, on="user", how="left", maintain_order="left")["gap"]
            .fill_null(np.nan)
            .to_numpy()
            for c in columns
        ]
    )
    gaps = paired_bootstrap(matrix)
    return {key: (rival, gap) for (key, rival), gap in zip(rivals.items(), gaps, strict=True)}


def _gaps(ours: list[pl.DataFrame], theirs: list[pl.DataFrame], metric: str) -> pl.DataFrame:
    """The difference per user, averaged over the seeds in which the user has a number from both."""
    parts = [
        a.select("user", pl.col(metric).alias("a"))
        .join(b.select("user", pl.col(metric).alias("b")), on="user")
        .select("user", (pl.col("a") - pl.col("b")).alias("gap"))
        for a, b in zip(ours, theirs, strict=True)
    ]
    mean = pl.concat(parts).drop_nulls("gap").group_by("user", maintain_order=True).agg(pl.col("gap").mean())
    return mean.sort("user")


def _order(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
