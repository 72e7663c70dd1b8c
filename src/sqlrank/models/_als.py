"""Alternating least squares: `implicit`'s solver epoch by epoch, the objective, and the exact solution for users."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank._blas import in_threads, single_threaded_blas
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError
from sqlrank.models.factors import padded
from sqlrank.models.lists import ItemLists
from sqlrank.models.topk import score_pairs
from sqlrank.training.trainer import EpochReport

__all__ = ["ALSTrainer", "import_als", "solve_rows"]

_FLOATS_PER_PIECE = 1 << 20  # 8 MB of normal equations or of item rows at a time, per thread


class ALSTrainer:
    """Epochs of `implicit.cpu.als.AlternatingLeastSquares`, one at a time: bit for bit those of its own fit."""

    def __init__(
        self,
        data: Interactions,
        users: NDArray[np.float32],
        items: NDArray[np.float32],
        alpha: float,
        regularization: float,
        threads: int,
        objective: bool,
    ) -> None:
        als = import_als()
        with single_threaded_blas():  # making it warns of BLAS threads
            model = als(
                factors=users.shape[1], regularization=regularization, alpha=alpha, num_threads=threads
            )
        self.users, self.items = users, items
        self._solver = model.solver
        self._regularization = regularization
        self._threads = threads
        self._wanted = objective
        self._by_user = _confidences(data, alpha)
        self._by_item = self._by_user.T.tocsr()
        self._cells = data.user_codes, data.indices

    def train_epoch(self, number: int) -> EpochReport:
        """Improve all users, then all items."""
        users, items = self.users.copy(), self.items.copy()
        with single_threaded_blas():
            objective = self._objective() if self._wanted else math.nan  # a third of an epoch's time
            self._solver(self._by_user, users, items, self._regularization, num_threads=self._threads)
            self._solver(self._by_item, items, users, self._regularization, num_threads=self._threads)
        self.users, self.items = users, items
        return EpochReport(objective, objective, len(self._cells[0]), 1.0)

    def settle(self, epochs: int) -> None:
        """Nothing to judge: no step raises the objective."""

    def _objective(self) -> float:
        """Sum over all cells without visiting them: all are zeros, then the events are set right."""
        users, items = self.users.astype(np.float64), self.items.astype(np.float64)
        gram_users, gram_items = users.T @ users, items.T @ items
        confidence = self._by_user.data.astype(np.float64)
        rows, columns = self._cells
        scores = score_pairs(padded(self.users), rows, padded(self.items), columns, self._threads).astype(
            np.float64
        )
        wanted = confidence > 0
        events = np.abs(confidence) * (wanted - scores) ** 2 - scores**2
        norms = np.trace(gram_users) + np.trace(gram_items)
        return float((gram_users * gram_items).sum() + events.sum() + self._regularization * norms)


def import_als() -> Any:
    """Return the package's class, or say how to get it."""
    try:
        from implicit.cpu.als import AlternatingLeastSquares
    except ImportError as error:
        raise ConfigError(
            "fitting WeightedMF needs the package implicit: pip install 'sqlrank[rivals]'"
        ) from error
    return AlternatingLeastSquares


def _confidences(data: Interactions, alpha: float) -> Any:
    from scipy.sparse import csr_matrix  # implicit knows matrices, not arrays

    values = np.ones(len(data), np.float32) if data.values is None else data.values
    arrays = np.float32(alpha) * values, data.indices, data.indptr
    return csr_matrix(arrays, shape=data.shape, copy=True)  # and writable arrays


def solve_rows(
    items: NDArray[np.float32],
    histories: ItemLists,
    confidence: NDArray[np.float64],
    regularization: float,
    threads: int,
) -> NDArray[np.float64]:
    """The user rows that minimise the objective exactly, the item factors V held fixed::

        (VᵀV + lambda I + sum over the history of (|c| - 1) v vᵀ) u = sum over c > 0 of c v

    Histories of equal length are solved together, one after the other inside LAPACK: a row's bits do not depend on
    its company.
    """
    factors = items.astype(np.float64)
    rank = factors.shape[1]
    out = np.zeros((histories.n_rows, rank))
    with single_threaded_blas():
        base = factors.T @ factors + regularization * np.eye(rank)

        def solve(rows: NDArray[np.int64]) -> None:
            length = int(histories.lengths[rows[0]])
            positions = histories.indptr[rows][:, None] + np.arange(length)
            vectors, weights = factors[histories.indices[positions]], confidence[positions]
            scaled = vectors * (np.abs(weights) - 1)[:, :, None]
            left = base + vectors.transpose(0, 2, 1) @ scaled
            right = (vectors * np.maximum(weights, 0)[:, :, None]).sum(axis=1)
            out[rows] = np.linalg.solve(left, right[:, :, None])[:, :, 0]

        list(in_threads(solve, _pieces(histories.lengths, rank), threads))
    return out


def _pieces(lengths: NDArray[np.int64], rank: int) -> list[NDArray[np.int64]]:
    """Rows of equal length, in pieces that fit into memory."""
    order = np.argsort(lengths, kind="stable")
    pieces = []
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        if len(group):
            size = max(1, _FLOATS_PER_PIECE // (rank * max(rank, int(lengths[group[0]]))))
            pieces += [group[at : at + size] for at in range(0, len(group), size)]
    return pieces
