"""Figures of a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sqlrank.data import Interactions
from sqlrank.errors import DataError
from sqlrank.plotting.canvas import STYLES, axes, plain_ticks, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["activity", "popularity_of_data"]


def popularity_of_data(data: Interactions, *, ax: Axes | None = None) -> Axes:
    """Which share of the events the most popular items have: far above the diagonal when few items rule."""
    counts = np.sort(np.bincount(data.indices, minlength=data.n_items))[::-1]
    share = np.concatenate([[0.0], np.cumsum(counts) / max(1, counts.sum())])
    items = np.linspace(0, 1, len(share))
    ax = axes(ax)
    ax.plot(items, share, color=STYLES[0]["color"])
    ax.plot([0, 1], [0, 1], color="#57606a", linestyle=":", linewidth=1)
    ax.annotate("all items alike", (0.62, 0.58), color="#57606a", fontsize=9, rotation=29)
    tenth = float(np.interp(0.1, items, share))
    ax.plot([0.1], [tenth], marker="o", color=STYLES[0]["color"])
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    ax.annotate(f"the top 10 % of the items: {tenth:.0%}", (0.13, tenth), va="center", fontsize=9, bbox=paper)
    return tidy(
        ax, "How popularity is spread", "share of the items, most popular first", "share of the events"
    )


def activity(data: Interactions, *, ax: Axes | None = None) -> Axes:
    """How many users have how many events, on a logarithmic axis."""
    counts = np.diff(data.indptr)
    counts = counts[counts > 0]
    if len(counts) == 0:
        raise DataError("there are no events to draw")
    edges = np.unique(np.geomspace(counts.min(), counts.max() + 1, 24).round())
    ax = axes(ax)
    ax.hist(counts, bins=edges.tolist(), color=STYLES[0]["color"], edgecolor="white", linewidth=0.6)
    ax.set_xscale("log")
    plain_ticks(ax)
    middle = float(np.median(counts))
    ax.axvline(middle, color=STYLES[1]["color"], linestyle="--", linewidth=1.5)
    ax.annotate(f" median {middle:.0f}", (middle, ax.get_ylim()[1]), va="top", fontsize=9)
    return tidy(ax, "How active the users are", "events of a user", "users")
