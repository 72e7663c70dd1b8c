"""Rivals tuned as hard as SQL-Rank, and all models at hand side by side.

python benchmarks/rivals.py tuned --data-dir DATA      ml-1m-oc50: every model gets the same number of trials on a
                                                       validation part of the training half; then the test, once
python benchmarks/rivals.py compare --data-dir DATA    ml-100k, split by time, three seeds, all models at hand
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import sqlrank
from sqlrank.models.names import model_class, models_at_hand

PRECISION = ["precision@1", "precision@5", "precision@10"]
RANK = 100


def tuned(options: argparse.Namespace) -> None:
    data = sqlrank.datasets.load("ml-1m-oc50", data_dir=options.data_dir)
    found = {}
    for name in options.models or ["wmf", "ease", "sqlrank"]:
        kind = model_class(name)
        fixed = {"rank": RANK} if "rank" in kind.settings_class.rules() else {}
        storage = None if options.storage is None else Path(options.storage) / f"{name}.journal"
        began = time.perf_counter()
        result = sqlrank.tune(
            kind,
            data.train,
            options.metric,
            trials=options.trials,
            fixed=fixed,
            threads=options.threads,
            storage=storage,
        )
        print(f"{result}\n  ({time.perf_counter() - began:.0f} s)\n", flush=True)
        found[kind.__name__] = result.model()
    print(
        sqlrank.compare(
            found, data, protocol="paper-implicit", metrics=PRECISION, seeds=3, threads=options.threads
        )
    )


def compare(options: argparse.Namespace) -> None:
    data = sqlrank.datasets.load("ml-100k", data_dir=options.data_dir)
    began = time.perf_counter()
    result = sqlrank.compare(
        options.models or list(models_at_hand()),
        data,
        split=sqlrank.split.by_time,
        metrics=["ndcg@10", "precision@10", "recall@10"],
        threads=options.threads,
        output=options.output,
    )
    print(f"{result}\n\n{time.perf_counter() - began:.0f} s in all, {options.threads} threads")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["tuned", "compare"])
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--models", type=lambda text: text.split(","), help="names such as wmf,ease")
    parser.add_argument("--metric", default="ndcg@10", help="what is tuned for")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--storage", help="folder that remembers the trials")
    parser.add_argument("--output", help="folder for the files of compare")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    {"tuned": tuned, "compare": compare}[options.part](options)


if __name__ == "__main__":
    main()
