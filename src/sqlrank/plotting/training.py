"""Figures of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlrank.errors import ConfigError
from sqlrank.plotting.canvas import STYLES, axes, direct_label, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["learning_curve", "metric_against_time"]


def learning_curve(model: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The validation metric after every epoch, or the objective where there was no validation.

    A dashed rule marks the epoch that early stopping kept.
    """
    history = _history(model)
    name = metric or (history.columns[3] if len(history.columns) > 3 else "objective")
    if name not in history.columns:
        raise ConfigError(f"the history has no column {name!r}; it has {', '.join(history.columns)}")
    rows = history.drop_nulls(name)
    ax = axes(ax)
    ax.plot(rows["epoch"].to_numpy(), rows[name].to_numpy(), **{**STYLES[0], "marker": ""})
    best = getattr(model, "best_epoch", None)
    if best:
        ax.axvline(best, color="#57606a", linestyle="--", linewidth=1)
        low, high = ax.get_ylim()
        ax.annotate(
            f" kept: epoch {best} ",
            (best, low + 0.06 * (high - low)),
            ha="right",
            color="#57606a",
            fontsize=9,
        )
    return tidy(ax, f"{name} while learning", "epoch", name)


def metric_against_time(
    models: Mapping[str, Any], metric: str = "ndcg@10", *, ax: Axes | None = None
) -> Axes:
    """How good each model was after how many seconds of training (measuring time not counted)."""
    ax = axes(ax)
    for style, (name, model) in zip(STYLES * 3, models.items(), strict=False):
        history = _history(model)
        if metric not in history.columns:
            raise ConfigError(f"{name} has no {metric!r} in its history: fit it with validation=...")
        seconds = np.cumsum(history["seconds"].to_numpy())
        every = max(1, len(seconds) // 8)
        ax.plot(seconds, history[metric].to_numpy(), label=name, markevery=every, markersize=4, **style)
    direct_label(ax, len(models))
    return tidy(ax, f"{metric} against training time", "seconds of training", metric)


def _history(model: Any) -> Any:
    history = getattr(model, "history", None)
    if history is None or history.height == 0:
        raise ConfigError(
            f"{type(model).__name__} has no history: it does not learn in epochs, or was loaded"
        )
    return history
