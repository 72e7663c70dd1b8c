"""ItemKNN: people who took this also took that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank._blas import in_threads
from sqlrank.data import Interactions
from sqlrank.models.lists import ItemLists, offsets
from sqlrank.models.one_step import OneStepModel, Rows, weights_setting
from sqlrank.models.ranked import RankedLists
from sqlrank.models.stored import stored_array, stored_lists
from sqlrank.models.topk import select_top
from sqlrank.settings import Search, Settings, setting

__all__ = ["ItemKNN", "ItemKNNSettings"]

_CELLS_PER_BLOCK = 1 << 21  # of the items x items matrix, per thread


@dataclass(frozen=True)
class ItemKNNSettings(Settings):
    """What ItemKNN learns with."""

    neighbours: int = setting(
        100,
        "how many most similar items are kept of every item",
        int,
        low=1,
        search=Search(choices=(20, 50, 100, 200, 500, 1000)),
    )
    shrinkage: float = setting(
        20.0,
        "added to the product of the lengths: similarities that few events support shrink towards 0",
        float,
        low=0,
        search=Search(1.0, 1000.0, log=True),
    )
    weights: str = weights_setting()


class ItemKNN(OneStepModel):
    """Scores are sums of similarities to the items of a user's history::

        s_ij = x_i·x_j / (|x_i| |x_j| + shrinkage)        x_j: column j of the users x items matrix X
        score of user u and item j = sum over the items i of u that count j among their neighbours: X_ui s_ij

    An item's neighbours are the ``neighbours`` items with the largest positive s, ties by code. With
    ``weights="ones"`` X holds ones (s is the cosine of two sets), with ``"values"`` the values of the events.
    Sarwar et al. 2001; Deshpande and Karypis 2004.
    """

    settings_class: ClassVar[type[ItemKNNSettings]] = ItemKNNSettings
    settings: ItemKNNSettings
    _neighbours: ItemLists
    _similarities: NDArray[np.float32]

    def _learn(self, data: Interactions, seed: int | None, threads: int) -> None:
        found = _nearest(data, self.settings.neighbours, self.settings.shrinkage, threads)
        # Ascending codes within a row: sums then have an order that does not depend on the similarities.
        order = np.lexsort((found.items, found.row_numbers))
        self._neighbours = ItemLists(found.indptr, found.items[order])
        self._similarities = found.scores[order]

    def _score_rows(self, rows: Rows, out: NDArray[np.float32]) -> None:
        n_items = len(self._neighbours.lengths)
        similar = Rows(self._neighbours, self._similarities).matrix(n_items)
        (rows.matrix(n_items) @ similar).toarray(out=out)

    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._state(),
            "neighbours_indptr": self._neighbours.indptr,
            "neighbours_indices": self._neighbours.indices,
            "similarities": self._similarities,
        }

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        n_items = len(self.items)
        self._neighbours = stored_lists(arrays, "neighbours", n_items, n_items)
        length = len(self._neighbours.indices)
        self._similarities = stored_array(arrays, "similarities", np.float32, (length,))


def _nearest(data: Interactions, k: int, shrinkage: float, threads: int) -> RankedLists:
    """The k most similar items of every item; memory is bounded by blocks of rows of the similarities."""
    n_items = data.n_items
    events = data.to_scipy().astype(np.float64)
    events.eliminate_zeros()
    of_items = events.T.tocsr()
    lengths = np.sqrt(np.asarray(of_items.multiply(of_items).sum(axis=1)).ravel())
    size = max(1, _CELLS_PER_BLOCK // n_items)

    def similarities(begin: int) -> NDArray[np.float32]:
        block = of_items[begin : begin + size] @ events
        own = np.repeat(lengths[begin : begin + size], np.diff(block.indptr))
        block.data /= own * lengths[block.indices] + shrinkage
        dense: NDArray[np.float32] = block.astype(np.float32).toarray()
        return dense

    parts = []
    starts = range(0, n_items, size)
    for begin, block in zip(starts, in_threads(similarities, starts, threads), strict=True):
        codes = np.arange(begin, begin + len(block), dtype=np.int32)
        itself = ItemLists(offsets(np.ones(len(block), np.int64)), codes)
        parts.append(_positive(select_top(block, k, exclude=itself, threads=threads)))
    return RankedLists.concatenate(parts)


def _positive(found: RankedLists) -> RankedLists:
    """Without the items that have nothing in common: they are no neighbours."""
    kept = found.scores > 0
    counts = np.bincount(found.row_numbers[kept], minlength=len(found))
    return RankedLists(offsets(counts), found.items[kept], found.scores[kept])
