"""Models by name, as the command line spells them."""

from __future__ import annotations

import difflib

from sqlrank.errors import ConfigError
from sqlrank.models.base import Recommender

__all__ = ["SHORT_NAMES", "model_class", "models_at_hand"]

SHORT_NAMES = {
    "sqlrank": "SQLRank",
    "listrank": "ListRankMF",
    "primalcr": "PrimalCR",
    "bpr": "BPR",
    "mf": "MatrixFactorization",
    "wmf": "WeightedMF",
    "ease": "EASE",
    "itemknn": "ItemKNN",
    "popularity": "Popularity",
    "random": "Random",
}


def models_at_hand() -> dict[str, type[Recommender]]:
    """The models that can be named, by their short names."""
    import sqlrank.models  # every module that defines a model

    known = sqlrank.models.Recommender._models
    return {short: known[name] for short, name in SHORT_NAMES.items() if name in known}


def model_class(name: str) -> type[Recommender]:
    """The model of a name: `wmf`, or `WeightedMF`.

    >>> model_class("sqlrank").__name__
    'SQLRank'
    """
    known = models_at_hand()
    by_class = {chosen.__name__.lower(): chosen for chosen in known.values()}
    word = name.strip().lower()
    chosen = known.get(word) or by_class.get(word)
    if chosen is None:
        close = difflib.get_close_matches(word, [*known, *by_class], 1)
        hint = f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"
        raise ConfigError(f"model '{name}' is unknown{hint}")
    return chosen
