"""EASE: a linear model of the items on each other, in closed form (Steck, WWW 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sqlrank._blas import in_threads
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError
from sqlrank.models._tiles import TILE, Tiles, inverse_in_place
from sqlrank.models.one_step import OneStepModel, Rows, weights_setting
from sqlrank.models.stored import stored_array
from sqlrank.settings import Search, Settings, setting

__all__ = ["EASE", "EASESettings"]

MOST_ITEMS = 20_000
_SAFE_CONDITION = 1e5  # float32 errs by 6e-8 times the condition: up to here in the third digit at worst


@dataclass(frozen=True)
class EASESettings(Settings):
    """What EASE learns with."""

    regularization: float = setting(
        500.0,
        "lambda, the weight of the squared coefficients; grows with the number of events per item",
        float,
        low=0,
        above_low=True,
        search=Search(10.0, 10_000.0, log=True),
    )
    weights: str = weights_setting()


class EASE(OneStepModel):
    """Each column of the users x items matrix X, predicted from the others::

        minimise  |X - X B|² + lambda |B|²   with  diag(B) = 0
        B = I - P diag(P)⁻¹,  P = (XᵀX + lambda I)⁻¹        scores of a user: x_u B

    With ``weights="ones"`` X holds ones, with ``"values"`` the values of the events. B is a dense matrix of
    items x items and inverting takes (items)³ operations, so catalogues end at 20,000 items. The inverse is
    computed in float32 where the regularization bounds its error, in float64 otherwise; same bits for any number
    of threads.
    """

    settings_class: ClassVar[type[EASESettings]] = EASESettings
    settings: EASESettings
    _coefficients: NDArray[np.float32]

    @property
    def coefficients(self) -> NDArray[np.float32]:
        """The matrix B: row i is what an event with item i adds to the scores of all items; read-only."""
        if not self.is_fitted:
            raise self._not_fitted()
        view = self._coefficients.view()
        view.flags.writeable = False
        return view

    def _learn(self, data: Interactions, seed: int | None, threads: int) -> None:
        if data.n_items > MOST_ITEMS:
            raise ConfigError(
                f"EASE holds a dense matrix of items x items and inverts it, which is meant for up to "
                f"{MOST_ITEMS:,} items; the data has {data.n_items:,}: use ItemKNN or a factor model, or drop rare "
                "items (data.filter(min_item_events=...))"
            )
        tiles = _gram(data, self.settings.regularization, threads)
        try:
            inverse_in_place(tiles, threads)
        except np.linalg.LinAlgError:
            raise ConfigError(
                f"regularization is {self.settings.regularization:g}, too small for these data: XᵀX + lambda I "
                "cannot be inverted; raise it"
            ) from None
        self._coefficients = _coefficients(tiles, data.n_items)

    def _score_rows(self, rows: Rows, out: NDArray[np.float32]) -> None:
        out[:] = rows.matrix(len(self._coefficients)) @ self._coefficients

    def _state(self) -> dict[str, NDArray[Any]]:
        return {**super()._state(), "coefficients": self._coefficients}

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        shape = len(self.items), len(self.items)
        self._coefficients = stored_array(arrays, "coefficients", np.float32, shape)


def _gram(data: Interactions, regularization: float, threads: int) -> Tiles:
    """The lower triangle of XᵀX + lambda I in tiles."""
    events = data.to_scipy().astype(np.float64)
    of_items = events.T.tocsr()
    # No eigenvalue exceeds the largest row sum of absolute values (Gershgorin); the smallest is lambda or more.
    sizes = abs(of_items)
    largest = float((sizes @ sizes.sum(axis=0)).max())
    dtype = np.float32 if largest < _SAFE_CONDITION * regularization else np.float64

    def row_of_tiles(begin: int) -> list[NDArray[Any]]:
        end = min(begin + TILE, data.n_items)
        strip = (of_items[begin:end] @ events[:, :end]).toarray()
        strip[np.arange(end - begin), np.arange(begin, end)] += regularization
        return [strip[:, at : at + TILE].astype(dtype, order="C") for at in range(0, end, TILE)]

    return list(in_threads(row_of_tiles, range(0, data.n_items, TILE), threads))


def _coefficients(tiles: Tiles, n_items: int) -> NDArray[np.float32]:
    """B from the tiles of -P: B_ij = -P_ij / P_jj, and 0 on the diagonal."""
    out = np.empty((n_items, n_items), np.float32)
    diagonal = np.concatenate([np.diag(row[-1]) for row in tiles])
    for i in range(len(tiles)):
        rows = slice(i * TILE, (i + 1) * TILE)
        for j, tile in enumerate(tiles[i]):
            columns = slice(j * TILE, (j + 1) * TILE)
            out[rows, columns] = tile / -diagonal[columns]
            out[columns, rows] = tile.T / -diagonal[rows]
        tiles[i] = []  # as much memory as is written
    np.fill_diagonal(out, 0.0)
    return out
