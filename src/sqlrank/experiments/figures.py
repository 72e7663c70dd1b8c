"""The figure of an experiment: a panel per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sqlrank.errors import ConfigError
from sqlrank.experiments.definition import EPOCHS, TABLE
from sqlrank.experiments.report import curves, results
from sqlrank.experiments.runner import Outcome
from sqlrank.plotting.canvas import STYLES, direct_label, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_GREY = "#57606a"


def draw(outcome: Outcome) -> Figure:
    """Curves where the experiment has them, else our numbers beside the paper's."""
    return _dots(outcome) if outcome.experiment.kind == TABLE else _curves(outcome)


def _curves(outcome: Outcome) -> Figure:
    table = curves(outcome)
    if table.height == 0:
        raise ConfigError(f"{outcome.experiment.id}: nothing was measured, so there is nothing to draw")
    metrics = table["metric"].unique(maintain_order=True).to_list()
    figure = new_figure(len(metrics))
    across = "epoch" if outcome.experiment.kind == EPOCHS else "seconds"
    for ax, metric in zip(figure.axes, metrics, strict=True):
        for style, method in zip(STYLES, table["method"].unique(maintain_order=True), strict=False):
            own = table.filter((pl.col("metric") == metric) & (pl.col("method") == method))
            _line(ax, own, across, method, style)
        label = "epoch" if across == "epoch" else "seconds of training"
        tidy(ax, metric, label, metric)
        if across == "seconds":
            _log_seconds(ax)
    direct_label(figure.axes[0], 2)
    figure.suptitle(outcome.experiment.title, x=0.01, ha="left", fontsize=12)
    return figure


def _log_seconds(ax: Axes) -> None:
    """A logarithmic axis with plain numbers, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _line(ax: Axes, own: pl.DataFrame, across: str, method: str, style: dict[str, Any]) -> None:
    """The mean over the seeds, and the band between the lowest and the highest."""
    mean = own.group_by("epoch").agg(
        pl.col("value", "seconds").mean(), low=pl.col("value").min(), high=pl.col("value").max()
    )
    mean = mean.sort("epoch")
    x, y = mean[across].to_numpy(), mean["value"].to_numpy()
    every = max(1, len(x) // 8)
    ax.plot(x, y, label=method, markevery=every, markersize=5, **style)
    ax.fill_between(
        x, mean["low"].to_numpy(), mean["high"].to_numpy(), color=style["color"], alpha=0.15, linewidth=0
    )


def _dots(outcome: Outcome) -> Figure:
    """A line per row: our mean with its spread, the paper's number as a bar across."""
    table = results(outcome).filter(pl.col("metric").is_not_null())
    if table.height == 0:
        raise ConfigError(f"{outcome.experiment.id}: nothing was measured, so there is nothing to draw")
    metrics = table["metric"].unique(maintain_order=True).to_list()
    rows = table.select("task", "method").unique(maintain_order=True).rows()[::-1]
    figure = new_figure(len(metrics))
    figure.set_size_inches(3.0 + 3.4 * len(metrics), 1.6 + 0.27 * len(rows))
    for ax, metric in zip(figure.axes, metrics, strict=True):
        values = table.filter(pl.col("metric") == metric).rows_by_key(
            ["task", "method"], named=True, unique=True
        )
        places = [place for place, row in enumerate(rows) if row in values]
        ours = np.array([values[rows[place]]["over_all_users"] for place in places])
        spread = np.array([values[rows[place]]["sd"] or 0.0 for place in places])
        ax.errorbar(
            ours, places, xerr=spread, fmt="o", color=STYLES[0]["color"], markersize=5, label="ours, ± sd"
        )
        known = [(values[rows[p]]["paper"], p) for p in places if values[rows[p]]["paper"] is not None]
        if known:
            paper = {"color": STYLES[1]["color"], "markersize": 11, "markeredgewidth": 2}
            ax.plot([value for value, _ in known], [p for _, p in known], "|", label="the paper's", **paper)
        ax.set_yticks(range(len(rows)), [f"{method}" for _, method in rows] if ax is figure.axes[0] else [])
        ax.set_ylim(-0.7, len(rows) - 0.3)
        tidy(ax, metric, "", "")
    _name_tasks(figure.axes[0], rows)
    figure.axes[0].legend(frameon=False, fontsize=8, loc="best")
    figure.suptitle(outcome.experiment.title, x=0.01, ha="left", fontsize=12)
    return figure


def _name_tasks(ax: Axes, rows: list[tuple[str, str]]) -> None:
    """Rules between the data sets, and their names at the top of each group."""
    labels = []
    for place, (task, method) in enumerate(rows):
        top = place + 1 == len(rows) or rows[place + 1][0] != task
        labels.append(f"{task}   {method}" if top else method)
        if top and place + 1 < len(rows):
            for panel in ax.figure.axes:
                panel.axhline(place + 0.5, color=_GREY, linewidth=0.6)
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
