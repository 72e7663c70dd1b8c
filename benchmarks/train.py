"""Speed and memory of training. Every part prints one JSON line; ratios are measured within one run.

python benchmarks/train.py epoch --data-dir DATA     an epoch of ml-1m-oc50's shape, 1 and 2 threads, against BPR
python benchmarks/train.py data                      time per list entry from 1 M to 100 M entries; peak memory
python benchmarks/train.py items                     time per list entry from 10,000 to 1,000,000 items
python benchmarks/train.py rank                      time per list entry and unit of rank, ranks 32 to 256
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sqlrank import _core
from sqlrank._arrays import padded_rows
from sqlrank.losses import PlackettLuce
from sqlrank.training.lists import ListData
from sqlrank.training.trainer import make_engine

EVENTS, NEGATIVES = 50, 3
PER_USER = EVENTS * (1 + NEGATIVES)


def synthetic(n_users: int, n_items: int, seed: int = 0) -> ListData:
    """50 events a user, one from each fiftieth of the catalogue: distinct, ascending, spread over all items."""
    rng = np.random.default_rng(seed)
    items = np.empty((n_users, EVENTS), np.int32)
    grid = np.arange(EVENTS)
    for first in range(0, n_users, 100_000):
        block = items[first : first + 100_000]
        block[:] = (grid + rng.random(block.shape, np.float32)) * (n_items / EVENTS)
    np.minimum(items, n_items - 1, out=items)
    return ListData(np.arange(n_users + 1, dtype=np.int64) * EVENTS, items.ravel(), None, n_items)


def real(data_dir: str) -> ListData:
    import polars as pl

    table = pl.read_parquet(Path(data_dir) / "ml-1m-oc50" / "train.parquet").sort("user", "item")
    users, items = table["user"].to_numpy() - 1, table["item"].to_numpy() - 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(users))]).astype(np.int64)
    return ListData(starts, items.astype(np.int32), None, 3533)


class Run:
    """An engine and its factors; `epoch()` times one epoch."""

    def __init__(self, data: ListData, rank: int, automatic: bool = False) -> None:
        users, items = padded_rows(data.n_users, rank), padded_rows(data.catalogue, rank)
        _core.normal_rows(1, 0, 0, rank, 0.1, users)
        _core.normal_rows(1, 1, 0, rank, 0.1, items)
        self.now = (users, items)
        self.next = (np.zeros_like(users), np.zeros_like(items))
        self.engine = make_engine(data, PlackettLuce(), NEGATIVES, 1, users.shape[1])
        self.entries = self.engine.entries
        self.automatic = automatic
        self.number = 0

    def epoch(self, threads: int) -> float:
        begin = time.perf_counter()
        self.engine.epoch(*self.now, *self.next, self.number, 0.02, 4.0, self.automatic, threads)
        seconds = time.perf_counter() - begin
        self.now, self.next, self.number = self.next, self.now, self.number + 1
        return seconds

    def best(self, threads: int, repeats: int = 5) -> float:
        self.epoch(threads)  # buffers are made in the first epoch
        return min(self.epoch(threads) for _ in range(repeats))


def say(**facts: object) -> None:
    print(json.dumps({"isa": _core.isa, **facts}), flush=True)


def part_epoch(data_dir: str | None, rounds: int = 5) -> None:
    """Interleave the contenders and keep the best of each, so that a noisy minute hits all of them."""
    data = real(data_dir) if data_dir else synthetic(3937, 3533)
    run, auto = Run(data, 100), Run(data, 100, automatic=True)
    bpr = bpr_epoch(data)
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, measure in {
            "threads_1": lambda: run.best(1),
            "threads_2": lambda: run.best(2),
            "auto_2": lambda: auto.best(2),
            **({"bpr_2": lambda: bpr(2)} if bpr else {}),
        }.items():
            seconds[name] = min(seconds.get(name, 9e9), measure())
    facts = {name: round(value * 1e3, 2) for name, value in seconds.items()}
    speed = {
        name: round(run.entries / seconds[name] / 1e6, 1) for name in ("threads_1", "threads_2", "auto_2")
    }
    result = {
        "entries": run.entries,
        "rank": 100,
        "ms": facts,
        "m_entries_per_second": speed,
        "threads_2_over_1": round(seconds["threads_1"] / seconds["threads_2"], 2),
    }
    if bpr:
        bpr_speed = 2 * len(data.items) / seconds["bpr_2"] / 1e6
        result["bpr_m_items_per_second"] = round(bpr_speed, 1)
        result["times_bpr"] = round(speed["threads_2"] / bpr_speed, 2)
    else:
        result["bpr"] = "not measured: implicit is not installed"
    say(part="epoch", **result)


def bpr_epoch(data: ListData):
    """One epoch of implicit's BPR: as many samples as events, two items each, same rank."""
    try:
        from implicit.cpu.bpr import BayesianPersonalizedRanking
    except ImportError:
        return None
    from scipy.sparse import csr_matrix

    shape = (data.n_users, data.catalogue)
    matrix = csr_matrix((np.ones(len(data.items), np.float32), data.items, data.starts), shape=shape)

    def measure(threads: int) -> float:
        epochs = 20

        def seconds(iterations: int) -> float:
            model = BayesianPersonalizedRanking(
                factors=100, iterations=iterations, num_threads=threads, random_state=1
            )
            begin = time.perf_counter()
            model.fit(matrix, show_progress=False)
            return time.perf_counter() - begin

        # The set-up of fit is not the epoch: take it off.
        return (seconds(epochs + 1) - seconds(1)) / epochs

    return measure


def part_data() -> None:
    """Each size in a process of its own, for its peak memory."""
    sizes = [1_000_000, 10_000_000, 100_000_000]
    results = [in_process("one-size", str(size)) for size in sizes]
    say(part="data", items=10_000, rank=64, sizes=results, spread=spread(r["ns_per_entry"] for r in results))


def part_one_size(entries: int, rank: int = 64, n_items: int = 10_000) -> None:
    data = synthetic(entries // PER_USER, n_items)
    baseline = peak_mb()
    interactions = (data.starts.nbytes + data.items.nbytes) / 1e6
    run = Run(data, rank)
    seconds = run.best(2, 5 if entries <= 10_000_000 else 3)
    factors = sum(f.nbytes for f in run.now) / 1e6
    lists = run.entries * 8 / 1e6  # an item code and a coefficient per entry
    budget = interactions + factors + lists
    ns = round(seconds / run.entries * 1e9, 2)
    print(
        json.dumps(
            {
                "entries": run.entries,
                "ns_per_entry": ns,
                "peak_mb_over_start": round(peak_mb() - baseline + interactions, 1),
                "interactions_factors_lists_mb": round(budget, 1),
                "memory_ratio": round((peak_mb() - baseline + interactions) / budget, 3),
            }
        )
    )


def part_items(rank: int = 64) -> None:
    results = []
    for n_items in (10_000, 100_000, 1_000_000):
        run = Run(synthetic(100_000, n_items), rank)
        results.append({"items": n_items, "ns_per_entry": round(run.best(2, 3) / run.entries * 1e9, 2)})
    # An entry reads an item row (again from cache for the gradient and the second scores), in the item phase a user
    # row, and 8 bytes each of list, sorting (twice) and gradient traffic, at least.
    per_entry = 2 * rank * 4 + 40
    achieved = per_entry / results[-1]["ns_per_entry"]
    available = copy_bandwidth()
    say(
        part="items",
        rank=rank,
        sizes=results,
        slowdown=round(results[-1]["ns_per_entry"] / results[0]["ns_per_entry"], 2),
        bytes_per_entry_at_least=per_entry,
        gb_per_second_at_1m_items=round(achieved, 1),
        copy_gb_per_second=round(available, 1),
        share_of_copy_bandwidth=round(achieved / available, 2),
    )


def part_rank() -> None:
    results = []
    data = synthetic(5_000, 3_500)
    for rank in (32, 64, 128, 256):
        run = Run(data, rank)
        results.append(
            {"rank": rank, "ps_per_entry_and_unit": round(run.best(2, 9) / run.entries / rank * 1e12, 1)}
        )
    say(part="rank", ranks=results, spread=spread(r["ps_per_entry_and_unit"] for r in results))


def spread(values) -> float:
    """Largest over smallest."""
    values = list(values)
    return round(max(values) / min(values), 2)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 * 1.048576


def copy_bandwidth() -> float:
    """Read plus write GB/s of copying 400 MB, two threads."""
    from concurrent.futures import ThreadPoolExecutor

    source = np.ones(100_000_000, np.float32)
    target = np.empty_like(source)
    halves = [slice(0, 50_000_000), slice(50_000_000, None)]
    best = 9e9
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            begin = time.perf_counter()
            list(pool.map(lambda part: np.copyto(target[part], source[part]), halves))
            best = min(best, time.perf_counter() - begin)
    return 2 * source.nbytes / best / 1e9


def in_process(*arguments: str) -> dict:
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["epoch", "data", "items", "rank", "all", "one-size"])
    parser.add_argument("entries", nargs="?", type=int)
    parser.add_argument(
        "--data-dir", help="the folder with ml-1m-oc50; without it, made-up data of that shape"
    )
    options = parser.parse_args()
    if options.part == "one-size":
        part_one_size(options.entries)
        return
    parts = {
        "epoch": lambda: part_epoch(options.data_dir),
        "data": part_data,
        "items": part_items,
        "rank": part_rank,
    }
    for name, part in parts.items():
        if options.part in (name, "all"):
            part()


if __name__ == "__main__":
    main()
