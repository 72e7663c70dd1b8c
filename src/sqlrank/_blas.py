"""Work in pieces: the bits of a multithreaded BLAS depend on the number of threads, ours must not.

Work is cut into pieces by the data, every piece runs single-threaded BLAS, and pieces run side by side in Python
threads (NumPy and SciPy release the interpreter lock while they compute).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold all BLAS libraries of the process to one thread for the time of a `with` block."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def in_threads(function: Callable[[T], R], pieces: Sequence[T], threads: int) -> Iterator[R]:
    """Yield `function(piece)` in order, computing `threads` pieces at a time: no more results wait in memory."""
    if threads == 1 or len(pieces) <= 1:
        yield from map(function, pieces)
        return
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(pieces), threads):
            yield from list(pool.map(function, pieces[first : first + threads]))
