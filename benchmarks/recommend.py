"""Speed and memory of top-n lists; prints one JSON line whose ratios come from this one run.

python benchmarks/recommend.py --data-dir DATA

Top 20 for all users of gowalla with their training items excluded, from random factors of rank 64: `sqlrank` beside a
bare float32 matrix product of the same shape (numpy, in blocks of users) and beside implicit's batch `recommend` in
both of its thread configurations. Rounds alternate between them; the best of each counts. Ids are compared with sorting
all scores in float64.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.models import ItemLists, RankedLists
from sqlrank.models.topk import rank_by_factors

USERS, ITEMS, RANK, TOP = 29_858, 40_981, 64, 20
BLOCK = 1024


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of all threads, result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def blas_threads(threads: int) -> contextlib.AbstractContextManager[Any]:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # comes with implicit; without it numpy uses the threads its environment names
        return contextlib.nullcontext()
    return threadpool_limits(threads, user_api="blas")


def matrix_product(users: NDArray[np.float32], items: NDArray[np.float32]) -> None:
    out = np.empty((BLOCK, len(items)), np.float32)
    for begin in range(0, len(users), BLOCK):
        block = users[begin : begin + BLOCK]
        np.matmul(block, items.T, out=out[: len(block)])


def implicit_recommender(
    users: NDArray[np.float32], items: NDArray[np.float32], seen: ItemLists
) -> Callable[[], Any]:
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    model = AlternatingLeastSquares(factors=RANK, num_threads=2)
    model.user_factors, model.item_factors = users, items
    values = np.ones(len(seen.indices), np.float32)
    liked = csr_matrix((values, seen.indices, seen.indptr), shape=(len(users), len(items)))
    everybody = np.arange(len(users))
    return lambda: model.recommend(everybody, liked, N=TOP, filter_already_liked_items=True)


def wrong_lists(
    ranked: RankedLists, users: NDArray[np.float32], items: NDArray[np.float32], seen: ItemLists
) -> int:
    """How many lists differ from sorting all float64 scores, ties by lower code."""
    wide, wrong = items.astype(np.float64).T, 0
    for begin in range(0, len(users), BLOCK):
        scores = users[begin : begin + BLOCK].astype(np.float64) @ wide
        rows = seen.take(np.arange(begin, begin + len(scores), dtype=np.int32))
        scores[rows.row_numbers, rows.indices] = -np.inf
        best = np.argpartition(-scores, TOP + 10, axis=1)[:, : TOP + 10]
        for row, codes in enumerate(best):
            order = np.lexsort((codes, -scores[row, codes]))[:TOP]
            wrong += not np.array_equal(codes[order], ranked.row(begin + row)[0])
    return wrong


def reset_peak() -> float:
    """Give free memory back (what is reused would not count), forget the peak so far; MB in use."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--skip-check", action="store_true", help="do not compare ids with brute force")
    options = parser.parse_args()

    random = np.random.default_rng(0)
    users = random.normal(0, 0.1, (USERS, RANK)).astype(np.float32)
    items = random.normal(0, 0.1, (ITEMS, RANK)).astype(np.float32)
    train = pl.read_parquet(options.data_dir / "gowalla" / "train.parquet")
    seen = ItemLists.from_pairs(train["user"].to_numpy(), train["item"].to_numpy(), USERS)

    def ours(threads: int) -> RankedLists:
        return rank_by_factors(users, items, TOP, rank=RANK, exclude=seen, threads=threads)

    contestants: dict[str, Callable[[], Any]] = {
        "sqlrank": lambda: ours(options.threads),
        "sqlrank_1_thread": lambda: ours(1),
        "sgemm": lambda: matrix_product(users, items),
    }
    blas = {"sgemm": options.threads, "implicit": 1, "implicit_default": options.threads}
    facts: dict[str, Any] = {"benchmark": "recommend", "isa": _core.isa, "threads": options.threads}
    facts["shape"] = [USERS, ITEMS, RANK, TOP]
    try:
        rival = implicit_recommender(users, items, seen)
        contestants |= {"implicit": rival, "implicit_default": rival}
        facts["implicit_version"] = metadata.version("implicit")
    except ImportError as error:
        facts["implicit_skipped"] = str(error)

    before = reset_peak()
    ranked = ours(options.threads)
    facts["peak_extra_mb"] = round(memory("VmHWM") - before, 1)
    facts["wrong_lists"] = None if options.skip_check else wrong_lists(ranked, users, items, seen)

    wall = dict.fromkeys(contestants, float("inf"))
    cpu = dict(wall)
    for _ in range(options.rounds):
        for name, run in contestants.items():
            with blas_threads(blas.get(name, 1)):
                seconds, work, _ = timed(run)
            wall[name], cpu[name] = min(wall[name], seconds), min(cpu[name], work)

    facts["seconds"] = {name: round(value, 4) for name, value in wall.items()}
    facts["cpu_seconds"] = {name: round(value, 4) for name, value in cpu.items()}
    facts["users_per_second"] = round(USERS / wall["sqlrank"])
    facts["time_over_sgemm"] = round(wall["sqlrank"] / wall["sgemm"], 3)
    facts["two_threads_over_one"] = round(wall["sqlrank_1_thread"] / wall["sqlrank"], 2)
    if "implicit" in wall:
        rival_best = min(wall["implicit"], wall["implicit_default"])
        facts["speed_over_implicit"] = round(rival_best / wall["sqlrank"], 2)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
