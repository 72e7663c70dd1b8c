"""What all figures share: colours and marks that survive colour blindness and a grey printer, axes without clutter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STYLES", "axes", "direct_label", "new_figure", "plain_ticks", "save", "tidy"]

# Okabe and Ito's colours in an order of falling darkness, each with a dash and a mark of its own.
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0b3c5d", "linestyle": "-", "marker": "o"},
    {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    {"color": "#009e73", "linestyle": "-.", "marker": "^"},
    {"color": "#cc79a7", "linestyle": ":", "marker": "D"},
    {"color": "#e69f00", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    {"color": "#56b4e9", "linestyle": (0, (1, 2)), "marker": "P"},
)


def axes(ax: Axes | None) -> Axes:
    """The axes to draw into: the given ones, or those of a new figure."""
    return new_figure(1).axes[0] if ax is None else ax


def new_figure(panels: int = 1) -> Figure:
    """A figure with panels side by side that needs no window and leaves no global state behind."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("figures need matplotlib: pip install 'sqlrank[plot]'") from error
    figure = Figure(figsize=(6.0 * panels, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.subplots(1, panels)
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as .png, .svg or .pdf."""
    place = Path(path)
    known = figure.canvas.get_supported_filetypes()
    if place.suffix.lstrip(".").lower() not in known:
        raise ConfigError(f"{place}: a figure is written as .png, .svg or .pdf")
    figure.savefig(place, dpi=150)
    return place


def tidy(ax: Axes, title: str, x: str, y: str) -> Axes:
    """Title, labels, a light grid and no box."""
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(True, color="#d8dee4", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def direct_label(ax: Axes, lines: int) -> None:
    """A legend where there is more than one line."""
    if lines > 1:
        ax.legend(frameon=False, fontsize=9)


def plain_ticks(ax: Axes) -> None:
    """Numbers such as 1, 10, 100 on a logarithmic axis instead of powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
