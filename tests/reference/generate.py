"""The slow twin of the `generate` kernel: exposure by popularity, then the exponential race."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core

GENERATE = 4  # Purpose::generate
EXPOSURE, RACE, TIME, EXPOSURE_RACE = 0, 1, 2, 3


class Words:
    """The words of one stream, one by one."""

    def __init__(self, seed: int, part: int, user: int, n: int = 200_000) -> None:
        out = np.empty(n, np.uint32)
        _core.random_words(seed, GENERATE, part, user, out)
        self.words: Iterator[int] = iter(out.tolist())

    def next(self) -> int:
        return next(self.words)

    def bounded(self, n: int) -> int:
        product = self.next() * n
        while product % 2**32 < 2**32 % n:
            product = self.next() * n
        return product >> 32

    def gumbel(self) -> float:
        return -math.log(-math.log((self.next() + 0.5) / 2**32))


def exposed(
    seed: int,
    user: int,
    log_popularity: NDArray[np.float64],
    keep: NDArray[np.uint32],
    other: NDArray[np.int32],
    wanted: int,
) -> list[int]:
    n = len(log_popularity)
    if wanted == n:
        return list(range(n))
    words = Words(seed, EXPOSURE, user)
    pool: list[int] = []
    for _ in range(0 if 2 * wanted > n else 8 * wanted):
        if len(pool) == wanted:
            break
        slot = words.bounded(n)
        item = slot if words.next() < keep[slot] else int(other[slot])
        if item not in pool:
            pool.append(item)
    missing = wanted - len(pool)
    if missing:
        noises = Words(seed, EXPOSURE_RACE, user)
        noisy = {item: log_popularity[item] + noises.gumbel() for item in range(n)}
        rest = sorted((item for item in noisy if item not in pool), key=lambda item: -noisy[item])
        pool += sorted(rest[:missing])
    return pool


def race_user(
    seed: int,
    user: int,
    scores: NDArray[np.float64],
    popularity: tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int32]],
    wanted: int,
    n: int,
    noise: float,
    span: int,
) -> tuple[list[int], list[float], list[int]]:
    """Items (ascending), utilities and seconds of one user; scores are those of all items."""
    pool = exposed(seed, user, *popularity, wanted)
    words = Words(seed, RACE, user)
    utility = {item: scores[item] / noise + words.gumbel() for item in pool}
    chosen = sorted(sorted(pool, key=lambda item: (-utility[item], item))[:n])
    times = Words(seed, TIME, user)
    return chosen, [utility[item] for item in chosen], [times.bounded(span) for _ in chosen]
