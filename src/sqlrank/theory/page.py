"""The docs page of the rates experiment, made from its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrank.theory.figures import TITLES, axis_name

if TYPE_CHECKING:
    from sqlrank.theory.rates import RatesResult, Slope

HEAD = """# Excess risk: the printed rates and the simulated ones

Made by the command below from the numbers in `rates.json`; do not edit.

```sh
sqlrank theory rates --output docs
```

D(X\\*, X̂) is the excess risk of the maximum-likelihood estimate inside its norm balls, in nats per list, with the
paper's sigmoid link. One of n lists, m items and s features (or rank r) is varied, the others stay at the base. The
exponent is the slope of log D on log x; its 95 % interval comes from resampling the data sets and holds their noise
alone, not the error of taking a curve for a power law. "Bound" is the slope of the printed rate over the same values,
its ln m included. An exponent below the bound's means that the bound is loose in that direction; one above it, over a
range that goes on, that no constant makes the printed rate hold there.
"""

NOTES = {
    "features": """While nm is large beside s², the asymptotics of maximum likelihood give D ≈ s/(2n): exponents −1, 0
and 1 in n, m and s; the last column compares. Two remarks on the printed corollary:

- Its proof takes ‖X − X'‖_{∞,2} ≤ ζ‖β − β'‖, although that norm sums over the n lists: the step needs a factor √n. With
  it the chaining argument gives D = O(√(sm/n) ln m), not √(sm)/n · ln m.
- The 1/n is nevertheless the true rate in n. But then √s cannot be: for fixed m, with s growing and n growing faster
  than s², s/(2n) exceeds any constant times √(sm)/n · ln m.
""",
    "fixed-norms": """Corollary 2 hides only the constants c_u and c_v. But with ‖U‖_F and ‖V‖_F constant all scores
shrink as n and m grow, ‖X‖_F ≤ c_u c_v, and *any* estimate inside the balls has D = O(c_u² c_v² / n), because near
equal scores the Hessian of a list's likelihood has bounded eigenvalues. The printed rate holds and says little. D falls
with r here because the same norms spread over more directions make ‖U Vᵀ‖_F smaller: there is less to miss.
""",
    "growing-norms": """To keep the scores of constant size the norms must grow as √n and √m. Carried along, they
multiply the printed rate by √(nm), and it becomes m √r ln m: no gain from more lists. Counting parameters gives
D ≈ r(n + m − r)/(2n): it falls with n only until every list's own r numbers are what is left to learn, and then stays
near r/2 nats per list, so no power of n describes it. In the last column, numbers below 1 are where
lists are short beside r and the norm balls hold the estimate back, above 1 where there are few lists beside items. The
dashed line is the rate as printed, without the factor √(nm).
""",
}


def rates_page(result: RatesResult) -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for name, slopes in result.slopes.items():
        parts.append(f"\n## {TITLES[name]}\n\n![{TITLES[name]}](images/rates-{name}.png)\n")
        parts.append(_exponents(name, slopes))
        parts.append(_numbers(name, result, slopes))
        parts.append("\n" + NOTES[name])
    parts.append(
        f"\nSeed {result.seed}, {result.replicates} data sets per point, {result.seconds:.0f} seconds with "
        f"{result.workers} processes.\n"
    )
    return "".join(parts)


def _exponents(name: str, slopes: list[Slope]) -> str:
    lines = ["\n| axis | exponent | 95 % interval | bound | verdict |\n|---|---|---|---|---|\n"]
    for s in slopes:
        verdict = "as the bound"
        if s.low > s.bound_exponent:
            verdict = (
                "falls more slowly than the bound" if s.bound_exponent < 0 else "grows faster than the bound"
            )
        if s.high < s.bound_exponent:
            verdict = f"loose by {s.bound_exponent - s.exponent:.2f}"
        lines.append(
            f"| {axis_name(name, s.axis)} | {s.exponent:+.3f} | [{s.low:+.3f}, {s.high:+.3f}] "
            f"| {s.bound_exponent:+.3f} | {verdict} |\n"
        )
    return "".join(lines)


def _numbers(name: str, result: RatesResult, slopes: list[Slope]) -> str:
    from sqlrank.theory.rates import replaced

    base = result.grids[name]["base"]
    counted = "s/(2n)" if name == "features" else "r(n+m−r)/(2n)"
    lines = [
        f"\nBase: n = {base[0]}, m = {base[1]}, {axis_name(name, 'size')[0]} = {base[2]}.\n\n"
        f"| axis | value | D | standard error | printed rate / D | D / ({counted}) |\n|---|---|---|---|---|---|\n"
    ]
    for s in slopes:
        for value, risk, error, bound in zip(s.values, s.risk, s.risk_error, s.bound, strict=True):
            n, m, size = replaced(base, s.axis, value)
            expected = size / (2 * n) if name == "features" else size * (n + m - size) / (2 * n)
            lines.append(
                f"| {axis_name(name, s.axis)} | {value} | {risk:.5f} | {error:.5f} "
                f"| {bound / risk:.1f} | {risk / expected:.3f} |\n"
            )
    return "".join(lines)
