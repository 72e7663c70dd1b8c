"""The inverse of a large symmetric matrix, tile by tile: the same bits for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank._blas import in_threads, single_threaded_blas

__all__ = ["TILE", "inverse_in_place"]

TILE = 512

Tiles = list[list[NDArray[Any]]]


def inverse_in_place(tiles: Tiles, threads: int) -> None:
    """Replace a symmetric positive definite matrix by *minus* its inverse.

    ``tiles[i][j]``, j <= i, are the tiles of its lower triangle. One tile after the other is swept
    (Gauss-Jordan on symmetric matrices, n³ operations, all of them matrix products)::

        D = A_kk⁻¹      A_ij -= A_ik D A_kj      A_ik <- A_ik D      A_kk <- -D

    Raises numpy.linalg.LinAlgError where the matrix is not positive definite.
    """
    with single_threaded_blas():
        for k in range(len(tiles)):
            _sweep(tiles, k, threads)


def _sweep(tiles: Tiles, k: int, threads: int) -> None:
    others = [i for i in range(len(tiles)) if i != k]
    pivot = _inverse_of_tile(tiles[k][k])
    column = {i: tiles[i][k] if i > k else tiles[k][i].T for i in others}
    scaled = dict(zip(others, in_threads(lambda i: column[i] @ pivot, others, threads), strict=True))

    def update(place: tuple[int, int]) -> None:
        i, j = place
        tiles[i][j] -= scaled[i] @ column[j].T

    list(in_threads(update, [(i, j) for i in others for j in others if j <= i], threads))
    for i in others:
        if i > k:
            tiles[i][k] = scaled[i]
        else:
            tiles[k][i] = np.ascontiguousarray(scaled[i].T)
    tiles[k][k] = -pivot


def _inverse_of_tile(tile: NDArray[Any]) -> NDArray[Any]:
    # In float64 whatever the rest is in: a tile costs next to nothing, and its errors would spread to all others.
    half = np.linalg.inv(np.linalg.cholesky(tile.astype(np.float64)))
    return (half.T @ half).astype(tile.dtype)
