"""A line chart as SVG: small, self-contained, readable in grey and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["line_chart", "ticks"]

_WIDTH, _HEIGHT = 460.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 14.0, 26.0, 38.0


def line_chart(
    x: Sequence[float],
    y: Sequence[float],
    title: str,
    x_label: str,
    mark: float | None = None,
    mark_text: str = "",
) -> str:
    """One line; `mark` draws a dashed rule at this x, such as the epoch that was kept."""
    points = [(a, b) for a, b in zip(x, y, strict=True) if b is not None and math.isfinite(b)]
    if len(points) < 2:
        return ""
    x_low, x_high = points[0][0], points[-1][0]
    y_ticks = ticks(min(b for _, b in points), max(b for _, b in points))
    y_low = min(y_ticks[0], *(b for _, b in points))
    y_high = max(y_ticks[-1], *(b for _, b in points))

    def place(a: float, b: float) -> tuple[float, float]:
        across = (a - x_low) / ((x_high - x_low) or 1.0)
        up = (b - y_low) / ((y_high - y_low) or 1.0)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [f'<text x="{_LEFT}" y="15" style="font-weight:600">{escape(title)}</text>']
    for tick in y_ticks:
        _, height = place(x_low, tick)
        parts.append(_rule(_LEFT, height, _WIDTH - _RIGHT, height, "var(--line)"))
        parts.append(_text(_LEFT - 8, height + 4, _number(tick), "end"))
    whole = sorted(
        {round(tick) for tick in ticks(x_low, x_high) if x_low <= round(tick) <= x_high} | {x_low, x_high}
    )
    for tick in _apart(whole, (x_high - x_low) / 12):
        left, bottom = place(tick, y_low)
        parts.append(_text(left, bottom + 18, _number(tick), "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_label, "middle"))
    if mark is not None:
        left, bottom = place(mark, y_low)
        parts.append(_rule(left, _TOP, left, bottom, "var(--soft)", "4 3"))
        side = "end" if left > _WIDTH / 2 else "start"
        parts.append(_text(left + (-6 if side == "end" else 6), bottom - 8, mark_text, side))
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in points))
    parts.append(f'<polyline points="{line}" fill="none" stroke="var(--accent)" stroke-width="2.2"/>')
    return f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers that cover low to high.

    >>> ticks(0.0, 0.31)
    [0.0, 0.1, 0.2, 0.3, 0.4]
    """
    span = (high - low) or abs(high) or 1.0
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * n, 12) for n in range(first, last + 1)]


def _apart(values: Sequence[float], least: float) -> list[float]:
    kept: list[float] = []
    for value in values:
        if kept and value - kept[-1] < least:
            if value == values[-1]:
                kept[-1] = value
            continue
        kept.append(value)
    return kept


def _number(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'
