"""What a nightly update costs and loses: partial_fit with the newest tenth of ml-100k against a fit of everything.

python benchmarks/update.py --data-dir DATA

A tenth of the events, drawn at random, is the test. Of the others the first nine tenths by time are fitted, then the
last tenth arrives: most of it is of users never seen. NDCG@10 is the mean over the seeds, which draw the test, too;
seconds are the best of the seeds, with updates and fits taking turns.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings

import numpy as np

import sqlrank


def compare(data: sqlrank.Interactions, feedback: str, protocol: str, seeds: int, threads: int) -> None:
    quality, seconds = [], []
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sqlrank.split.LeakageWarning)
            rest, test = sqlrank.split.random(data, test=0.1, seed=seed)
        base, new = sqlrank.split.by_time(rest, test=0.1)
        known = sqlrank.SQLRank(feedback=feedback).fit(base, seed=seed, threads=threads)
        scores, times = [], []
        for learn in (
            lambda known=known, new=new, seed=seed: copy.deepcopy(known).partial_fit(
                new, seed=seed, threads=threads
            ),
            lambda rest=rest, seed=seed: sqlrank.SQLRank(feedback=feedback).fit(
                rest, seed=seed, threads=threads
            ),
        ):
            began = time.perf_counter()
            model = learn()
            times.append(time.perf_counter() - began)
            result = sqlrank.evaluate(model, test, ["ndcg@10"], protocol, seen=rest, threads=threads)
            scores.append(result["ndcg@10"])
        quality.append(scores)
        seconds.append(times)
    updated, fitted = np.mean(quality, axis=0)
    spread = np.std(np.diff(quality, axis=1), ddof=1)
    fast, slow = np.min(seconds, axis=0)
    print(
        f"{feedback}, protocol {protocol}, {seeds} seeds: ndcg@10 updated {updated:.4f}, fitted on everything "
        f"{fitted:.4f} (difference {updated - fitted:+.4f} ± {spread:.4f}); {fast:.3f} s against {slow:.3f} s "
        f"({fast / slow:.3f} times)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = sqlrank.datasets.load("ml-100k", data_dir=options.data_dir).train
    compare(data, "explicit", "rated", options.seeds, options.threads)
    compare(data, "implicit", "all", options.seeds, options.threads)


if __name__ == "__main__":
    main()
