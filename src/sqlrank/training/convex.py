"""Scores that are linear in a few shared coefficients: a convex problem, solved by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._arrays import padded_rows

Coefficients = NDArray[np.float64]


@dataclass(frozen=True)
class LinearProblem:
    """The list loss as a function of W, where the score of user i and item j is a_i·W z_j.

    ``draws`` queues are averaged: ties and drawn negatives stay the same while the problem is solved, so that it is
    one fixed convex function.
    """

    engine: _core.Engine
    user_features: NDArray[np.float64]  # a_i, the first column is 1
    item_rows: NDArray[np.float32]  # z_j, padded
    columns: int
    draws: int
    regularization: float
    threads: int

    def user_rows(self, weights: Coefficients) -> NDArray[np.float32]:
        """Return a_i·W for every user, padded like the items."""
        rows = padded_rows(len(self.user_features), self.columns)
        rows[:, : self.columns] = np.einsum("ig,gf->if", self.user_features, weights)
        return rows

    def value_and_gradient(self, weights: Coefficients) -> tuple[float, Coefficients]:
        """Return the mean loss over the draws with its penalty, and the gradient in W."""
        users = self.user_rows(weights)
        rows, losses = np.empty_like(users), np.empty(len(users))
        value, gradient = 0.0, np.zeros_like(weights)
        for draw in range(self.draws):
            self.engine.user_gradients(users, self.item_rows, draw, rows, losses, self.threads)
            value += float(losses.sum()) / self.draws
            by_user = rows[:, : self.columns].astype(np.float64)
            gradient += np.einsum("ig,if->gf", self.user_features, by_user) / self.draws
        value += 0.5 * self.regularization * float((weights**2).sum())
        return value, gradient + self.regularization * weights

    def solve(self, iterations: int, after_iteration: Callable[[Coefficients, float], bool]) -> Coefficients:
        """Minimise; `after_iteration(W, value)` looks at every iterate and may stop by returning True."""
        from scipy.optimize import OptimizeResult, minimize

        shape = (self.user_features.shape[1], self.columns)

        def function(flat: Coefficients) -> tuple[float, Coefficients]:
            value, gradient = self.value_and_gradient(flat.reshape(shape))
            return value, gradient.ravel()

        def look(intermediate_result: OptimizeResult) -> None:
            if after_iteration(intermediate_result.x.reshape(shape), float(intermediate_result.fun)):
                raise StopIteration

        result = minimize(
            function,
            np.zeros(shape).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=look,
            options={"maxiter": iterations, "maxcor": 20, "ftol": 1e-9},
        )
        solution: Coefficients = result.x.reshape(shape)
        return solution
