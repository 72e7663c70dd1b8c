"""The names of the metrics, `ndcg@10`, and the one place that reads them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlrank.errors import ConfigError

MAX_CUTOFF = 100_000


@dataclass(frozen=True)
class MetricKind:
    """A family of metrics: `ndcg` of `ndcg@10`.

    name            as it is written before the @
    needs_cutoff    whether `@k` belongs to the name
    per_user        one number per user and a mean over users; otherwise one number for all lists together
    summary         one line: what is divided by what
    """

    name: str
    needs_cutoff: bool
    per_user: bool
    summary: str


KINDS: dict[str, MetricKind] = {
    kind.name: kind
    for kind in (
        MetricKind("precision", True, True, "hits in the top k / k"),
        MetricKind("recall", True, True, "hits in the top k / relevant items"),
        MetricKind("recall_capped", True, True, "hits in the top k / min(k, relevant items)"),
        MetricKind("ndcg", True, True, "DCG of the top k / DCG of the ideal order cut at k"),
        MetricKind("map", True, True, "sum of precision@l over the hits l <= k / min(k, relevant items)"),
        MetricKind("mrr", True, True, "1 / rank of the first hit in the top k, or 0"),
        MetricKind("hit", True, True, "1 if the top k holds a relevant item, else 0"),
        MetricKind("novelty", True, True, "mean of -log2(share of the training users) over the top k"),
        MetricKind(
            "auc", False, True, "share of (relevant, other candidate) pairs in the right order, ties half"
        ),
        MetricKind("coverage", True, False, "distinct items in the top k of all users / candidate items"),
        MetricKind("gini", True, False, "Gini index of how often each candidate item is in a top k"),
    )
}

_PATTERN = re.compile(r"([a-z_]+)(?:@([0-9]+))?")


@dataclass(frozen=True)
class Metric:
    """One metric: its kind and its cut-off (None for `auc`)."""

    kind: str
    k: int | None

    def __str__(self) -> str:
        return self.kind if self.k is None else f"{self.kind}@{self.k}"


def parse_metric(name: str) -> Metric:
    """Read one metric's name; upper case is welcome.

    >>> parse_metric("NDCG@10")
    Metric(kind='ndcg', k=10)
    """
    match = _PATTERN.fullmatch(name.strip().lower()) if isinstance(name, str) else None
    if match is None:
        raise ConfigError(f"metric {name!r} is not a name such as 'ndcg@10'; known: {', '.join(KINDS)}")
    kind = KINDS.get(match[1])
    if kind is None:
        raise ConfigError(f"metric {name!r} is unknown{_hint(match[1])}; known: {', '.join(KINDS)}")
    if kind.needs_cutoff and match[2] is None:
        raise ConfigError(f"metric {name!r} lacks its cut-off; write for example '{kind.name}@10'")
    if not kind.needs_cutoff and match[2] is not None:
        raise ConfigError(f"metric {name!r} has no cut-off; write '{kind.name}'")
    k = None if match[2] is None else int(match[2])
    if k is not None and not 1 <= k <= MAX_CUTOFF:
        raise ConfigError(f"metric {name!r}: the cut-off must be from 1 to {MAX_CUTOFF}")
    return Metric(kind.name, k)


def parse_metrics(names: str | Iterable[str]) -> tuple[Metric, ...]:
    """Read a list of names, or one text with commas; names given twice count once, order is kept."""
    parts = names.split(",") if isinstance(names, str) else names
    metrics = tuple(dict.fromkeys(parse_metric(part) for part in parts))
    if not metrics:
        raise ConfigError("metrics is empty; give at least one name such as 'ndcg@10'")
    return metrics


def _hint(kind: str) -> str:
    close = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
