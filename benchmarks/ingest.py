"""Reading a parquet file with string ids: sqlrank.read against pandas.read_parquet + factorize + SciPy CSR.

    python benchmarks/ingest.py --rows 25e6

Writes its own file, runs every contender in a process of its own, several times in turn, and takes the best. Peak
memory is the process's largest resident size; the same process right after its imports is shown beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CONTENDERS = {"sqlrank": "sqlrank.read", "pandas": "pandas.read_parquet + factorize + csr_array"}
SHAPES = {"full": "user, item, rating, time", "rating": "user, item, rating", "pair": "user, item"}


def write_events(path: Path, rows: int, shape: str) -> None:
    """`rows` events of about rows/50 users and rows/400 items, popular ones more often."""
    import numpy as np
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    users, items = rng.permutation(max(1, rows // 50)), rng.permutation(max(1000, rows // 400))
    writer: Any = None
    for start in range(0, rows, 1 << 20):
        n = min(1 << 20, rows - start)
        frame = pl.DataFrame(
            {
                "u": users[(rng.random(n) ** 2 * len(users)).astype(int)],
                "i": items[(rng.random(n) ** 2 * len(items)).astype(int)],
                "rating": rng.integers(1, 11, n).astype(np.float32) / 2,
                "timestamp": 1_500_000_000 + rng.integers(0, 100_000_000, n),
            }
        ).select(
            pl.format("user-{}", pl.col("u").cast(pl.String).str.zfill(8)).alias("user_id"),
            pl.format("sku{}", pl.col("i")).alias("item_id"),
            "rating",
            "timestamp",
        )
        table = frame.select(_columns(shape)).to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(pa.table(table))
    writer.close()


def _columns(shape: str) -> list[str]:
    return ["user_id", "item_id", "rating", "timestamp"][: {"pair": 2, "rating": 3, "full": 4}[shape]]


def peak_mb() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_with_sqlrank(path: str, shape: str) -> dict[str, float]:
    import sqlrank.data

    baseline, begin = peak_mb(), time.perf_counter()
    data = sqlrank.data.read(path, duplicates="last", verbose=False)
    seconds = time.perf_counter() - begin
    arrays = [data.indptr, data.indices, data.values, data.timestamps]
    result = sum(array.nbytes for array in arrays if array is not None)
    result += data.users.ids.estimated_size() + data.items.ids.estimated_size()
    return {"seconds": seconds, "baseline": baseline, "peak": peak_mb(), "result": result / 2**20}


def read_with_pandas(path: str, shape: str) -> dict[str, float]:
    import numpy as np
    import pandas as pd
    import pyarrow.parquet  # noqa: F401  (pandas imports it on the first read)
    from scipy.sparse import csr_array

    baseline, begin = peak_mb(), time.perf_counter()
    table = pd.read_parquet(path)
    users, user_ids = pd.factorize(table["user_id"], sort=True)
    items, item_ids = pd.factorize(table["item_id"], sort=True)
    values = table["rating"].to_numpy() if shape != "pair" else np.ones(len(table), np.float32)
    shape_of = (len(user_ids), len(item_ids))
    kept = [csr_array((values, (users, items)), shape=shape_of)]
    if shape == "full":
        kept.append(csr_array((table["timestamp"].to_numpy(), (users, items)), shape=shape_of))
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "baseline": baseline, "peak": peak_mb(), "result": 0.0}


def run(what: str, path: Path, shape: str, more: list[str]) -> str:
    """This script again, in a process of its own."""
    command = [sys.executable, __file__, "--run", what, "--shape", shape, "--file", str(path), *more]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def best(runs: list[dict[str, float]]) -> dict[str, float]:
    """Shortest time and smallest peak of several runs."""
    fastest = dict(min(runs, key=lambda run: run["seconds"]))
    fastest["peak"] = min(run["peak"] for run in runs)
    fastest["baseline"] = min(run["baseline"] for run in runs)
    return fastest


def compare(path: Path, rows: int, shape: str, repeat: int) -> None:
    """Run both in turn and print what they took."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(repeat):
        for name in CONTENDERS:
            runs[name].append(json.loads(run(name, path, shape, [])))
    results = {name: best(taken) for name, taken in runs.items()}
    print(
        f"\n{rows:,} rows of {SHAPES[shape]} with string ids, {path.stat().st_size / 2**20:.0f} MB of parquet"
    )
    print(f"{'':44}{'seconds':>9}{'rows/s':>13}{'peak MB':>9}{'imports MB':>12}{'net MB':>8}")
    for name, title in CONTENDERS.items():
        r = results[name]
        print(
            f"{title:44}{r['seconds']:9.2f}{rows / r['seconds']:13,.0f}{r['peak']:9.0f}{r['baseline']:12.0f}"
            f"{r['peak'] - r['baseline']:8.0f}"
        )
    ours, theirs = results["sqlrank"], results["pandas"]
    net = ours["peak"] - ours["baseline"]
    print(
        f"sqlrank: {theirs['seconds'] / ours['seconds']:.1f} times as fast, "
        f"{net / (theirs['peak'] - theirs['baseline']):.2f} of the net memory; "
        f"net peak = {net / ours['result']:.2f} x its arrays and vocabularies ({ours['result']:.0f} MB)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=float, default=25e6)
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--run", choices=[*CONTENDERS, "write"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run == "write":
        write_events(Path(options.file), int(options.rows), options.shape)
        return
    if options.run:
        contender = read_with_sqlrank if options.run == "sqlrank" else read_with_pandas
        print(json.dumps(contender(options.file, options.shape)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES if options.shape == "all" else [options.shape]:
            path = Path(folder) / f"{shape}.parquet"
            # Not in this process: children inherit their parent's peak, so this one stays small.
            run("write", path, shape, ["--rows", str(int(options.rows))])
            compare(path, int(options.rows), shape, options.repeat)
            path.unlink()


if __name__ == "__main__":
    main()
