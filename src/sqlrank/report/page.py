"""The parts of a page: text, tables, cards. No scripts, no fonts, no links to anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import polars as pl

__all__ = ["card", "cards", "code", "page", "paragraph", "section", "table"]

_STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --accent: #0b5394; --paper: #ffffff; --tint: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --accent: #79b8ff; --paper: #0d1117; --tint: #161b22; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.2rem 0; }
.card { flex: 1 1 9rem; border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem;
  background: var(--tint); }
.card b { display: block; font-size: 1.45rem; line-height: 1.25; } .card span { color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; } th, td { padding: .32rem .8rem .32rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } tr.best td { font-weight: 650; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem;
  overflow-x: auto; font-size: .85rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem; }
"""


def page(title: str, subtitle: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body><main>\n"
        f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>\n'
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def section(heading: str, *parts: str) -> str:
    """A heading and what follows."""
    return f"<section><h2>{escape(heading)}</h2>\n" + "\n".join(parts) + "</section>"


def paragraph(text: str, soft: bool = False) -> str:
    """Plain text."""
    return f'<p class="soft">{escape(text)}</p>' if soft else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """Commands or settings, as they are typed."""
    return f"<pre>{escape(text)}</pre>"


def card(value: str, label: str) -> str:
    """One large number and what it is."""
    return f'<div class="card"><b>{escape(value)}</b><span>{escape(label)}</span></div>'


def cards(parts: Iterable[str]) -> str:
    """Cards in a row."""
    return f'<div class="cards">{"".join(parts)}</div>'


def table(frame: pl.DataFrame, best: Sequence[bool] = ()) -> str:
    """A table; rows marked best are bold."""
    classes = [' class="n"' if dtype.is_numeric() else "" for dtype in frame.dtypes]
    head = "".join(f"<th{c}>{escape(name)}</th>" for name, c in zip(frame.columns, classes, strict=True))
    rows = []
    for place, row in enumerate(frame.iter_rows()):
        cells = "".join(f"<td{c}>{escape(_shown(value))}</td>" for value, c in zip(row, classes, strict=True))
        rows.append(f'<tr class="best">{cells}</tr>' if best and best[place] else f"<tr>{cells}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
