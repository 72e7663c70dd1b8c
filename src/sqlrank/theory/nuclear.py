"""The convex problem behind the factor model: Plackett-Luce likelihood over a nuclear-norm ball (the paper's eq. 5).

It is convex with the identity link, log phi(x) = x. With the paper's sigmoid it is not (tests show a segment along
which the objective bends down), so the solver has the identity link only: a duality gap means nothing without
convexity.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqlrank.errors import ConfigError, DataError
from sqlrank.theory.likelihood import Floats, nll_and_gradient, suffix_logsumexp, suffix_mean


@dataclass(frozen=True)
class ConvexSolution:
    """The scores found, and how far at most their objective is above the optimum."""

    scores: Floats
    objective: float
    """Negative log-likelihood, summed over the lists."""
    gap: float
    """Duality gap: objective - optimum <= gap."""
    iterations: int
    seconds: float
    history: list[tuple[float, float]]
    """Objective and gap before every iteration."""

    @property
    def relative_gap(self) -> float:
        """Return gap / objective; 0 where both are."""
        return self.gap / self.objective if self.gap else 0.0


class NuclearNormRanker:
    r"""Minimise :math:`-\sum_i \log P_{X_i}(Π_i)` over :math:`\|X\|_* \le r`, identity link, without projections.

    Frank-Wolfe, fully corrective: the linear problem over the ball is solved by the gradient's top singular pair
    (Lanczos), the step towards that vertex by Newton's method on the segment. Then the small core of the iterate
    ``left @ core @ right.T`` is corrected in the space found so far, widened by the next `directions` - 1 singular
    pairs: only matrices of the iterate's rank are ever projected. The gap
    :math:`\langle \nabla, X - S \rangle` over the whole ball certifies the result.

    >>> import numpy as np
    >>> from sqlrank.theory import NuclearNormRanker
    >>> solution = NuclearNormRanker(radius=2.0).solve([[0, 1, 2], [0, 2, 1]])
    >>> bool(solution.relative_gap < 1e-3), int(np.argmax(solution.scores[0]))
    (True, 0)
    """

    def __init__(
        self,
        radius: float,
        tolerance: float = 1e-3,
        max_iterations: int = 1000,
        directions: int = 4,
        corrections: int = 10,
        seed: int = 0,
    ) -> None:
        if not (np.isfinite(radius) and radius > 0):
            raise ConfigError(f"radius is {radius!r}; it must be a number > 0")
        if not tolerance > 0:
            raise ConfigError(f"tolerance is {tolerance!r}; it must be a number > 0")
        self.radius = float(radius)
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        if directions < 1 or corrections < 1 or max_iterations < 1:
            raise ConfigError("directions, corrections and max_iterations must be whole numbers >= 1")
        self.directions, self.corrections = directions, corrections
        self.seed = seed

    def solve(self, rankings: ArrayLike | Sequence[ArrayLike], n_items: int | None = None) -> ConvexSolution:
        """Return the solution for one ranking per list: item codes, best first; lists may differ in length."""
        problem = ListProblem.of(rankings, n_items)
        started = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        iterate = LowRank(problem.shape, self.radius)
        history: list[tuple[float, float]] = []
        start = rng.standard_normal(min(problem.shape))
        for iteration in range(self.max_iterations + 1):
            scores = iterate.scores
            x = problem.arrange(scores)
            objective, gradient = problem.value_and_gradient(x)
            u, v, sigma = top_singular_pairs(gradient, start, self.directions)
            gap = float((gradient * scores).sum()) + self.radius * float(sigma[0])
            history.append((objective, gap))
            if gap <= self.tolerance * objective or iteration == self.max_iterations:
                break
            iterate.frank_wolfe(problem, x, -u[:, 0], v[:, 0])
            iterate.widen(u[:, 1:], v[:, 1:])
            iterate.correct(problem, self.corrections)
        seconds = time.perf_counter() - started
        return ConvexSolution(scores, objective, gap, iteration, seconds, history)


class ListProblem:
    """Lists of equal length side by side, so that everything is done on matrices."""

    def __init__(self, groups: list[tuple[NDArray[np.int64], NDArray[np.int64]]], shape: tuple[int, int]):
        self.groups = groups
        self.shape = shape

    @classmethod
    def of(cls, rankings: ArrayLike | Sequence[ArrayLike], n_items: int | None) -> ListProblem:
        """Group the rankings by their length."""
        rows = [_codes(row, number) for number, row in enumerate(rankings)]  # type: ignore[arg-type] # any sequence
        if not rows or not any(len(row) for row in rows):
            raise DataError("there are no rankings: give one sequence of item codes per list")
        items = 1 + max(int(row.max()) for row in rows if len(row)) if n_items is None else n_items
        for number, row in enumerate(rows):
            if len(np.unique(row)) != len(row) or (len(row) and (row.min() < 0 or row.max() >= items)):
                raise DataError(f"ranking {number} names an item twice or outside 0..{items - 1}")
        lengths = np.array([len(row) for row in rows])
        groups = []
        for length in np.unique(lengths[lengths > 0]):
            lists = np.flatnonzero(lengths == length)
            groups.append((lists, np.stack([rows[i] for i in lists])))
        return cls(groups, (len(rows), items))

    def arrange(self, scores: Floats) -> list[Floats]:
        """Return the scores in the order of the lists."""
        return [scores[lists[:, None], order] for lists, order in self.groups]

    def value_and_gradient(self, arranged: list[Floats]) -> tuple[float, Floats]:
        """Return the objective and its gradient in the scores."""
        total, gradient = 0.0, np.zeros(self.shape)
        for (lists, order), y in zip(self.groups, arranged, strict=True):
            value, c = nll_and_gradient(y)
            total += value
            gradient[lists[:, None], order] = c
        return total, gradient

    def slope_and_bend(self, x: list[Floats], d: list[Floats], step: float) -> tuple[float, float]:
        """Return the first and second derivative of the objective along x + step d."""
        slope = bend = 0.0
        for a, b in zip(x, d, strict=True):
            y = a + step * b
            first = suffix_mean_fast(y, b)
            slope += float((first - b).sum())
            bend += float((suffix_mean_fast(y, b * b) - first * first).sum())
        return slope, bend


def _codes(row: ArrayLike, number: int) -> NDArray[np.int64]:
    codes = np.asarray(row).ravel()
    if codes.size and codes.dtype.kind not in "iu":
        raise DataError(f"ranking {number} is of {codes.dtype}; item codes are whole numbers")
    return codes.astype(np.int64)


def suffix_mean_fast(y: Floats, values: Floats) -> Floats:
    """Return :func:`suffix_mean` by cumulated sums where the scores' spread allows it."""
    top = y.max(axis=-1, keepdims=True)
    if float((top - y.min(axis=-1, keepdims=True)).max()) > 300.0:
        return suffix_mean(y, values)
    e = np.exp(y - top)
    below = np.cumsum((e * values)[:, ::-1], axis=-1)[:, ::-1]
    return np.asarray(below / np.exp(suffix_logsumexp(y) - top))


class LowRank:
    """The iterate as `left @ core @ right.T` with orthonormal columns left and right, inside the ball."""

    def __init__(self, shape: tuple[int, int], radius: float) -> None:
        self.radius = radius
        self.left: Floats = np.zeros((shape[0], 0))
        self.right: Floats = np.zeros((shape[1], 0))
        self.core: Floats = np.zeros((0, 0))
        self.curvature = 1.0  # at equal scores the full list's Hessian has eigenvalues near 1

    @property
    def scores(self) -> Floats:
        """Return the matrix itself."""
        return np.asarray(self.left @ self.core @ self.right.T)

    def frank_wolfe(self, problem: ListProblem, x: list[Floats], u: Floats, v: Floats) -> None:
        """Step towards the vertex radius * u v', as far as the line search says."""
        direction = problem.arrange(self.radius * np.outer(u, v) - self.scores)
        step = line_search(problem, x, direction, 1.0)
        self.left, a = _append(self.left, u)
        self.right, b = _append(self.right, v)
        core = np.zeros((self.left.shape[1], self.right.shape[1]))
        core[: len(self.core), : len(self.core)] = (1.0 - step) * self.core
        self.core = core + step * self.radius * np.outer(a, b)

    def widen(self, left: Floats, right: Floats) -> None:
        """Add directions to the space that is corrected; the iterate stays where it is."""
        for u, v in zip(left.T, right.T, strict=True):
            self.left, _ = _append(self.left, u)
            self.right, _ = _append(self.right, v)
            self.core = np.pad(self.core, (0, 1))

    def correct(self, problem: ListProblem, steps: int) -> None:
        """Minimise over the core in its small ball: accelerated projected gradient, restarted when it rises."""
        best, ahead, momentum = self.core, self.core, 1.0
        previous = self._evaluate(problem, self.core)[0]
        for _ in range(steps):
            new, new_value = self._descend(problem, ahead, *self._evaluate(problem, ahead))
            if new_value > previous:
                momentum, ahead = 1.0, best
                continue
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            ahead = new + (momentum - 1.0) / following * (new - best)
            best, previous, momentum = new, new_value, following
        u, values, vt = np.linalg.svd(best)
        kept = values > 1e-10 * self.radius
        self.left, self.right = self.left @ u[:, kept], self.right @ vt[kept].T
        self.core = np.diag(values[kept])

    def _descend(
        self, problem: ListProblem, at: Floats, value: float, gradient: Floats
    ) -> tuple[Floats, float]:
        """Take one projected step whose length the quadratic upper bound accepts."""
        self.curvature *= 0.9
        while True:
            new = project_nuclear(at - gradient / self.curvature, self.radius)
            moved = new - at
            scores = self.left @ new @ self.right.T
            new_value = problem.value_and_gradient(problem.arrange(scores))[0]
            allowed = value + (gradient * moved).sum() + 0.5 * self.curvature * (moved**2).sum()
            if new_value <= allowed + 1e-12 * abs(value) or self.curvature > 1e12:
                return new, new_value
            self.curvature *= 2.0

    def _evaluate(self, problem: ListProblem, core: Floats) -> tuple[float, Floats]:
        value, gradient = problem.value_and_gradient(problem.arrange(self.left @ core @ self.right.T))
        return value, self.left.T @ gradient @ self.right


def _append(basis: Floats, vector: Floats) -> tuple[Floats, Floats]:
    """Return the basis with a column more, and the vector's coordinates in it."""
    inside = basis.T @ vector
    rest = vector - basis @ inside
    again = basis.T @ rest  # once more: keeps the columns orthogonal to rounding
    rest = rest - basis @ again
    length = float(np.linalg.norm(rest))
    column = rest / length if length > 1e-12 else np.zeros_like(rest)
    return np.column_stack([basis, column]), np.append(inside + again, length)


def project_nuclear(matrix: Floats, radius: float) -> Floats:
    """Return the nearest matrix whose singular values sum to at most `radius`."""
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    if values.sum() <= radius:
        return matrix
    excess = (np.cumsum(values) - radius) / np.arange(1, len(values) + 1)
    cut = excess[np.flatnonzero(values > excess)[-1]]
    return np.asarray((u * np.maximum(values - cut, 0.0)) @ vt)


def line_search(problem: ListProblem, x: list[Floats], d: list[Floats], most: float) -> float:
    """Return the step in [0, most] that minimises the convex objective along d: safeguarded Newton."""
    low, high, step = 0.0, most, 0.0
    if problem.slope_and_bend(x, d, most)[0] <= 0.0:
        return most
    for _ in range(50):
        slope, bend = problem.slope_and_bend(x, d, step)
        low, high = (step, high) if slope < 0 else (low, step)
        proposal = step - slope / bend if bend > 0 else np.inf
        new = proposal if low < proposal < high else 0.5 * (low + high)
        if abs(new - step) <= 1e-4 * max(step, new):
            return float(new)
        step = new
    return float(step)


def top_singular_pairs(matrix: Floats, start: Floats, pairs: int) -> tuple[Floats, Floats, Floats]:
    """Return the largest singular triples, largest first, by Lanczos (a full SVD where the matrix is small)."""
    if not matrix.any():  # nothing to improve: any directions will do, and Lanczos cannot start
        rows, columns = matrix.shape
        pairs = min(pairs, rows, columns)
        return np.eye(rows, pairs), np.eye(columns, pairs), np.zeros(pairs)
    if min(matrix.shape) <= 2 * pairs + 2:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        return left[:, :pairs], right[:pairs].T, values[:pairs]
    from scipy.sparse.linalg import svds

    left, values, right = svds(matrix, k=pairs, v0=start, tol=1e-6)
    order = np.argsort(-values)
    return left[:, order], right[order].T, np.asarray(values[order], np.float64)
