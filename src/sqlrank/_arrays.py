"""Factor matrices as the kernels like them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LANE = 16  # floats in a 64-byte vector: rows are padded to a multiple of it


def padded_width(rank: int) -> int:
    """Return the floats a row of `rank` numbers takes."""
    return -(-rank // LANE) * LANE


def padded_rows(rows: int, rank: int) -> NDArray[np.float32]:
    """Return a zeroed matrix whose rows are padded and start on 64-byte boundaries."""
    width = padded_width(rank)
    buffer = np.zeros(rows * width + LANE, np.float32)
    first = (-buffer.ctypes.data // 4) % LANE
    return buffer[first : first + rows * width].reshape(rows, width)


def rows_like(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a zeroed matrix of the same shape."""
    return padded_rows(*matrix.shape)


def copied_rows(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a copy that is aligned like the original."""
    copy = rows_like(matrix)
    copy[:] = matrix
    return copy
