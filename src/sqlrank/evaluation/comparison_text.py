"""A comparison for people: plain text, Markdown, and a table with colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlrank.evaluation.significance import Difference

if TYPE_CHECKING:
    from sqlrank.evaluation.comparison import Comparison

__all__ = ["cells", "markdown", "plain_text", "rich_view"]


def cells(result: Comparison) -> list[list[str]]:
    """The header, then one list of texts per model; failed models have none but their name."""
    first = result.metrics[0]
    header = ["model", first, "to best rival (95 %)", *result.metrics[1:]]
    header += ["fit s", "users/s", "memory MB"]
    lines = [header]
    for row in result.table.iter_rows(named=True):
        if row["error"] is not None:
            lines.append([row["model"], "failed", *[""] * (len(header) - 2)])
            continue
        values = [_with_spread(row[metric], row[f"{metric} sd"]) for metric in result.metrics]
        seconds, speed, memory = row["fit_seconds"], row["users_per_second"], row["peak_memory_mb"]
        gap = result.rival(row["model"])
        numbers = [f"{seconds:.2f}", f"{speed:,.0f}", "-" if memory is None else f"{memory:,.0f}"]
        difference = "-" if gap is None else _interval(gap[1])
        lines.append([row["model"], values[0], difference, *values[1:], *numbers])
    return lines


def footnotes(result: Comparison) -> list[str]:
    """What the numbers are numbers of, what failed, and what follows."""
    seeds = ", ".join(map(str, result.seeds))
    spread = " ± standard deviation over seeds" if len(result.seeds) > 1 else ""
    done = next((row.trials[0].evaluation for row in result.rows if row.trials), None)
    users = "" if done is None else f"; {done.users.evaluated:,} users evaluated"
    if done is not None and done.users.without_history:
        users += f", {done.users.without_history:,} of them without training events"
    lines = [
        f"protocol  {result.protocol_line}",
        f"split     {result.setup}{users}",
        f"numbers   means{spread} ({seeds}); * = the 95 % interval of the difference leaves 0 out",
    ]
    lines += [f"failed    {row.name}: {row.error}" for row in result.rows if row.error is not None]
    return lines


def plain_text(result: Comparison) -> str:
    """Aligned columns, notes, verdict."""
    lines = cells(result)
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    text = [
        "  ".join(
            cell.ljust(width) if c == 0 else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rule = "-" * max(len(line) for line in text)
    return "\n".join([text[0], rule, *text[1:], "", *footnotes(result), "", result.verdict])


def markdown(result: Comparison) -> str:
    """The same as Markdown."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in cells(result)]
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    rule = "|:--|" + "--:|" * (len(lines[0]) - 1)
    notes = [f"- {' '.join(note.split())}".replace("|", "\\|") for note in footnotes(result)]
    settings = [
        f"- {row.name}: {row.model}({', '.join(f'{k}={v!r}' for k, v in row.settings.items())})"
        for row in result.rows
    ]
    parts = [
        ["# Comparison", "", result.verdict, ""],
        [head, rule, *body],
        ["", *notes, "", "## Settings", ""],
    ]
    return "\n".join([line for part in parts for line in part] + settings) + "\n"


def rich_view(result: Comparison) -> Any:
    """A table for a terminal; the best model in bold, differences that are clear in colour."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    header, *lines = cells(result)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for place, line in enumerate(lines):
        gap = result.rival(line[0])
        colour = _colour(gap[1]) if gap and line[1] != "failed" else "dim"
        styled = [Text(cell, style=colour if column == 2 else "") for column, cell in enumerate(line)]
        table.add_row(*styled, style="bold" if place == 0 and line[1] != "failed" else "")
    notes = [Text(note, style="red" if note.startswith("failed") else "dim") for note in footnotes(result)]
    return Group(table, Text(), *notes, Text(), Text(result.verdict, style="bold"))


def _colour(gap: Difference) -> str:
    if not gap.is_clear:
        return ""
    return "green" if gap.value > 0 else "red"


def _with_spread(value: float | None, spread: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if spread is None else f"{value:.4f} ± {spread:.4f}"


def _interval(gap: Difference) -> str:
    return f"{gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]{'*' if gap.is_clear else ' '}"
