"""Exponents fitted to simulated means, and what they say beside a printed rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sqlrank.theory.likelihood import Floats

LEVEL = 0.95


def slope_weights(x: ArrayLike) -> Floats:
    """Return the weights with which least squares adds up log y to the slope of log y on log x."""
    design = np.log(np.asarray(x, np.float64))
    design = design - design.mean()
    return np.asarray(design / (design @ design))


def half_width(weights: Floats, errors: Floats, replicates: int) -> float:
    """Return half the width of the 95 % t interval of a weighted sum of independent log means.

    `errors` are the relative standard errors of the means: those of their logarithms, by the delta method. The degrees
    of freedom are one mean's, the fewest there can be: with Welch's the skew of D makes intervals too short.
    """
    from scipy.stats import t

    return float(t.ppf(0.5 + LEVEL / 2, replicates - 1) * np.sqrt(((weights * errors) ** 2).sum()))


def fit_slope(x: ArrayLike, draws: Floats) -> tuple[float, float, float]:
    """Return the slope of log mean(draws) on log x, and its 95 % interval.

    `draws` is (values, replicates). The interval holds the noise of the simulation, not a curve that is no power law.
    """
    means = draws.mean(axis=1)
    replicates = draws.shape[1]
    errors = draws.std(axis=1, ddof=1) / np.sqrt(replicates) / means
    weights = slope_weights(x)
    exponent, half = float(weights @ np.log(means)), half_width(weights, errors, replicates)
    return exponent, exponent - half, exponent + half


def turns(ratios: Sequence[float], errors: Sequence[float], replicates: int) -> bool:
    """Whether the ratios rise somewhere and fall somewhere, each by more than their noise (relative errors).

    All pairs are looked at, so the level is divided by their number.
    """
    from scipy.stats import t

    y, e = np.log(ratios), np.asarray(errors)
    first, second = np.triu_indices(len(y), 1)
    reach = t.ppf(1.0 - (1.0 - LEVEL) / 2 / max(1, len(first)), 2 * (replicates - 1))
    change, noise = y[second] - y[first], reach * np.hypot(e[first], e[second])
    return bool((change > noise).any() and (change < -noise).any())


def bent(x: ArrayLike, y: Sequence[float], errors: Sequence[float], replicates: int) -> bool:
    """Whether log y on log x leaves every straight line by more than its noise: no single exponent describes it.

    The F test of the weighted residuals, `errors` being relative.
    """
    from scipy.stats import f

    points = len(y)
    if points < 3 or not all(errors):
        return False
    design = np.vander(np.log(np.asarray(x, np.float64)), 2) / np.asarray(errors)[:, None]
    target = np.log(y) / np.asarray(errors)
    rest = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    reach = f.ppf(LEVEL, points - 2, replicates - 1)
    return bool(rest @ rest / (points - 2) > reach)
