import numpy as np
import pytest

from sqlrank import _core


def test_stream_is_a_function_of_its_key_alone():
    whole = np.empty(1000, np.uint32)
    part = np.empty(100, np.uint32)
    _core.random_words(7, 1, 2, 3, whole)
    _core.random_words(7, 1, 2, 3, part)
    np.testing.assert_array_equal(whole[:100], part)
    for other in ((8, 1, 2, 3), (7, 2, 2, 3), (7, 1, 3, 3), (7, 1, 2, 4)):
        _core.random_words(*other, part)
        assert not np.array_equal(whole[:100], part)


@pytest.mark.parametrize("bound", [1, 2, 7, 1000, 2**31 + 1])
def test_bounded_is_flat(bound):
    draws = np.empty(70_000, np.uint32)
    _core.random_bounded(1, 0, 0, 0, bound, draws)
    assert draws.max() < bound
    bins = min(bound, 7)
    counts = np.bincount((draws.astype(np.uint64) * bins // bound).astype(int), minlength=bins)
    expected = len(draws) / bins
    assert ((counts - expected) ** 2 / expected).sum() < 30


def test_normal_rows_depend_on_row_number_only():
    whole = np.empty((10_000, 16), np.float32)
    tail = np.empty((1_000, 16), np.float32)
    _core.normal_rows(3, 0, 0, 10, 0.1, whole, threads=2)
    _core.normal_rows(3, 0, 9_000, 10, 0.1, tail)
    np.testing.assert_array_equal(whole[9_000:], tail)
    assert (whole[:, 10:] == 0).all()
    assert abs(whole[:, :10].std() - 0.1) < 1e-3
    assert abs(whole[:, :10].mean()) < 2e-3
