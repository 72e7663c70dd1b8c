"""How long artificial data takes, and how much memory: one run per line, each in a process of its own.

python benchmarks/generate.py                 # 50 million events
python benchmarks/generate.py --events 5e6 --threads 1
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time


def measure(kind: str, n_events: int, n_items: int, threads: int | None) -> None:
    from sqlrank.data.datasets.generators import make_events, make_ratings

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    make = make_events if kind == "events" else make_ratings
    start, cpu_before = time.perf_counter(), time.process_time()
    data = make(max(1, n_events // 50), n_items, rank=16, events_per_user=50, seed=0, threads=threads)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_before
    train = data.train
    arrays = [train.indptr, train.indices, train.values, train.timestamps]
    result = sum(array.nbytes for array in arrays if array is not None) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{kind:8} {len(train):>12,} events  {train.n_users:>9,} users x {n_items:,} items"
        f"  {seconds:6.1f} s (CPU {cpu:.1f} s)  {len(train) / seconds / 1e6:5.2f} M/s"
        f"  peak {peak:,.0f} MB ({before:,.0f} MB before)  arrays {result:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=float, default=50e6, help="how many events, about")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument(
        "--kind", choices=["events", "ratings"], default=None, help="only this kind, in this process"
    )
    args = parser.parse_args()
    if args.kind is not None:
        measure(args.kind, int(args.events), args.items, args.threads)
        return
    for kind in ("events", "ratings"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--kind", kind], check=True)


if __name__ == "__main__":
    main()
