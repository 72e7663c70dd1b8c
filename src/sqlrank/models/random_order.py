"""Random: an order drawn for every user. What a metric says about it is chance."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.data import Interactions
from sqlrank.models.fitting import MOST_SEED
from sqlrank.models.one_step import OneStepModel, Rows
from sqlrank.models.stored import stored_number
from sqlrank.settings import Settings

__all__ = ["Random", "RandomSettings"]

_SAMPLE = 5  # the generator's purpose for drawn samples
_KNOWN, _NEW = 0x52616E64, 0x52616E65  # streams of users with a code, and of histories


@dataclass(frozen=True)
class RandomSettings(Settings):
    """Random has nothing to set; the seed is given to fit."""


class Random(OneStepModel):
    """Every user's own random order of the items.

    The score of user u and item j is the j-th number of the stream (seed, u), uniform in [0, 1): it depends on
    the seed and the two codes alone. A history takes the stream that a checksum of its items names.
    """

    settings_class: ClassVar[type[RandomSettings]] = RandomSettings
    settings: RandomSettings
    _seed: int

    def _learn(self, data: Interactions, seed: int | None, threads: int) -> None:
        if seed is not None:
            self._seed = seed

    def _score_rows(self, rows: Rows, out: NDArray[np.float32]) -> None:
        words = np.empty(out.shape[1], np.uint32)
        for row in range(len(rows)):
            if rows.codes is not None:
                stream = int(rows.codes[row]), _KNOWN
            else:
                stream = zlib.crc32(np.ascontiguousarray(rows.lists.row(row)).tobytes()), _NEW
            _core.random_words(self._seed, _SAMPLE, *stream, words)
            # 24 bits are what a float32 below 1 holds exactly.
            np.multiply(words >> 8, np.float32(2.0**-24), out=out[row], casting="same_kind")

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "seed": self._seed}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self._seed = stored_number(facts, "seed", 0, MOST_SEED)
