"""The rates experiment on a tiny grid; the page in the docs is made from its numbers."""

from pathlib import Path

import numpy as np
import pytest

from sqlrank.errors import ConfigError
from sqlrank.theory.fits import bent, fit_slope, turns
from sqlrank.theory.page import rates_page
from sqlrank.theory.rates import (
    QUICK,
    Point,
    RatesResult,
    Slope,
    exponent_rows,
    main,
    printed_bound,
    run_rates,
    verdict,
)
from sqlrank.theory.simulate import (
    SETTINGS,
    Cell,
    into_ball,
    minimise,
    out_of_ball,
    scores_loss,
    simulate,
    simulate_all,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_the_ball_map_is_smooth_and_inverts():
    rng = np.random.default_rng(0)
    theta, direction = rng.standard_normal((2, 4))
    theta *= 0.7 / np.linalg.norm(theta)
    point, pull = into_ball(theta, 3.0)
    assert np.linalg.norm(point) < 3.0
    np.testing.assert_allclose(out_of_ball(point, 3.0), theta)
    edge = 3.0 * theta / np.linalg.norm(theta)  # the boundary belongs to it
    np.testing.assert_allclose(into_ball(out_of_ball(edge, 3.0), 3.0)[0], edge)
    assert np.linalg.norm(into_ball(100 * theta, 3.0)[0]) < 3.0
    g = rng.standard_normal(4)
    numeric = (
        g @ (into_ball(theta + 1e-6 * direction, 3.0)[0] - into_ball(theta - 1e-6 * direction, 3.0)[0]) / 2e-6
    )
    assert pull(g) @ direction == pytest.approx(numeric, rel=1e-6)


def test_gradient_of_the_loss():
    rng = np.random.default_rng(0)
    x, d = rng.standard_normal((2, 3, 5))
    order = np.argsort(rng.random((3, 5)), axis=1)
    numeric = (scores_loss(x + 1e-6 * d, order)[0] - scores_loss(x - 1e-6 * d, order)[0]) / 2e-6
    assert (scores_loss(x, order)[1] * d).sum() == pytest.approx(numeric, rel=1e-6)


def test_fit_slope_recovers_a_power_law():
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8, 16])
    exponent, low, high = fit_slope(x, 3 * x[:, None] ** -0.7 * rng.lognormal(0, 0.2, (5, 40)))
    assert low < -0.7 < high
    assert abs(exponent + 0.7) < 0.05


@pytest.mark.parametrize(
    ("chi", "x", "truth"),
    [([2, 4, 8, 16, 32], [2, 4, 8, 16, 32], 1.0), ([8] * 5, [25, 50, 100, 200, 400], 0.0)],
)
def test_the_interval_covers_with_12_skewed_replicates(chi, x, truth):
    """D of maximum likelihood is chi-square over 2n: skewed, and most so where s is small."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        _, low, high = fit_slope(x, rng.chisquare(np.array(chi)[:, None], (5, 12)))
        hits += low <= truth <= high
    assert 0.93 <= hits / 2000 <= 0.97


def slope_of(values, risk, bound, error=0.02):
    points = [Point(1.0, d, error * d, 1.0, 1.0, 1.0) for d in risk]
    draws = np.array(risk)[:, None] * (1 + error * np.sqrt(12) * np.resize([1.0, -1.0], 12))
    predicted = float(np.polyfit(np.log(values), np.log(bound), 1)[0])
    return Slope("n", list(values), points, list(bound), *fit_slope(values, draws), predicted)


def test_a_ratio_that_turns_is_no_power_law():
    """The ratio of rate to D falls and rises again: whatever the fitted exponent, nothing grows faster than it."""
    values, bound = [1, 2, 4, 8], [2.0, 2.8, 4.0, 5.7]
    risk = [b / ratio for b, ratio in zip(bound, [2.7, 1.6, 1.55, 2.5], strict=True)]
    assert verdict(slope_of(values, risk, bound), 12) == "no power law: bound / D turns"
    noisy = slope_of(values, risk, bound, error=0.5)
    assert "turns" not in verdict(noisy, 12)  # within the noise it may be one


def test_verdicts_where_the_ratio_goes_one_way():
    x = np.array([1.0, 2, 4, 8, 16])
    bound = list(x**0.5)
    assert verdict(slope_of(x, x, bound), 12) == "grows faster than the bound"
    assert verdict(slope_of(x, x**0.1, bound), 12) == "loose by 0.40"
    assert verdict(slope_of(x, 3 * x**0.5, bound), 12) == "as the bound"
    assert verdict(slope_of(x, x**-0.2, list(x**-0.5)), 12) == "falls more slowly than the bound"
    assert verdict(slope_of(x, 2 - 1 / x, bound), 12).endswith("bent, +0.58 at first and +0.05 at last")


def test_noise_alone_seldom_turns_or_bends():
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8, 16])
    found = np.zeros(2)
    for _ in range(500):
        draws = rng.chisquare(8, (5, 12))
        mean = draws.mean(axis=1)
        error = draws.std(axis=1, ddof=1) / np.sqrt(12) / mean
        found += turns(mean, error, 12), bent(x, mean, error, 12)
    assert found[0] / 500 < 0.03 and found[1] / 500 < 0.1


def test_the_lowest_start_is_taken_and_a_second_one_confirms_it():
    def two_valleys(x):
        return float(((x**2 - 1) ** 2 + 0.3 * x).sum()), 4 * x * (x**2 - 1) + 0.3

    low, high = np.array([-1.2]), np.array([1.2])
    for starts, confirmed in (([high, low], False), ([high, low, low + 0.1], True)):
        best, again = minimise(two_valleys, starts)
        assert best[0] < -1 and again is confirmed


def test_the_balls_hold_the_estimate():
    """Other balls meet the same truth and rankings, and estimates are no larger than the balls allow."""
    for setting in SETTINGS:
        small, wide = (simulate(Cell(setting, 12, 8, 2, ball=ball)) for ball in (1.0, 4.0))
        assert small.zero == wide.zero
        assert small.norm_ratio < wide.norm_ratio * (1 + 1e-6)
    rank_one = simulate(Cell("fixed-norms", 30, 8, 1))  # |UV'| is the product of the norms
    assert rank_one.norm_ratio <= 1 + 1e-9
    with pytest.raises(ConfigError, match=r"ball is 0\.5"):
        simulate(Cell("features", 2, 2, 1, ball=0.5))


def test_no_matplotlib_is_said_before_the_simulation(monkeypatch, tmp_path):
    import sys

    from sqlrank.cli.theory import rates as command
    from sqlrank.theory import rates as module

    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(module, "simulate_all", lambda *_: pytest.fail("simulated first"))
    with pytest.raises(ConfigError, match=r"pip install 'sqlrank\[plot\]'"):
        command(output=tmp_path, quick=True)
    with pytest.raises(ConfigError, match="matplotlib"):
        main(["--quick", "-o", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_risk_falls_as_parameters_over_twice_the_lists():
    """Where asymptotics hold, D = s / (2n) within its noise: the mean of chi-square with s degrees of freedom."""
    cells = [Cell("features", 400, 10, 2, r, ball=2.0) for r in range(25)]
    values = np.array([outcome.risk for outcome in simulate_all(cells, 0, 1)[0]])
    assert abs(values.mean() - 2 / 800) < 4 * values.std() / 5


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_cell_depends_on_its_key_alone(setting):
    cell = Cell(setting, 8, 5, 2, 1)
    assert simulate(cell, 3) == simulate(cell, 3)
    assert simulate(cell, 3).risk >= 0
    assert simulate(cell, 3) != simulate(cell, 4)


def test_unknown_setting_and_too_few_replicates():
    with pytest.raises(ConfigError, match="features"):
        simulate(Cell("x", 2, 2, 1))
    with pytest.raises(ConfigError, match="at least 2"):
        run_rates(replicates=1)


def test_the_command(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    main(["--quick", "--replicates", "2", "--workers", "2", "-o", str(tmp_path)])
    assert "growing-norms" in capsys.readouterr().out
    alone = run_rates(0, 2, 1, QUICK)
    saved = RatesResult.load(tmp_path / "rates.json")
    assert (
        saved.slopes == alone.slopes and saved.balls == alone.balls
    )  # the number of processes changes nothing
    assert (tmp_path / "rates.md").read_text(encoding="utf-8") == rates_page(saved)
    for name in SETTINGS:
        assert (tmp_path / "images" / f"rates-{name}.png").stat().st_size > 10_000


def test_the_page_in_the_docs_is_the_commands():
    saved = RatesResult.load(DOCS / "rates.json")
    assert (DOCS / "rates.md").read_text(encoding="utf-8") == rates_page(saved)
    assert all(len(saved.balls[name]) == 3 for name in SETTINGS)
    assert len(exponent_rows(saved)) == 9
    assert printed_bound("features", 100, 32, 8) == pytest.approx(np.sqrt(8 * 32) / 100 * np.log(32))
