"""Popularity: what most people took, for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank.data import Interactions
from sqlrank.models.one_step import OneStepModel, Rows
from sqlrank.models.stored import stored_array
from sqlrank.settings import Settings

__all__ = ["Popularity", "PopularitySettings"]


@dataclass(frozen=True)
class PopularitySettings(Settings):
    """Popularity has nothing to set."""


class Popularity(OneStepModel):
    """The same order for everybody: items by their number of training events, ties by code.

    >>> import sqlrank
    >>> events = [("ann", "tea"), ("bob", "tea"), ("bob", "jam")]
    >>> model = sqlrank.Popularity().fit(sqlrank.read(events, verbose=False))
    >>> model.recommend(users=["ann"], n=2, exclude_seen=False)["item"].to_list()
    ['tea', 'jam']
    """

    settings_class: ClassVar[type[PopularitySettings]] = PopularitySettings
    settings: PopularitySettings
    _counts: NDArray[np.int64]

    def _learn(self, data: Interactions, seed: int | None, threads: int) -> None:
        self._counts = np.bincount(data.indices, minlength=data.n_items)

    def _score_rows(self, rows: Rows, out: NDArray[np.float32]) -> None:
        out[:] = self._counts

    def _state(self) -> dict[str, NDArray[Any]]:
        return {**super()._state(), "counts": self._counts}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self._counts = stored_array(arrays, "counts", np.int64, (len(self.items),))
