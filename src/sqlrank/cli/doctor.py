"""`sqlrank doctor`: what a bug report needs."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.cli.common import Common
from sqlrank.cli.output import print_json, print_table

__all__ = ["doctor"]

# Module, what it is for, and the line that installs it.
_EXTRAS = {
    "matplotlib": ("figures", "pip install 'sqlrank[plot]'"),
    "optuna": ("tuning", "pip install optuna"),
    "pandas": ("pandas tables in and out", "pip install pandas"),
    "pyarrow": ("Arrow tables in and out", "pip install pyarrow"),
    "duckdb": ("DuckDB relations in", "pip install duckdb"),
    "fastexcel": ("the Excel file of online-retail", "pip install fastexcel"),
}


def doctor(*, common: Common = Common()) -> None:  # noqa: B008 # frozen
    """What a bug report needs to know: versions, processor, threads and why, memory, extras."""
    from sqlrank._threads import container_cpu_quota
    from sqlrank._versions import versions

    quota = container_cpu_quota()
    facts = {
        **versions(),
        "processor": _processor(),
        "processors": f"{os.cpu_count()} in the machine, {_usable()} for this process",
        "container": "no CPU limit" if quota is None else f"limited to {quota:g} CPUs",
        "memory": _memory(),
        "SQLRANK_*": ", ".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("SQLRANK_"))
        or "none",
    }
    extras = {name: find_spec(name) is not None for name in _EXTRAS}
    if common.json:
        print_json({"facts": facts, "extras": extras})
        return
    print_table(pl.DataFrame({"what": list(facts), "value": list(facts.values())}))
    rows: list[dict[str, Any]] = [
        {"extra": name, "for": _EXTRAS[name][0], "here": "yes" if there else f"no: {_EXTRAS[name][1]}"}
        for name, there in extras.items()
    ]
    print()
    print_table(pl.DataFrame(rows))


def _usable() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        import platform

        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    limit = _memory_limit()
    more = f", container limit {limit / 2**30:.1f} GiB" if limit else ""
    return f"{total / 2**30:.1f} GiB{more}"


def _memory_limit() -> int | None:
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (Path("/sys/fs/cgroup") / name).read_text("utf-8").strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < 1 << 60:
            return int(text)
    return None
