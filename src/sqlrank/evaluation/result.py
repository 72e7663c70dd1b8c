"""The result of an evaluation: numbers, and what they are numbers of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.errors import ConfigError
from sqlrank.evaluation.names import parse_metric
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.task import EventCounts, UserCounts

__all__ = ["Evaluation", "Summary"]


@dataclass(frozen=True)
class Summary:
    """One metric over all users: the mean, its standard error, and over how many users.

    `standard_error` is None for metrics of all lists together (coverage, gini) and for a single user.
    """

    value: float
    standard_error: float | None
    users: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Summary:
        """Summarise one number per user; NaN means that the metric is not defined for that user.

        The sums are exact (`math.fsum`): the mean does not depend on the order of the users.
        """
        defined = values[~np.isnan(values)]
        n = len(defined)
        if n == 0:
            return cls(math.nan, None, 0)
        mean = math.fsum(defined.tolist()) / n
        spread = math.fsum(((defined - mean) ** 2).tolist())
        return cls(mean, math.sqrt(spread / (n - 1) / n) if n > 1 else None, n)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What `sqlrank.evaluate` returns: `result["ndcg@10"]`, `result.per_user`, `print(result)`.

    summaries   metric name -> Summary
    per_user    table: user id and one column per metric that is a mean over users; null where it is
                not defined
    users       how many users were evaluated, had nothing relevant, are unknown to the model
    events      how many test events there were, and which did not count
    protocol    the rules
    metadata    the same as plain values, with the model's settings, seconds and version: for a results file
    """

    summaries: dict[str, Summary]
    per_user: pl.DataFrame
    users: UserCounts
    events: EventCounts
    protocol: Protocol
    metadata: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> float:
        name = str(parse_metric(metric))
        if name not in self.summaries:
            raise ConfigError(
                f"metric {name!r} was not computed; this result has {', '.join(self.summaries)}"
            )
        return self.summaries[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries)

    def __len__(self) -> int:
        return len(self.summaries)

    def as_dict(self) -> dict[str, float]:
        """Return metric name -> value."""
        return {name: summary.value for name, summary in self.summaries.items()}

    def to_table(self) -> pl.DataFrame:
        """Return one row per metric: metric, value, standard_error, users, protocol."""
        rows = [{"metric": name, **asdict(summary)} for name, summary in self.summaries.items()]
        table = pl.DataFrame(rows, schema_overrides={"standard_error": pl.Float64})
        return table.with_columns(
            pl.col("value").fill_nan(None), pl.lit(self._protocol_line()).alias("protocol")
        )

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={summary.value:.4f}" for name, summary in self.summaries.items())
        return f"Evaluation({numbers}; {self.users.evaluated:,} users; {self._protocol_line()})"

    def __str__(self) -> str:
        lines = [f"protocol  {self._protocol_line()}", f"users     {self._users_line()}"]
        lines += [f"events    {self._events_line()}"] if self._events_line() else []
        width = max(len(name) for name in self.summaries)
        lines.append(f"{'metric':<{width}}   value  ± s.e.   users")
        for name, summary in self.summaries.items():
            error = "-" if summary.standard_error is None else f"{summary.standard_error:.4f}"
            lines.append(f"{name:<{width}}  {summary.value:6.4f}  {error:>6}  {summary.users:>6,}")
        return "\n".join(lines)

    def _protocol_line(self) -> str:
        return f"{self.protocol.name}: {self.protocol}" if self.protocol.name else str(self.protocol)

    def _users_line(self) -> str:
        counts = self.users
        parts = [
            f"{counts.evaluated:,} evaluated",
            f"{counts.without_relevant:,} without a relevant item",
            f"{counts.unknown:,} unknown to the model",
        ]
        if counts.not_drawn:
            parts.append(f"{counts.not_drawn:,} not drawn")
        if counts.without_history:
            parts.append(f"{counts.without_history:,} of the evaluated without training events")
        return ", ".join(parts)

    def _events_line(self) -> str:
        counts = self.events
        parts = [
            (counts.seen_in_training, "dropped, as seen in training"),
            (counts.not_candidates, "dropped, as no candidates"),
            (counts.unknown_items, "of items unknown to the model (count as missed)"),
        ]
        told = [f"{count:,} {text}" for count, text in parts if count]
        return f"{counts.total:,} in the test, {', '.join(told)}" if told else ""
