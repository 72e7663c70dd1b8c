"""Figures of what models recommend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sqlrank.data import Interactions
from sqlrank.errors import ConfigError
from sqlrank.evaluation import Evaluation, Protocol, evaluate
from sqlrank.models import Recommender
from sqlrank.plotting.canvas import STYLES, axes, direct_label, plain_ticks, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["k_sweep", "metric_by_history", "popularity_curve"]


def popularity_curve(
    models: Mapping[str, Recommender], n: int = 10, *, threads: int | None = None, ax: Axes | None = None
) -> Axes:
    """Which share of all recommended places the most recommended items take, model by model.

    Items that a user has already are not recommended. The line of a model that shows everybody the same few items
    reaches 1 on the left; that of one which uses the whole catalogue rises late.
    """
    ax = axes(ax)
    for style, (name, model) in zip(STYLES * 3, models.items(), strict=False):
        everybody = np.arange(len(model.users), dtype=np.int32)
        seen = (model.seen.indptr, model.seen.indices)
        shown = model.rank_codes(everybody, n, exclude=seen, threads=threads).items
        counts = np.sort(np.bincount(shown, minlength=len(model.items)))[::-1]
        share = np.cumsum(counts) / max(1, counts.sum())
        marks = np.unique(np.geomspace(1, len(share), 9).astype(int) - 1).tolist()
        ax.plot(np.arange(1, len(share) + 1), share, label=name, markevery=marks, markersize=5, **style)
    ax.set_xscale("log")
    plain_ticks(ax)
    direct_label(ax, len(models))
    return tidy(ax, f"Who gets the top {n} places", "items, most recommended first", "share of all places")


def metric_by_history(
    results: Mapping[str, Evaluation],
    train: Interactions,
    metric: str = "ndcg@10",
    groups: int = 5,
    *,
    ax: Axes | None = None,
) -> Axes:
    """The metric for users with short and with long histories: groups of about equally many users."""
    lengths = pl.DataFrame({"user": train.users.ids, "events": np.diff(train.indptr)})
    ax = axes(ax)
    for style, (name, result) in zip(STYLES * 3, results.items(), strict=False):
        if metric not in result.per_user.columns:
            raise ConfigError(f"the result of {name} has no {metric!r} per user")
        rows = result.per_user.join(lengths, on="user").drop_nulls(metric).sort("events", maintain_order=True)
        parts = [rows[list(part)] for part in np.array_split(np.arange(rows.height), groups) if len(part)]
        middle = [float(np.median(part["events"].to_numpy())) for part in parts]
        means = np.array([part[metric].to_numpy().mean() for part in parts])
        errors = np.array([part[metric].to_numpy().std() / max(1, part.height) ** 0.5 for part in parts])
        ax.errorbar(middle, means, yerr=errors, label=name, markersize=5, capsize=2.5, **style)
    direct_label(ax, len(results))
    return tidy(ax, f"{metric} by length of history (bars: 1 s.e.)", "events of the user in training", metric)


def k_sweep(
    models: Mapping[str, Recommender],
    test: Interactions,
    metric: str = "recall",
    cuts: Sequence[int] = (1, 2, 5, 10, 20, 50),
    protocol: str | Protocol = "all",
    *,
    threads: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The metric at many list lengths: does an ordering of the models hold beyond one k?"""
    ax = axes(ax)
    names = [f"{metric}@{k}" for k in cuts]
    for style, (name, model) in zip(STYLES * 3, models.items(), strict=False):
        result = evaluate(model, test, names, protocol, threads=threads)
        ax.plot(list(cuts), [result[metric_name] for metric_name in names], label=name, markersize=5, **style)
    ax.set_xscale("log")
    ax.set_xticks(list(cuts), [str(k) for k in cuts])
    ax.minorticks_off()
    direct_label(ax, len(models))
    return tidy(ax, f"{metric}@k for many k", "k, the length of the list", f"{metric}@k")
