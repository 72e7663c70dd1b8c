"""The rivals on the shared engine: cost per entry, speed beside SQL-Rank, accuracy on the paper's data.

python benchmarks/losses.py cost                          Primal-CR: lists of 50 to 5,000 entries; against a pair loop
python benchmarks/losses.py speed --data-dir DATA         entries/s of every loss over SQL-Rank's; updates/s of BPR
python benchmarks/losses.py tune --data-dir DATA          the same small budget for every model, on validation data
python benchmarks/losses.py explicit --data-dir DATA      ml-1m with stars: the presets, mean and sd of 5 seeds
python benchmarks/losses.py implicit --data-dir DATA      ml-1m-oc50: BPR's preset, mean and sd of 5 seeds
python benchmarks/losses.py features --data-dir DATA      coat: the linear ranker against popularity
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from quality import PRECISION, report, values
from train import bpr_epoch, real, synthetic

import sqlrank
from sqlrank import _core
from sqlrank._arrays import padded_rows
from sqlrank.losses import BayesianPairs, ListLoss, ListRank, PairwiseHinge, PlackettLuce, SquaredError
from sqlrank.training.lists import ListData
from sqlrank.training.trainer import make_engine

LOSSES: dict[str, ListLoss] = {
    "sqlrank": PlackettLuce(),
    "listrank": ListRank(),
    "primal-cr": PairwiseHinge(),
    "bpr": BayesianPairs(),
    "squared": SquaredError(),
}

PAIR_LOOP = """
double pair_loop(const float* x, const float* r, long n, double* c) {
  double value = 0;
  for (long i = 0; i < n; ++i) c[i] = 0;
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j)
      if (r[i] > r[j]) {
        const double gap = 1.0 - ((double)x[i] - (double)x[j]);
        if (gap > 0) { value += gap * gap; c[i] -= 2 * gap; c[j] += 2 * gap; }
      }
  return value;
}
"""


class Run:
    """An engine and its factors; `epoch()` times one epoch."""

    def __init__(self, data: ListData, loss: ListLoss, rank: int = 100, negatives: int = 3) -> None:
        users, items = padded_rows(data.n_users, rank), padded_rows(data.catalogue, rank)
        _core.normal_rows(1, 0, 0, rank, 0.1, users)
        _core.normal_rows(1, 1, 0, rank, 0.1, items)
        self.now, self.next = (users, items), (np.zeros_like(users), np.zeros_like(items))
        self.engine = make_engine(data, loss, negatives, 1, users.shape[1])
        self.number = 0

    def epoch(self, threads: int) -> float:
        begin = time.perf_counter()
        self.engine.epoch(*self.now, *self.next, self.number, 1e-5, 1.0, False, threads)
        seconds = time.perf_counter() - begin
        self.now, self.next, self.number = self.next, self.now, self.number + 1
        return seconds


def best_of(runs: dict[object, Run], threads: int, rounds: int) -> dict[object, float]:
    """Interleave the contenders and keep the best of each: a noisy minute hits all of them."""
    best: dict[object, float] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            best[name] = min(best.get(name, 9e9), run.epoch(threads))
    return best


def rated(n_users: int, length: int, n_items: int) -> ListData:
    """Users with `length` ratings of 1 to 5 each."""
    rng = np.random.default_rng(0)
    grid = np.arange(length)
    items = ((grid + rng.random((n_users, length))) * (n_items / length)).astype(np.int32)
    np.minimum(items, n_items - 1, out=items)
    stars = rng.integers(1, 6, items.size).astype(np.float32)
    starts = np.arange(n_users + 1, dtype=np.int64) * length
    return ListData.from_rows(starts, items.ravel(), stars, n_items, 2)


def cost(options: argparse.Namespace) -> None:
    entries, n_items = 500_000, 10_000
    lengths = (50, 500, 5_000)
    runs = {length: Run(rated(entries // length, length, n_items), PairwiseHinge()) for length in lengths}
    best = best_of(runs, 1, 12)
    ns = {length: best[length] / entries * 1e9 for length in lengths}
    print(f"Primal-CR epoch, rank 100, 1 thread ({_core.isa}): ", end="")
    print(", ".join(f"lists of {length}: {value:.1f} ns/entry" for length, value in ns.items()))
    print(f"growth from 50 to 5,000: {ns[5_000] / ns[50]:.2f}")
    rng = np.random.default_rng(0)
    for length in lengths:
        x = rng.normal(0, 0.7, length).astype(np.float32)
        r = np.sort(rng.integers(1, 6, length))[::-1].astype(np.float32)
        fast = timed(lambda x=x, r=r: PairwiseHinge().evaluate(x, r), 200)
        slow = timed(pair_loop(x, r), 5)
        print(
            f"loss of one list of {length}: {fast / length * 1e9:.1f} ns/entry, pair by pair (C, -O3) "
            f"{slow / length * 1e9:.1f} ns/entry: {slow / fast:.1f} times"
        )


def timed(function: Callable[[], object], repeats: int) -> float:
    best = 9e9
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def pair_loop(x: np.ndarray, r: np.ndarray) -> Callable[[], float]:
    """The loop over all pairs, compiled by the C compiler of this machine with the flags of the kernels."""
    folder = Path(tempfile.mkdtemp())
    (folder / "pairs.c").write_text(PAIR_LOOP)
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", "pairs.so", "pairs.c"]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "pairs.so"))
    library.pair_loop.restype = ctypes.c_double
    c = np.empty(len(x))
    arguments = [
        x.ctypes.data_as(ctypes.c_void_p),
        r.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_long(len(x)),
        c.ctypes.data_as(ctypes.c_void_p),
    ]
    value = library.pair_loop(*arguments)
    assert abs(value - PairwiseHinge().evaluate(x, r).value) < 1e-5 * value
    return lambda: library.pair_loop(*arguments)


def speed(options: argparse.Namespace) -> None:
    threads = options.threads
    implicit = real(options.data_dir) if options.data_dir else synthetic(3937, 3533)
    for name, data in {"explicit": rated(4_000, 200, 3_500), "implicit": implicit}.items():
        runs = {loss: Run(data, kernel) for loss, kernel in LOSSES.items()}
        best = best_of(runs, threads, 25)
        entries = runs["sqlrank"].engine.entries
        print(f"{name}, {entries} entries, rank 100, {threads} threads ({_core.isa}): ", end="")
        print(
            ", ".join(
                f"{loss} {entries / s / 1e6:.1f} M entries/s ({best['sqlrank'] / s:.2f})"
                for loss, s in best.items()
            )
        )
    updates = 3 * len(implicit.items) / best["bpr"] / 1e6
    print(f"BPR: {updates:.1f} M pair updates/s", end="")
    other = bpr_epoch(implicit)
    if other is None:
        print("; implicit is not installed")
        return
    theirs = len(implicit.items) / min(other(threads) for _ in range(3)) / 1e6
    print(f"; implicit's BPR {theirs:.1f} M ({updates / theirs:.2f} times)")


MODELS: dict[str, tuple[type, dict[str, object], list[dict[str, float]]]] = {
    "SQLRank": (sqlrank.SQLRank, {}, [{"regularization": x} for x in (1.0, 2.0, 2.8, 4.0, 6.0, 9.0)]),
    "ListRankMF": (
        sqlrank.ListRankMF,
        {},
        [{"regularization": lam, "rating_scale": scale} for lam in (0.02, 0.05, 0.1) for scale in (0.5, 1.0)],
    ),
    "PrimalCR": (sqlrank.PrimalCR, {}, [{"regularization": x} for x in (100, 300, 600, 1000, 1500, 2500)]),
    "MatrixFactorization": (
        sqlrank.MatrixFactorization,
        {"biases": False},
        [{"regularization": x} for x in (1, 3, 7, 12, 20, 30)],
    ),
}


def preset_of(model: type) -> str:
    """SQL-Rank has one for each half of the paper."""
    return "paper-explicit" if model is sqlrank.SQLRank else "paper"


def scores(model: object, test: object) -> dict[str, float]:
    order = sqlrank.evaluate(model, test, protocol="paper-explicit", metrics=["ndcg@10"])
    found = sqlrank.evaluate(model, test, protocol="paper-explicit-precision", metrics=PRECISION)
    return {**values(order, ["ndcg@10"]), **values(found, PRECISION)}


def tune(options: argparse.Namespace) -> None:
    """Six settings for every model, 40 of the 50 training ratings to fit and 10 to choose by.

    The paper reports an order of rated items and a search among all: the choice is by the sum of NDCG@10 and P@10.
    Lists are longer when all 50 ratings train: the presets carry lambda over in proportion to the loss's number of
    terms, (50/40)^2 for all pairs, 50/40 for all entries, 1 for a cross-entropy.
    """
    ratings = sqlrank.datasets.load("ml-1m", data_dir=options.data_dir).train
    train, _ = sqlrank.split.per_user(ratings, n_train=50, min_events=61, seed=0)
    part, rest = sqlrank.split.per_user(train, n_train=40, seed=1)
    for name, (model, fixed, candidates) in MODELS.items():
        results = []
        for changes in candidates:
            fitted = model.preset(preset_of(model), **fixed, **changes).fit(
                part, seed=0, threads=options.threads
            )
            found = scores(fitted, rest)
            results.append((found["ndcg@10"] + found["precision@10"], changes))
            cells = "  ".join(f"{metric} {value:.4f}" for metric, value in found.items())
            print(f"  {name} {changes}: {cells}", flush=True)
        print(f"{name}: {max(results, key=lambda r: r[0])[1]}", flush=True)


def explicit(options: argparse.Namespace) -> None:
    ratings = sqlrank.datasets.load("ml-1m", data_dir=options.data_dir).train
    print(f"ml-1m | NDCG: {sqlrank.Protocol.named('paper-explicit')}")
    print(f"      | precision: {sqlrank.Protocol.named('paper-explicit-precision')}")

    def run(model: type, **changes: object) -> Callable[[int], dict[str, float]]:
        def one(seed: int) -> dict[str, float]:
            train, test = sqlrank.split.per_user(ratings, n_train=50, min_events=61, seed=seed)
            return scores(
                model.preset(preset_of(model), **changes).fit(train, seed=seed, threads=options.threads), test
            )

        return one

    for name, (model, _, _) in MODELS.items():
        report(name, run(model), options.seeds)
    report("PrimalCR, newton", run(sqlrank.PrimalCR, solver="newton", epochs=8), options.seeds)
    report("MatrixFactorization, biases", run(sqlrank.MatrixFactorization, biases=True), options.seeds)


def implicit(options: argparse.Namespace) -> None:
    data = sqlrank.datasets.load("ml-1m-oc50", data_dir=options.data_dir)
    print(f"ml-1m-oc50 | {sqlrank.Protocol.named('paper-implicit')}")

    def one(seed: int) -> dict[str, float]:
        model = sqlrank.BPR.preset("paper").fit(data.train, seed=seed, threads=options.threads)
        return values(sqlrank.evaluate(model, data.test, protocol="paper-implicit"), PRECISION)

    report("BPR", one, options.seeds)


def features(options: argparse.Namespace) -> None:
    coat = sqlrank.datasets.load("coat", data_dir=options.data_dir)
    popular = sqlrank.LinearRanker(feedback="implicit").fit(coat.train)
    models = {"popularity": popular}
    for rank in (0, 16):
        models[f"LinearRanker, rank {rank}"] = sqlrank.LinearRanker(
            rank=rank, feature_regularization=3.0
        ).fit(coat.train, item_features=coat.items, user_features=coat.users, seed=0)
    for name, model in models.items():
        for protocol in ("rated", "all"):
            result = sqlrank.evaluate(model, coat.test, metrics=["ndcg@10"], protocol=protocol)
            print(f"{name}, {protocol}: ndcg@10 {result['ndcg@10']:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {f.__name__: f for f in (cost, speed, tune, explicit, implicit, features)}
    parser.add_argument("part", choices=list(parts))
    parser.add_argument("--data-dir", help="the folder with the data sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.part in ("tune", "explicit", "implicit", "features") and not options.data_dir:
        parser.error(f"{options.part} needs --data-dir")
    parts[options.part](options)


if __name__ == "__main__":
    main()
