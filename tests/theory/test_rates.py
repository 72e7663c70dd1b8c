"""The rates experiment on a tiny grid; the page in the docs is made from its numbers."""

from pathlib import Path

import numpy as np
import pytest

from sqlrank.errors import ConfigError
from sqlrank.theory.page import rates_page
from sqlrank.theory.rates import QUICK, RatesResult, fit_slope, main, printed_bound, run_rates
from sqlrank.theory.simulate import (
    SETTINGS,
    Cell,
    into_ball,
    out_of_ball,
    scores_loss,
    simulate,
    simulate_all,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_the_ball_map_is_smooth_and_inverts():
    rng = np.random.default_rng(0)
    theta, direction = rng.standard_normal((2, 4))
    point, pull = into_ball(theta, 3.0)
    assert np.linalg.norm(point) < 3.0
    np.testing.assert_allclose(out_of_ball(point, 3.0), theta)
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


def test_risk_falls_as_parameters_over_twice_the_lists():
    """Where asymptotics hold, D = s / (2n) within its noise: the mean of chi-square with s degrees of freedom."""
    cells = [Cell("features", 400, 10, 2, r) for r in range(25)]
    values = np.array(simulate_all(cells, 0, 1)[0])
    assert abs(values.mean() - 2 / 800) < 4 * values.std() / 5


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_cell_depends_on_its_key_alone(setting):
    cell = Cell(setting, 8, 5, 2, 1)
    assert simulate(cell, 3) == simulate(cell, 3) >= 0
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
    assert saved.slopes == alone.slopes  # the number of processes changes nothing
    assert (tmp_path / "rates.md").read_text(encoding="utf-8") == rates_page(saved)
    for name in SETTINGS:
        assert (tmp_path / "images" / f"rates-{name}.png").stat().st_size > 10_000


def test_the_page_in_the_docs_is_the_commands():
    saved = RatesResult.load(DOCS / "rates.json")
    assert (DOCS / "rates.md").read_text(encoding="utf-8") == rates_page(saved)
    assert printed_bound("features", 100, 32, 8) == pytest.approx(np.sqrt(8 * 32) / 100 * np.log(32))
