"""What an evaluation costs on top of the bare top-k lists, and how much memory it takes (Gowalla, 29,858 users).

python benchmarks/evaluate.py --data-dir DATA            7 metrics at 3 cut-offs; the bound is 1.3 x and 300 MB
python benchmarks/evaluate.py --data-dir DATA --auc      the exact area under the curve, too
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np

import sqlrank

METRICS = [
    f"{kind}@{k}"
    for kind in ("precision", "recall", "recall_capped", "ndcg", "map", "mrr", "hit")
    for k in (5, 10, 20)
]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(repeat: int, *calls: Callable[[], object]) -> list[float]:
    """Seconds of each call, the least of several rounds in which they take turns."""
    seconds = [float("inf")] * len(calls)
    for _ in range(repeat):
        for which, call in enumerate(calls):
            start = time.perf_counter()
            call()
            seconds[which] = min(seconds[which], time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--auc", action="store_true")
    args = parser.parse_args()
    data = sqlrank.datasets.load("gowalla", data_dir=args.data_dir)
    model = sqlrank.SQLRank(rank=args.rank, epochs=1, feedback="implicit").fit(
        data.train, threads=args.threads
    )
    users = np.flatnonzero(np.diff(data.test.indptr)).astype(np.int32)
    before = peak_mb()
    lists, evaluation = best(
        args.repeat,
        lambda: model.rank_codes(users, 20, exclude=model.seen.take(users), threads=args.threads),
        lambda: sqlrank.evaluate(model, data.test, METRICS, threads=args.threads),
    )
    row = {
        "users": len(users),
        "metrics": len(METRICS),
        "rank": args.rank,
        "top_k_seconds": round(lists, 3),
        "evaluate_seconds": round(evaluation, 3),
        "ratio": round(evaluation / lists, 3),
        "peak_mb_of_the_process": round(peak_mb()),
        "of_it_before_evaluating": round(before),
    }
    if args.auc:
        start = time.perf_counter()
        value = sqlrank.evaluate(model, data.test, ["auc"], threads=args.threads)["auc"]
        row |= {"auc": round(value, 4), "auc_seconds": round(time.perf_counter() - start, 1)}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
