"""The docs page of the rates experiment, made from its numbers."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from sqlrank.theory.figures import TITLES, axis_name

if TYPE_CHECKING:
    from sqlrank.theory.rates import RatesResult, Slope

HEAD = """# Excess risk: the printed rates and the simulated ones

Made by the command below from the numbers in `rates.json`; do not edit.

    sqlrank theory rates --output docs

D(X\\*, X̂) is the excess risk of the maximum-likelihood estimate inside its norm balls, in nats per list, with the
paper's sigmoid link. One of n lists, m items and s features (or rank r) is varied, the others stay at the base. The
exponent is the slope of log D on log x; its 95 % interval is a t interval from the spread of the data sets and holds
their noise alone, not the error of taking a curve for a power law. "Bound" is the slope of the printed rate over the
same values, its ln m included. An exponent below the bound's means that the bound is loose in that direction; one above
it, over a range that goes on, that no constant makes the printed rate hold there. Where the printed rate / D rises and
falls by more than its noise, the two are not compared ("turns"); where the points leave a straight line by more than
theirs, the first and the last local exponent stand beside the verdict ("bent").

Every number stands beside D(X\\*, 0), the risk of equal scores: what an estimate that knows nothing costs. The balls'
radii are the norms of the truth times a factor, printed with every table. Factor 1 is the smallest class that holds the
truth, as the corollaries' constants c_b, c_u and c_v mean it. ‖X̂‖ / ‖X\\*‖ is of Frobenius norms.
"""

NOTES = {
    "features": """The ball is wider than the truth needs, so that it binds nothing and the estimate is plain maximum
likelihood; compare the other factors above. While nm is large beside s², its asymptotics give D ≈ s/(2n): exponents
−1, 0 and 1 in n, m and s; the column D / (s/(2n)) compares. Two remarks on the printed corollary:

- Its proof takes ‖X − X'‖_{∞,2} ≤ ζ‖β − β'‖, although that norm sums over the n lists: the step needs a factor √n. With
  it the chaining argument gives D = O(√(sm/n) ln m), not √(sm)/n · ln m.
- The 1/n is nevertheless the true rate in n. But then √s cannot be: for fixed m, with s growing and n growing faster
  than s², s/(2n) exceeds any constant times √(sm)/n · ln m.
""",
    "fixed-norms": """Corollary 2 hides only the constants c_u and c_v. But with ‖U‖_F and ‖V‖_F constant all scores
shrink as n and m grow, ‖X‖_F ≤ c_u c_v, and *any* estimate inside the balls has D = O(c_u² c_v² / n), because near
equal scores the Hessian of a list's likelihood has bounded eigenvalues. The printed rate holds and says little: what
bounds D is the size of the balls, not what was learnt.
""",
    "growing-norms": """To keep the scores of constant size the norms must grow as √n and √m. Carried along, they
multiply the printed rate by √(nm), and it becomes m √r ln m: no gain from more lists. The dashed line is the rate as
printed, without that factor. Counting parameters, r(n + m − r)/(2n), is a yardstick and no more: it would hold with
many draws for every number to learn, and here a list's own r numbers are learnt from one ranking of m items.
""",
}


def rates_page(result: RatesResult) -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for name, slopes in result.slopes.items():
        parts.append(f"\n## {TITLES[name]}\n\n![{TITLES[name]}](images/rates-{name}.png)\n")
        parts.append(_exponents(name, slopes))
        parts.append(_numbers(name, result, slopes))
        parts.append("\n" + _shown(name, result, slopes))
        parts.append(_balls(result, name))
        parts.append("\n" + NOTES[name])
    parts.append(
        f"\nSeed {result.seed}, {result.replicates} data sets per point, {result.seconds:.0f} seconds with "
        f"{result.workers} process{'' if result.workers == 1 else 'es'}.\n"
    )
    return "".join(parts)


def _exponents(name: str, slopes: list[Slope]) -> str:
    lines = ["\n| axis | exponent | 95 % interval | bound | verdict |\n|---|---|---|---|---|\n"]
    lines += [
        f"| {axis_name(name, s.axis)} | {s.exponent:+.3f} | [{s.low:+.3f}, {s.high:+.3f}] "
        f"| {s.bound_exponent:+.3f} | {s.verdict} |\n"
        for s in slopes
    ]
    return "".join(lines)


def _numbers(name: str, result: RatesResult, slopes: list[Slope]) -> str:
    base = result.grids[name]["base"]
    head = ["axis", "value", "D", "standard error", "D(X\\*, 0)", "‖X̂‖ / ‖X\\*‖", "printed rate / D"]
    head += [f"D / ({_counted(name)})", "second start"]
    lines = [
        f"\nBase: n = {base[0]}, m = {base[1]}, {axis_name(name, 'size')[0]} = {base[2]}; "
        f"balls {slopes[0].points[0].ball:g} times the truth's norms.\n\n",
        "| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|\n",
    ]
    for s in slopes:
        for value, point, bound, count in zip(
            s.values, s.points, s.bound, _counts(name, base, s), strict=True
        ):
            lines.append(
                f"| {axis_name(name, s.axis)} | {value} | {point.risk:.4g} | {point.risk_error:.2g} | {point.zero:.4g} "
                f"| {point.norm_ratio:.2f} | {bound / point.risk:.2f} | {point.risk / count:.3g} "
                f"| {100 * point.confirmed:.0f} % |\n"
            )
    return "".join(lines)


def _counted(name: str) -> str:
    return "s/(2n)" if name == "features" else "r(n+m−r)/(2n)"


def _counts(name: str, base: list[int], slope: Slope) -> list[float]:
    """Return the number of parameters over twice the lists."""
    from sqlrank.theory.rates import replaced

    out = []
    for value in slope.values:
        n, m, size = replaced(base, slope.axis, value)
        out.append(size / (2 * n) if name == "features" else size * (n + m - size) / (2 * n))
    return out


def _shown(name: str, result: RatesResult, slopes: list[Slope]) -> str:
    """Say what the table shows, from its numbers."""
    points = [p for s in slopes for p in s.points]
    times = [p.risk / p.zero for p in points]
    below = sum(t < 1 for t in times)
    share = [
        p.risk / c
        for s in slopes
        for p, c in zip(s.points, _counts(name, result.grids[name]["base"], s), strict=True)
    ]
    along = ", ".join(
        f"{s.points[0].risk / s.points[0].zero:.2f} to {s.points[-1].risk / s.points[-1].zero:.2f} along "
        f"{axis_name(name, s.axis)[0]}"
        for s in slopes
    )
    confirmed = [p.confirmed for p in points]
    beside = (
        f"D is below D(X\\*, 0) in {below} of {len(points)} rows, between {min(times):.2f} and {max(times):.2f} times "
        f"it; from first to last value the quotient goes {along}. D / ({_counted(name)}) lies between "
        f"{min(share):.2g} and {max(share):.2g}."
    )
    starts = (
        f'An estimate is the lowest point reached from {result.starts} starts, one of them the truth; "second '
        f'start" is the share of data sets in which another start came as low: '
        f"{100 * sum(confirmed) / len(confirmed):.0f} % on average, {100 * min(confirmed):.0f} % at least."
    )
    return "\n\n".join(fill(text, 119, break_on_hyphens=False) for text in (beside, starts)) + "\n"


def _balls(result: RatesResult, name: str) -> str:
    """Tabulate the base with other balls: how much an arbitrary factor decides."""
    base = result.grids[name]["base"]
    lines = [
        f"\nThe same data sets at the base (n = {base[0]}, m = {base[1]}, {axis_name(name, 'size')[0]} = {base[2]}) "
        "with other balls:\n\n| balls / truth's norms | D | standard error | D(X\\*, 0) | ‖X̂‖ / ‖X\\*‖ "
        "| second start |\n|---|---|---|---|---|---|\n"
    ]
    lines += [
        f"| {p.ball:g} | {p.risk:.4g} | {p.risk_error:.2g} | {p.zero:.4g} | {p.norm_ratio:.2f} "
        f"| {100 * p.confirmed:.0f} % |\n"
        for p in result.balls[name]
    ]
    return "".join(lines)
