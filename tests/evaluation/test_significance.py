import numpy as np
import pytest

from sqlrank.errors import ConfigError
from sqlrank.evaluation import paired_bootstrap


def test_interval_covers_the_true_difference_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    samples = random.normal(0.02, 0.3, (400, 300))  # 300 experiments with 400 users each; the truth is 0.02
    covered = np.mean([gap.low <= 0.02 <= gap.high for gap in paired_bootstrap(samples, resamples=1000)])
    assert 0.91 < covered < 0.98


def test_width_is_that_of_the_normal_approximation() -> None:
    values = np.random.default_rng(0).normal(0.1, 1.0, (2000, 1))
    (gap,) = paired_bootstrap(values)
    error = values.std(ddof=1) / np.sqrt(2000)
    assert gap.value == pytest.approx(values.mean())
    assert gap.high - gap.low == pytest.approx(2 * 1.96 * error, rel=0.08)


def test_a_clear_difference_is_clear_and_none_is_not() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 500)
    better, same = paired_bootstrap(np.column_stack([noise + 0.05, noise - noise.mean()]))
    assert better.is_clear
    assert better.low > 0
    assert not same.is_clear


def test_missing_users_leave_sum_and_count() -> None:
    values = np.random.default_rng(2).normal(size=(60, 2))
    values[40:, 1] = np.nan
    alone = paired_bootstrap(values[:, :1])[0]
    both = paired_bootstrap(values)
    assert both[0] == alone  # columns do not disturb each other
    assert both[1].users == 40
    assert both[1].value == pytest.approx(values[:40, 1].mean())
    assert both[1].low < both[1].value < both[1].high


def test_same_seed_same_interval_and_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=(100, 3))
    first = paired_bootstrap(values, seed=5)
    assert paired_bootstrap(values, seed=5) == first
    assert paired_bootstrap(values, seed=6) != first
    monkeypatch.setattr("sqlrank.evaluation.significance._CELLS_PER_BLOCK", 700)
    for again, gap in zip(paired_bootstrap(values, seed=5), first, strict=True):
        assert (again.low, again.high) == pytest.approx((gap.low, gap.high), abs=1e-12)


@pytest.mark.parametrize("shape", [(0, 2), (3, 2)])
def test_nobody_to_compare(shape: tuple[int, int]) -> None:
    for gap in paired_bootstrap(np.full(shape, np.nan)):
        assert np.isnan([gap.value, gap.low, gap.high]).all()
        assert not gap.is_clear


def test_bad_arguments() -> None:
    with pytest.raises(ConfigError, match="dimensions"):
        paired_bootstrap(np.zeros(3))
    with pytest.raises(ConfigError, match="resamples"):
        paired_bootstrap(np.zeros((3, 1)), resamples=0)
