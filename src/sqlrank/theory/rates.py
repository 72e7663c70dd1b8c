"""The rates experiment: how the excess risk really grows, beside the exponents of Corollaries 1 and 2.

    sqlrank theory rates --output docs      (or: python -m sqlrank.theory.rates --output docs)

writes ``rates.json`` (the numbers), ``rates.md`` (a page made from them) and ``images/rates-*.png``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sqlrank._threads import resolve_threads
from sqlrank.errors import ConfigError
from sqlrank.theory.figures import NO_POWER_LAW
from sqlrank.theory.fits import bent, fit_slope, slope_weights, turns
from sqlrank.theory.simulate import SETTINGS, STARTS, Cell, Outcome, simulate_all

AXES = ("n", "m", "size")
# The balls over the truth's norms. One weight vector is found from many rankings, so there a wider ball binds nothing
# and leaves plain maximum likelihood; factors run to the edge of any ball, and the smallest class is the corollary's.
BALLS = {"features": 2.0, "fixed-norms": 1.0, "growing-norms": 1.0}
OTHER_BALLS = (1.0, 2.0, 4.0)  # tried at the base


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
    "fixed-norms": Grid((25, 50, 100, 200, 400, 800, 1600), (8, 16, 32, 64, 128), (1, 2, 4, 8), (100, 32, 2)),
    "growing-norms": Grid(
        (25, 50, 100, 200, 400, 800, 1600), (8, 16, 32, 64, 128), (1, 2, 4, 8), (100, 32, 2)
    ),
}
QUICK = {name: Grid((10, 20, 40), (6, 12, 24), (1, 2, 4), (20, 12, 2)) for name in SETTINGS}


@dataclass(frozen=True)
class Point:
    """Means over the data sets of one point of the grid."""

    ball: float
    risk: float
    risk_error: float
    zero: float
    norm_ratio: float
    confirmed: float

    @classmethod
    def of(cls, ball: float, outcomes: Sequence[Outcome]) -> Point:
        """Average the outcomes of one point; the error is the mean risk's."""
        risks = np.array([o.risk for o in outcomes])
        means = [
            float(np.mean([getattr(o, n) for o in outcomes])) for n in ("zero", "norm_ratio", "confirmed")
        ]
        return cls(ball, float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(len(risks))), *means)


@dataclass(frozen=True)
class Slope:
    """The exponent fitted along one axis, with the interval and with what the printed bound predicts there."""

    axis: str
    values: list[int]
    points: list[Point]
    bound: list[float]
    exponent: float
    low: float
    high: float
    bound_exponent: float
    verdict: str = ""
    """See :func:`verdict`."""

    @property
    def risk(self) -> list[float]:
        """Return D along the axis."""
        return [p.risk for p in self.points]

    @property
    def risk_error(self) -> list[float]:
        """Return the standard errors of D."""
        return [p.risk_error for p in self.points]


@dataclass(frozen=True)
class RatesResult:
    """Everything the page and the figures are made from."""

    seed: int
    replicates: int
    starts: int
    seconds: float
    workers: int
    grids: dict[str, dict[str, Any]]
    slopes: dict[str, list[Slope]]
    balls: dict[str, list[Point]]
    """The base of every setting with other balls, on the same data sets."""

    def save(self, path: Path) -> None:
        """Write the result as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RatesResult:
        """Read what :meth:`save` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        for rows in raw["slopes"].values():
            for row in rows:
                row["points"] = [Point(**p) for p in row["points"]]
        raw["slopes"] = {name: [Slope(**s) for s in rows] for name, rows in raw["slopes"].items()}
        raw["balls"] = {name: [Point(**p) for p in rows] for name, rows in raw["balls"].items()}
        return cls(**raw)


def printed_bound(setting: str, n: float, m: float, size: float) -> float:
    """Return the printed rate without its constant: Corollary 1 for features, else Corollary 2."""
    if setting == "features":
        return float(np.sqrt(size * m) / n * np.log(m))
    return float(np.sqrt(size * m / n) * np.log(m))


def verdict(slope: Slope, replicates: int) -> str:
    """Say in words how D grows along the axis beside the printed bound.

    An exponent is compared with the bound's only where bound / D goes one way, up to noise.
    """
    errors = [e / d for e, d in zip(slope.risk_error, slope.risk, strict=True)]
    if turns([b / d for b, d in zip(slope.bound, slope.risk, strict=True)], errors, replicates):
        return f"{NO_POWER_LAW}: bound / D turns"
    words = "as the bound"
    if slope.low > slope.bound_exponent:
        words = (
            "falls more slowly than the bound" if slope.bound_exponent < 0 else "grows faster than the bound"
        )
    if slope.high < slope.bound_exponent:
        words = f"loose by {slope.bound_exponent - slope.exponent:.2f}"
    if bent(slope.values, slope.risk, errors, replicates):
        local = np.diff(np.log(slope.risk)) / np.diff(np.log(slope.values))
        words += f"; bent, {local[0]:+.2f} at first and {local[-1]:+.2f} at last"
    return words


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
    points = {
        Cell(n, *p, ball=BALLS[n]): None for n, grid in chosen.items() for a in AXES for p in grid.points(a)
    }
    points |= {Cell(n, *grid.base, ball=ball): None for n, grid in chosen.items() for ball in OTHER_BALLS}
    cells = [replace(point, replicate=r) for point in points for r in range(replicates)]
    # The largest first, so that no worker is left alone with one at the end.
    cells.sort(key=lambda c: (-c.n * c.m * c.size, c.setting, c.n, c.m, c.size, c.ball, c.replicate))
    values, seconds = simulate_all(cells, seed, width)
    found = dict(zip(cells, values, strict=True))
    outcomes = {point: [found[replace(point, replicate=r)] for r in range(replicates)] for point in points}
    slopes = {name: [_slope(name, axis, grid, outcomes) for axis in AXES] for name, grid in chosen.items()}
    balls = {
        name: [Point.of(ball, outcomes[Cell(name, *grid.base, ball=ball)]) for ball in OTHER_BALLS]
        for name, grid in chosen.items()
    }
    listed = {name: asdict(grid) for name, grid in chosen.items()}
    return RatesResult(seed, replicates, STARTS, round(seconds, 1), width, listed, slopes, balls)


def _slope(name: str, axis: str, grid: Grid, outcomes: dict[Cell, list[Outcome]]) -> Slope:
    ball, points = BALLS[name], grid.points(axis)
    rows = [outcomes[Cell(name, *p, ball=ball)] for p in points]
    values = list(getattr(grid, axis))
    bound = [printed_bound(name, *p) for p in points]
    fitted = fit_slope(values, np.array([[o.risk for o in row] for row in rows]))
    predicted = float(slope_weights(values) @ np.log(bound))
    slope = Slope(axis, values, [Point.of(ball, row) for row in rows], bound, *fitted, predicted)
    return replace(slope, verdict=verdict(slope, len(rows[0])))


def write_report(result: RatesResult, folder: Path) -> list[Path]:
    """Write the numbers, the page and the figures; return the files."""
    from sqlrank.theory.figures import plot_rates, require_matplotlib
    from sqlrank.theory.page import rates_page

    require_matplotlib()
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
            "verdict": s.verdict,
        }
        for name, slopes in result.slopes.items()
        for s in slopes
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    from sqlrank.theory.figures import require_matplotlib

    parser = argparse.ArgumentParser(prog="python -m sqlrank.theory.rates", description=__doc__)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("results/rates"), help="folder for the report"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replicates", type=int, default=12, help="data sets per point of the grid")
    parser.add_argument("--workers", type=int, default=None, help="processes; by default one per processor")
    parser.add_argument("--quick", action="store_true", help="a tiny grid, to see that it runs")
    given = parser.parse_args(argv)
    require_matplotlib()  # before the minutes of simulation, not after
    grids = QUICK if given.quick else None
    result = run_rates(given.seed, given.replicates, given.workers, grids)
    for row in exponent_rows(result):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    for path in write_report(result, given.output):
        print(path)


if __name__ == "__main__":
    main()
