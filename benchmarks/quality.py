"""Accuracy of SQL-Rank on the paper's data, averaged over all users: mean and standard deviation over seeds.

python benchmarks/quality.py implicit --data-dir DATA     ml-1m-oc50 with the paper's preset, fresh and frozen queue
python benchmarks/quality.py explicit --data-dir DATA     ml-1m, users with more than 60 ratings, 50 for training
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import sqlrank

PRECISION = ["precision@1", "precision@5", "precision@10"]


def implicit(data_dir: str, seeds: int, threads: int) -> None:
    data = sqlrank.datasets.load("ml-1m-oc50", data_dir=data_dir)

    def run(**changes: object) -> Callable[[int], dict[str, float]]:
        def one(seed: int) -> dict[str, float]:
            model = sqlrank.SQLRank.preset("paper-implicit", **changes).fit(
                data.train, seed=seed, threads=threads
            )
            return values(sqlrank.evaluate(model, data.test, protocol="paper-implicit"), PRECISION)

        return one

    print(f"ml-1m-oc50 | {sqlrank.Protocol.named('paper-implicit')}")
    report("paper-implicit", run(), seeds)
    report("paper-implicit, frozen queue", run(queue="frozen"), seeds)
    report("paper-implicit, learning_rate auto", run(learning_rate="auto", decay=0.97, epochs=60), seeds)


def explicit(data_dir: str, seeds: int, threads: int) -> None:
    ratings = sqlrank.datasets.load("ml-1m", data_dir=data_dir).train

    def run(**changes: object) -> Callable[[int], dict[str, float]]:
        def one(seed: int) -> dict[str, float]:
            train, test = sqlrank.split.per_user(ratings, n_train=50, min_events=61, seed=seed)
            model = sqlrank.SQLRank.preset("paper-explicit", **changes).fit(train, seed=seed, threads=threads)
            order = sqlrank.evaluate(model, test, protocol="paper-explicit", metrics=["ndcg@10"])
            found = sqlrank.evaluate(model, test, protocol="paper-explicit-precision", metrics=PRECISION)
            return {**values(order, ["ndcg@10"]), **values(found, PRECISION)}

        return one

    print(f"ml-1m | NDCG: {sqlrank.Protocol.named('paper-explicit')}")
    print(f"      | precision: {sqlrank.Protocol.named('paper-explicit-precision')}")
    report("paper-explicit", run(), seeds)
    report("paper-explicit, fixed steps", run(learning_rate=0.1, decay=0.95, regularization=3.0), seeds)


def values(result: sqlrank.Evaluation, metrics: list[str]) -> dict[str, float]:
    return {metric: float(result[metric]) for metric in metrics}


def report(name: str, run: Callable[[int], dict[str, float]], seeds: int) -> None:
    results = [run(seed) for seed in range(seeds)]
    cells = []
    for metric in results[0]:
        numbers = np.array([result[metric] for result in results])
        cells.append(f"{metric} {numbers.mean():.4f} ± {numbers.std(ddof=1):.4f}")
    print(f"{name}, {seeds} seeds: {'  '.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["implicit", "explicit"])
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    {"implicit": implicit, "explicit": explicit}[options.part](
        options.data_dir, options.seeds, options.threads
    )


if __name__ == "__main__":
    main()
