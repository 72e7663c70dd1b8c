"""Log-log figures of the rates. matplotlib (extra `plot`) is imported when a figure is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    from sqlrank.theory.rates import Slope

NO_POWER_LAW = "no power law"
SYMBOLS = {"features": {"size": "s (features)"}, "": {"size": "r (rank)"}}
TITLES = {
    "features": "Corollary 1: one weight vector over s features",
    "fixed-norms": "Corollary 2 as printed: |U| and |V| constant",
    "growing-norms": "Corollary 2 with scores of constant size: |U| ~ √n, |V| ~ √m",
}


def require_matplotlib() -> None:
    """Raise ConfigError where figures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ConfigError("figures need matplotlib: pip install 'sqlrank[plot]'") from error


def axis_name(setting: str, axis: str) -> str:
    """Return what an axis of the grid is called: n, m, and s or r."""
    return SYMBOLS.get(setting, SYMBOLS[""]).get(axis, {"n": "n (lists)", "m": "m (items)"}.get(axis, axis))


def plot_rates(setting: str, slopes: Sequence[Slope], axes: Sequence[Any] | None = None) -> Sequence[Any]:
    """Draw D against every axis of the grid, the fitted power law, and the printed bound's shape; return the axes.

    The bound is printed without a constant, so its line is moved to pass through the middle point.
    """
    if axes is None:
        require_matplotlib()
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.6 * len(slopes), 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(TITLES.get(setting, setting), fontsize=11)
        axes = figure.subplots(1, len(slopes), sharey=True)
    for ax, slope in zip(axes, slopes, strict=True):
        _draw(ax, setting, slope)
    axes[0].set_ylabel("excess risk D (nats per list)")
    return axes


def _draw(ax: Any, setting: str, slope: Slope) -> None:
    from matplotlib.ticker import LogLocator

    x, y = np.array(slope.values, float), np.array(slope.risk)
    bound = np.array(slope.bound)
    middle = len(x) // 2
    centre = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
    ax.errorbar(x, y, 2 * np.array(slope.risk_error), fmt="o", ms=4, capsize=2, color="C0", label="simulated")
    if slope.verdict.startswith(NO_POWER_LAW):
        ax.plot(x, y, color="C0", lw=1, label=NO_POWER_LAW)
    else:
        label = f"fit {slope.exponent:+.2f} [{slope.low:+.2f}, {slope.high:+.2f}]"
        ax.plot(x, centre[1] * (x / centre[0]) ** slope.exponent, color="C0", lw=1, label=label)
    shape = bound * y[middle] / bound[middle]
    ax.plot(x, shape, "--", color="C3", lw=1.2, label=f"printed bound {slope.bound_exponent:+.2f}")
    ax.plot(x, [p.zero for p in slope.points], ":", color="0.45", lw=1.4, label="guessing: D(X*, 0)")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(x, [f"{int(v)}" for v in x])
    ax.minorticks_off()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(axis_name(setting, slope.axis))
    ax.grid(alpha=0.25)
    ax.legend(fontsize=7.5, frameon=False)
