"""Truncated Newton steps for Primal-CR, alternating over users and items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.losses import ListLoss
from sqlrank.training.lists import ListData
from sqlrank.training.trainer import EpochReport, Matrix, frozen, make_engine

PRODUCTS = 10  # with the Hessian, in one solve at most
TOLERANCE = 0.1  # a solve ends when the residual is this share of the gradient
SUFFICIENT = 1e-4  # share of the promised gain that a step must bring (Armijo)
SMALLEST_STEP = 1e-6
FLATTEST = 1e-30  # curvature below which a direction is left alone: the step along it would not be a float32


def dot(a: Matrix, b: Matrix) -> float:
    """Return the inner product of two matrices, summed in float64 in one order."""
    return float(np.multiply(a, b, dtype=np.float64).sum())


class NewtonTrainer:
    """One epoch is a Newton step of all users, then one of the item matrix (Primal-CR's second-order solver).

    A step solves H d = -g by a few conjugate gradients and then halves d until the objective has fallen enough.
    Users are independent of each other; the items hang together through the pairs in the lists, and H is a matrix
    of all their factors, of which only products with a direction are ever computed, each at the cost of a gradient.
    """

    def __init__(
        self,
        data: ListData,
        loss: ListLoss,
        users: Matrix,
        items: Matrix,
        *,
        regularization: float,
        negatives: int,
        queue: str,
        seed: int,
        first_epoch: int,
        threads: int,
    ) -> None:
        self.users, self.items = users, items
        self._data = data
        self._regularization = regularization
        self._frozen = (
            frozen(queue, data) or data.levels is not None
        )  # the order of equal levels does not matter
        self._first_epoch = first_epoch
        self._threads = threads
        ties = queue == "frozen-ties"
        self._source = make_engine(data, loss, negatives, seed, users.shape[1], frozen_ties=ties)
        self._negatives = negatives
        self._lists: ItemSolver | None = None

    @property
    def entries(self) -> int:
        """List entries of an epoch."""
        return int(self._source.entries)

    def train_epoch(self, number: int) -> EpochReport:
        """Run epoch `number` (from 0)."""
        if self._lists is None or not self._frozen:
            self._lists = self._make_lists(0 if self._frozen else self._first_epoch + number)
        solver, weight = self._lists, self._regularization
        loss = solver.evaluate(self.users, self.items)
        objective = loss + 0.5 * weight * (dot(self.users, self.users) + dot(self.items, self.items))
        users = self.users.copy()
        solver.core.step_users(self.items, users, weight, PRODUCTS, TOLERANCE, self._threads)
        items, length = solver.step(users, self.items, weight)
        self.users, self.items = users, items
        return EpochReport(objective, loss, self.entries, length)

    def settle(self, epochs: int) -> None:
        """Nothing to judge: the line search has looked at every step."""

    def _make_lists(self, epoch: int) -> ItemSolver:
        data = self._data
        if data.levels is not None:
            return ItemSolver(data.starts, data.items, data.levels, data.catalogue, self.users, self._threads)
        events = np.diff(data.starts)
        lengths = events + np.minimum(self._negatives * events, data.catalogue - events)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        items = np.empty(self.entries, np.int32)
        self._source.lists(epoch, items, self._threads)
        place = np.arange(self.entries) - np.repeat(starts[:-1], lengths)
        levels = (place < np.repeat(events, lengths)).astype(np.float32)
        return ItemSolver(starts, items, levels, data.catalogue, self.users, self._threads)


class ItemSolver:
    """Fixed lists, and the item matrix's objective given the users: value, gradient, Hessian products, a step."""

    def __init__(
        self,
        starts: NDArray[np.int64],
        items: NDArray[np.int32],
        levels: NDArray[np.float32],
        catalogue: int,
        users: Matrix,
        threads: int,
    ) -> None:
        positions = np.argsort(items, kind="stable")
        codes = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        item_starts = np.concatenate([[0], np.cumsum(np.bincount(items, minlength=catalogue))])
        self.core = _core.Newton(
            starts, items, levels, catalogue, item_starts, codes[positions], positions, users.shape[1]
        )
        self._catalogue, self._threads = catalogue, threads
        self._scores = np.empty(len(items), np.float32)
        self._tried_scores = np.empty_like(self._scores)
        self._entries = np.empty_like(self._scores)
        self._losses = np.empty(len(starts) - 1)

    def evaluate(self, users: Matrix, items: Matrix) -> float:
        """Return the sum of the losses; scores and coefficients stay for the gradient and the products."""
        return self._evaluate(users, items, self._scores)

    def _evaluate(self, users: Matrix, items: Matrix, scores: NDArray[np.float32]) -> float:
        self.core.evaluate(users, items, scores, self._entries, self._losses, self._threads)
        return float(self._losses.sum())

    def gradient(self, users: Matrix) -> Matrix:
        """Return the loss's gradient in the items at the point evaluated last."""
        return self._sum_by_item(users)

    def product(self, users: Matrix, direction: Matrix) -> Matrix:
        """Return the loss's Hessian in the items, at the point evaluated, times a direction."""
        self.core.product(users, direction, self._scores, self._entries, self._threads)
        return self._sum_by_item(users)

    def _sum_by_item(self, users: Matrix) -> Matrix:
        out = np.empty((self._catalogue, users.shape[1]), np.float32)
        self.core.sum_by_item(users, self._entries, out, self._threads)
        return out

    def step(self, users: Matrix, items: Matrix, weight: float) -> tuple[Matrix, float]:
        """Return the items one truncated Newton step on, and the length of the step."""
        before = self.evaluate(users, items) + 0.5 * weight * dot(items, items)
        gradient = self.gradient(users) + np.float32(weight) * items
        direction = self._solve(users, gradient, weight)
        slope, length = dot(gradient, direction), 1.0
        while slope < 0 and length > SMALLEST_STEP:
            tried = items + np.float32(length) * direction
            value = self._evaluate(users, tried, self._tried_scores) + 0.5 * weight * dot(tried, tried)
            if value <= before + SUFFICIENT * length * slope:
                return tried, length
            length *= 0.5
        return items, 0.0

    def _solve(self, users: Matrix, gradient: Matrix, weight: float) -> Matrix:
        """Solve H d = -g by conjugate gradients, roughly."""
        direction = np.zeros_like(gradient)
        residual = -gradient
        search = residual.copy()
        squared = dot(residual, residual)
        enough = TOLERANCE**2 * squared
        for _ in range(PRODUCTS):
            if squared <= enough:
                break
            bent = self.product(users, search) + np.float32(weight) * search
            bend = dot(search, bent)
            if not bend > squared * FLATTEST:
                break  # flat to the last digit: no step length can be told
            along = np.float32(squared / bend)
            direction += along * search
            residual -= along * bent
            before, squared = squared, dot(residual, residual)
            search = residual + np.float32(squared / before) * search
        return direction
