"""How many threads the kernels use: decided here and nowhere else."""

from __future__ import annotations

import math
import os
from pathlib import Path

from sqlrank.errors import ConfigError

_chosen: int | None = None


def set_threads(threads: int | None) -> None:
    """Set the number of threads for everything that follows; None goes back to the default rule."""
    global _chosen
    _chosen = None if threads is None else _checked(threads, "threads")


def resolve_threads(threads: int | None = None) -> int:
    """Return how many: argument > `set_threads` > SQLRANK_NUM_THREADS > OMP_NUM_THREADS > the machine.

    The machine's number is the smaller of the processors this process may use and the container's CPU quota.
    """
    return explain_threads(threads)[0]


def explain_threads(threads: int | None = None) -> tuple[int, str]:
    """Return the number of threads and the reason for it."""
    if threads is not None:
        return _checked(threads, "threads"), "argument"
    if _chosen is not None:
        return _chosen, "sqlrank.set_threads"
    for name in ("SQLRANK_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0].strip()
        if value:
            return _checked(value, name), name
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = container_cpu_quota()
    if quota is not None and math.ceil(quota) < affinity:
        return max(1, math.ceil(quota)), f"container limit of {quota:g} CPUs"
    return affinity, "processors this process may use"


def container_cpu_quota(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the cgroup's CPU limit in processors, or None where there is none."""
    try:
        limit, period = (root / "cpu.max").read_text().split()[:2]
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        limit = (root / "cpu/cpu.cfs_quota_us").read_text().strip()
        period = (root / "cpu/cpu.cfs_period_us").read_text().strip()
        return None if int(limit) < 0 else int(limit) / int(period)
    except (OSError, ValueError):
        return None


def _checked(value: int | str, name: str) -> int:
    try:
        threads = int(value)
    except (TypeError, ValueError):
        threads = 0
    if threads < 1 or threads > 1024:
        raise ConfigError(f"{name} is {value!r}; give a whole number from 1 to 1024")
    return threads
