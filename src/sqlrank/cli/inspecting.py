"""`sqlrank inspect`: what is in a file, and which flags fit it."""

from __future__ import annotations

import datetime
import itertools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from cyclopts import Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.diagnosis import Diagnosis, diagnose
from sqlrank.cli.output import print_json, print_table, say
from sqlrank.cli.places import check_writable
from sqlrank.data import Interactions, read
from sqlrank.errors import SqlrankError

__all__ = ["inspect"]

_MOST_COLUMNS = 24


def inspect(
    file: Annotated[str, Parameter(help="Parquet, CSV or other text, NDJSON; a folder or a pattern, too.")],
    /,
    *,
    figure: Annotated[
        str | None,
        Parameter(help="Draw popularity and activity into a .png, .svg or .pdf file.", show_default=False),
    ] = None,
    reading: Reading = Reading(),  # noqa: B008 # frozen
    common: Common = Common(),  # noqa: B008
) -> None:
    """What is in this file, and which flags fit it?

    Shows the columns and which of them would be used, problems and the flags that deal with them, then the events
    as `fit` would see them.
    """
    place = None if figure is None else Path(figure)
    if place is not None:
        check_writable(place.absolute().parent)
    found = diagnose(file, reading)
    findings = [{"finding": f.text, "flags": f.flags} for f in found.findings]
    seen = {"columns": dict(found.choice.names), "findings": findings}
    if not common.json:
        _print_found(found)
    try:
        data = read(file, **found.reading.arguments(), threads=common.threads, verbose=False)
    except SqlrankError:
        # What was seen helps to understand the error, so it goes out even then.
        if common.json:
            print_json(seen)
        raise
    words = ["sqlrank fit", shlex.quote(file), found.reading.flags(), "-o model"]
    command = " ".join(filter(None, words))
    facts = _facts(data)
    if place is not None:
        _draw(data, place)
    if common.json:
        print_json({**seen, **facts, "command": command})
        return
    _print_events(data, facts)
    say(f"\nnext: {command}", common.quiet)


def _print_found(found: Diagnosis) -> None:
    print_table(_columns(found))
    if found.raw.width > _MOST_COLUMNS:
        print(f"… and {found.raw.width - _MOST_COLUMNS} more columns")
    if found.findings:
        print("\nfound")
        for finding in found.findings:
            print(f"  - {finding.text}" + (f"\n      {finding.flags}" if finding.flags else ""))


def _print_events(data: Interactions, facts: Mapping[str, Any]) -> None:
    print("\nread with these flags")
    print("\n".join(f"  {line}" for line in str(data.report).splitlines() if "columns:" not in line))
    print()
    print_table(pl.DataFrame({"what": list(facts), "value": [_shown(v) for v in facts.values()]}))
    if data.values is not None:
        print("\nratings")
        print_table(_levels(data.values), "  ")


def _columns(found: Diagnosis) -> pl.DataFrame:
    roles = {name: role for role, name in found.choice.names.items()}
    rows = []
    for name in sorted(found.raw.columns, key=lambda name: name not in roles)[:_MOST_COLUMNS]:
        column = found.raw[name]
        role = roles.get(name, "")
        why = " (by its name or place)" if role in found.choice.guessed else ""
        examples = ", ".join(str(value) for value in column.drop_nulls().unique(maintain_order=True).head(3))
        rows.append(
            {
                "column": name,
                "used as": role + why,
                "type": "text" if column.dtype == pl.String else str(column.dtype).lower(),
                "missing": int(column.null_count()),
                "such as": examples if len(examples) <= 60 else examples[:59] + "…",
            }
        )
    return pl.DataFrame(rows)


def _facts(data: Interactions) -> dict[str, Any]:
    per_user, per_item = np.diff(data.indptr), np.bincount(data.indices, minlength=data.n_items)
    ordered = np.sort(per_item)[::-1]
    facts: dict[str, Any] = {
        "users": data.n_users,
        "items": data.n_items,
        "events": len(data),
        "density": f"{data.density:.4%} of all (user, item) pairs",
        "events per user": _spread(per_user),
        "events per item": _spread(per_item),
        "head": f"the most popular tenth of the items has {_share(ordered[: max(1, len(ordered) // 10)], data):.0%}",
        "tail": f"the less popular half of the items has {_share(ordered[len(ordered) // 2 :], data):.0%}",
        "users with fewer than 5 events": int((per_user < 5).sum()),
        "items with fewer than 5 events": int((per_item < 5).sum()),
    }
    if data.timestamps is not None:
        facts["time"] = _span(data.timestamps)
    return facts


def _share(counts: np.ndarray[Any, Any], data: Interactions) -> float:
    return float(counts.sum()) / max(1, len(data))


def _spread(counts: np.ndarray[Any, Any]) -> str:
    low, middle, high = np.percentile(counts, [0, 50, 100])
    return f"from {low:,.0f} to {high:,.0f}, median {middle:,.0f}"


def _span(times: np.ndarray[Any, Any]) -> str:
    first, last = int(times.min()), int(times.max())
    scale = next((s for s in (1_000_000, 1_000, 1) if _sensible(first / s) and _sensible(last / s)), None)
    if scale is None:
        return f"from {first:,} to {last:,}"
    days = (last - first) / scale / 86_400
    begin, end = (datetime.datetime.fromtimestamp(t / scale, datetime.UTC).date() for t in (first, last))
    return f"{begin} to {end}, {days:,.0f} days"


def _sensible(seconds: float) -> bool:
    """Whether a moment lies between 1990 and 2100."""
    return 631_152_000 <= seconds <= 4_102_444_800


def _levels(values: np.ndarray[Any, Any]) -> pl.DataFrame:
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) > 12:
        edges = np.histogram_bin_edges(values, 8)
        counts, _ = np.histogram(values, edges)
        names = [f"{a:g} to {b:g}" for a, b in itertools.pairwise(edges)]
    else:
        names = [f"{level:g}" for level in levels]
    bars = ["█" * round(30 * count / counts.max()) for count in counts]
    return pl.DataFrame({"rating": names, "events": counts.tolist(), "": bars})


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _draw(data: Interactions, place: Path) -> None:
    from sqlrank import plotting

    figure = plotting.new_figure(2)
    plotting.popularity_of_data(data, ax=figure.axes[0])
    plotting.activity(data, ax=figure.axes[1])
    plotting.save(figure, place)
