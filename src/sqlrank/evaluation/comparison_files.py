"""A comparison as files: parquet for machines, Markdown for people, a figure for slides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrank.evaluation.comparison_text import markdown

if TYPE_CHECKING:
    from sqlrank.evaluation.comparison import Comparison

__all__ = ["draw", "save"]

_DARK, _GREY, _RULE = "#0b3c5d", "#8c959f", "#d8dee4"


def save(result: Comparison, folder: Path) -> Path:
    """Write all files; the figure only where matplotlib is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    result.table.write_parquet(folder / "comparison.parquet")
    result.per_user.write_parquet(folder / "per_user.parquet")
    text = markdown(result)
    figure = draw(result)
    if figure is not None:
        figure.savefig(folder / "comparison.png", dpi=150)
        text += "\n![comparison](comparison.png)\n"
    (folder / "comparison.md").write_text(text, "utf-8")
    return folder


def draw(result: Comparison) -> Any:
    """One panel per metric: a dot per seed, a bar at the mean; None without matplotlib or anything to draw."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    names = result.ranking[::-1]
    if not names:
        return None
    panels = len(result.metrics)
    figure = Figure(figsize=(1.6 + 3.1 * panels, 1.7 + 0.36 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    for ax, metric in zip(axes, result.metrics, strict=True):
        _panel(ax, result, names, metric)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(-0.6, len(names) - 0.4)
    figure.suptitle(result.verdict, fontsize=9, x=0.01, ha="left", wrap=True)
    rules = f"{result.protocol_line}\n{result.setup}; bars: means, marks: seeds"
    figure.supxlabel(rules, fontsize=7, color="#57606a", x=0.01, ha="left")
    return figure


def _panel(ax: Any, result: Comparison, names: list[str], metric: str) -> None:
    means = [result.mean(name, metric) for name in names]
    # As every model is judged by its distance from 0, the axis starts there.
    colours = [_DARK if name == names[-1] else _GREY for name in names]
    ax.barh(range(len(names)), means, height=0.62, color=colours)
    for place, (name, mean) in enumerate(zip(names, means, strict=True)):
        values = [evaluation[metric] for evaluation in result[name]]
        if len(values) > 1:
            ax.plot(values, [place] * len(values), "|", color="#d55e00", markersize=7, markeredgewidth=1.2)
        ax.annotate(f" {mean:.4f}", (max([mean, *values]), place), va="center", fontsize=8)
    ax.set_xlim(0, max([*means, 1e-9]) * 1.28)
    ax.set_title(metric, loc="left", fontsize=10)
    ax.xaxis.grid(True, color=_RULE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
