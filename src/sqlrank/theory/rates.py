"""The rates experiment: how the excess risk really grows, beside the exponents of Corollaries 1 and 2.

    sqlrank theory rates --output docs      (or: python -m sqlrank.theory.rates --output docs)

writes ``rates.json`` (the numbers), ``rates.md`` (a page made from them) and ``images/rates-*.png``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sqlrank._threads import resolve_threads
from sqlrank.errors import ConfigError
from sqlrank.theory.likelihood import Floats
from sqlrank.theory.simulate import SETTINGS, Cell, simulate_all

AXES = ("n", "m", "size")


def replaced(base: Sequence[int], axis: str, value: int) -> tuple[int, int, int]:
    """Return (n, m, size) of the base with one of them changed."""
    n, m, size = (value if name == axis else old for name, old in zip(AXES, base, strict=True))
    return n, m, size


@dataclass(frozen=True)
class Grid:
    """Values of every axis; one is varied at a time, the others stay at the base."""

    n: tuple[int, ...]
    m: tuple[int, ...]
    size: tuple[int, ...]
    base: tuple[int, int, int]

    def points(self, axis: str) -> list[tuple[int, int, int]]:
        """Return (n, m, size) along one axis."""
        return [replaced(self.base, axis, value) for value in getattr(self, axis)]


DEFAULT = {
    "features": Grid((25, 50, 100, 200, 400), (8, 16, 32, 64, 128), (2, 4, 8, 16, 32), (100, 32, 8)),
    "fixed-norms": Grid((25, 50, 100, 200, 400), (8, 16, 32, 64, 128), (1, 2, 4, 8), (100, 32, 2)),
    "growing-norms": Grid((25, 50, 100, 200, 400), (8, 16, 32, 64, 128), (1, 2, 4, 8), (100, 32, 2)),
}
QUICK = {name: Grid((10, 20, 40), (6, 12, 24), (1, 2, 4), (20, 12, 2)) for name in SETTINGS}


@dataclass(frozen=True)
class Slope:
    """The exponent fitted along one axis, with the interval and with what the printed bound predicts there."""

    axis: str
    values: list[int]
    risk: list[float]
    risk_error: list[float]
    bound: list[float]
    exponent: float
    low: float
    high: float
    bound_exponent: float


@dataclass(frozen=True)
class RatesResult:
    """Everything the page and the figures are made from."""

    seed: int
    replicates: int
    seconds: float
    workers: int
    grids: dict[str, dict[str, Any]]
    slopes: dict[str, list[Slope]]

    def save(self, path: Path) -> None:
        """Write the result as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RatesResult:
        """Read what :meth:`save` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        raw["slopes"] = {name: [Slope(**s) for s in rows] for name, rows in raw["slopes"].items()}
        return cls(**raw)


def printed_bound(setting: str, n: float, m: float, size: float) -> float:
    """Return the printed rate without its constant: Corollary 1 for features, else Corollary 2."""
    if setting == "features":
        return float(np.sqrt(size * m) / n * np.log(m))
    return float(np.sqrt(size * m / n) * np.log(m))


def fit_slope(x: Floats, draws: Floats, seed: int = 0, resamples: int = 1000) -> tuple[float, float, float]:
    """Return the slope of log mean(draws) on log x, and its 95 % interval.

    `draws` is (values, replicates). The interval comes from resampling replicates within each value: it holds the
    noise of the simulation, not a curve that is no power law.
    """
    design = np.log(x) - np.log(x).mean()
    rng = np.random.default_rng(seed)
    picks = rng.integers(draws.shape[1], size=(resamples, *draws.shape))
    means = np.take_along_axis(draws[None], picks, axis=2).mean(axis=2)
    slopes = np.log(means) @ design / (design @ design)
    low, high = np.quantile(slopes, (0.025, 0.975))
    return float(np.log(draws.mean(axis=1)) @ design / (design @ design)), float(low), float(high)


def run_rates(
    seed: int = 0,
    replicates: int = 12,
    workers: int | None = None,
    grids: dict[str, Grid] | None = None,
) -> RatesResult:
    """Simulate the grids in `workers` processes and fit the exponents."""
    if replicates < 2:
        raise ConfigError(f"replicates is {replicates}; an interval needs at least 2")
    chosen = DEFAULT if grids is None else grids
    width = resolve_threads(workers)
    points = {(name, *p): None for name, grid in chosen.items() for a in AXES for p in grid.points(a)}
    cells = [Cell(*point, replicate=r) for point in points for r in range(replicates)]
    # The largest first, so that no worker is left alone with one at the end.
    cells.sort(key=lambda c: (-c.n * c.m * c.size, c.setting, c.n, c.m, c.size, c.replicate))
    values, seconds = simulate_all(cells, seed, width)
    found = dict(zip(cells, values, strict=True))
    slopes = {
        name: [_slope(name, axis, grid, found, replicates, seed) for axis in AXES]
        for name, grid in chosen.items()
    }
    listed = {name: asdict(grid) for name, grid in chosen.items()}
    return RatesResult(seed, replicates, round(seconds, 1), width, listed, slopes)


def _slope(name: str, axis: str, grid: Grid, found: dict[Cell, float], replicates: int, seed: int) -> Slope:
    points = grid.points(axis)
    draws = np.array([[found[Cell(name, *p, replicate=r)] for r in range(replicates)] for p in points])
    x = np.array(getattr(grid, axis), np.float64)
    bound = [printed_bound(name, *p) for p in points]
    exponent, low, high = fit_slope(x, draws, seed)
    predicted = fit_slope(x, np.array(bound)[:, None], resamples=1)[0]
    return Slope(
        axis,
        list(getattr(grid, axis)),
        [float(v) for v in draws.mean(axis=1)],
        [float(v) for v in draws.std(axis=1, ddof=1) / np.sqrt(replicates)],
        bound,
        exponent,
        low,
        high,
        predicted,
    )


def write_report(result: RatesResult, folder: Path) -> list[Path]:
    """Write the numbers, the page and (where matplotlib is there) the figures; return the files."""
    from sqlrank.theory.figures import plot_rates
    from sqlrank.theory.page import rates_page

    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    written = [folder / "rates.json", folder / "rates.md"]
    result.save(written[0])
    written[1].write_text(rates_page(result), encoding="utf-8")
    for name, slopes in result.slopes.items():
        path = images / f"rates-{name}.png"
        figure = plot_rates(name, slopes)[0].figure
        figure.savefig(path, dpi=110)
        written.append(path)
    return written


def exponent_rows(result: RatesResult) -> list[dict[str, str | float]]:
    """Return one row per fitted exponent."""
    return [
        {
            "setting": name,
            "axis": s.axis,
            "exponent": round(s.exponent, 3),
            "low": round(s.low, 3),
            "high": round(s.high, 3),
            "bound": round(s.bound_exponent, 3),
        }
        for name, slopes in result.slopes.items()
        for s in slopes
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m sqlrank.theory.rates", description=__doc__)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("results/rates"), help="folder for the report"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replicates", type=int, default=12, help="data sets per point of the grid")
    parser.add_argument("--workers", type=int, default=None, help="processes; by default one per processor")
    parser.add_argument("--quick", action="store_true", help="a tiny grid, to see that it runs")
    given = parser.parse_args(argv)
    grids = QUICK if given.quick else None
    result = run_rates(given.seed, given.replicates, given.workers, grids)
    for row in exponent_rows(result):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    for path in write_report(result, given.output):
        print(path)


if __name__ == "__main__":
    main()
