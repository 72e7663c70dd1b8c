"""Protocols: what is ranked, what counts as found, and for whom. Printed with every number."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlrank.errors import ConfigError
from sqlrank.evaluation.names import parse_metrics

__all__ = ["Protocol"]

Candidates = str | tuple[int | str, ...]


@dataclass(frozen=True)
class Protocol:
    """The rules of an evaluation.

    candidates  which items are ranked for a user: "all" of the model's items, "rated" (only the user's own
                test items), or a sequence of item ids
    mask_seen   whether items that the user has in training leave the candidates
    threshold   a test event is relevant when its value is at least this; None: every test event is
    graded      NDCG gains are 2^value - 1 instead of 1 for relevant items (needs values; without them: 1)
    max_users   evaluate at most this many users, drawn by a hash of (seed, user id); None: all
    metrics     what `evaluate` computes unless told otherwise

    >>> print(Protocol(candidates="rated", threshold=4, graded=True, mask_seen=False))
    candidates: the user's own test items | relevant: value >= 4 | ndcg gain: 2^value - 1 | users: all
    """

    candidates: Candidates = "all"
    mask_seen: bool = True
    threshold: float | None = None
    graded: bool = False
    max_users: int | None = None
    seed: int = 0
    metrics: tuple[str, ...] = ("precision@10", "recall@10", "ndcg@10")
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.candidates, str):
            if self.candidates not in ("all", "rated"):
                raise ConfigError(
                    f"candidates is {self.candidates!r}; it can be 'all', 'rated' or a sequence of item ids"
                )
        else:
            object.__setattr__(self, "candidates", _as_tuple(self.candidates))
        if self.max_users is not None and self.max_users < 1:
            raise ConfigError(
                f"max_users is {self.max_users}; give a number of at least 1, or None for all users"
            )
        names = (self.metrics,) if isinstance(self.metrics, str) else self.metrics
        object.__setattr__(self, "metrics", tuple(str(metric) for metric in parse_metrics(names)))

    @classmethod
    def named(cls, name: str) -> Protocol:
        """Return a protocol by its name.

        "all"       all items unseen in training; every test event is relevant
        "rated"     only the user's own test items, gains 2^value - 1: how well are they ordered?

        Of the SQL-Rank paper (which averages over all users, while we do over those with something to find):

        "paper-implicit"            precision@1, 5, 10 among all unseen items
        "paper-implicit-1000"       the same over 1,000 random users, as the released evaluator does
        "paper-explicit"            NDCG@10 of the user's own test items, gains 2^rating - 1
        "paper-explicit-precision"  precision@1, 5, 10 among all unseen items, relevant from 4 stars
        """
        if name not in _NAMED:
            close = difflib.get_close_matches(name, _NAMED, n=1) if isinstance(name, str) else []
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"protocol {name!r} is unknown{hint}; known: {', '.join(_NAMED)}")
        return cls(name=name, **_NAMED[name])

    def __str__(self) -> str:
        parts = [self._candidates_text()]
        relevant = "every test event" if self.threshold is None else f"value >= {self.threshold:g}"
        parts += [f"relevant: {relevant}", f"ndcg gain: {'2^value - 1' if self.graded else '1'}"]
        users = "all" if self.max_users is None else f"{self.max_users:,} drawn with seed {self.seed}"
        return " | ".join([*parts, f"users: {users}"])

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for a result's metadata."""
        settings = asdict(self)
        settings["metrics"] = list(self.metrics)
        if not isinstance(self.candidates, str):
            settings["candidates"] = list(self.candidates)
        return settings

    def _candidates_text(self) -> str:
        if self.candidates == "rated":
            text = "the user's own test items"
        else:
            text = "all items" if self.candidates == "all" else f"{len(self.candidates):,} given items"
        return f"candidates: {text}{' unseen in training' if self.mask_seen else ''}"


_PAPER_CUTS = ("precision@1", "precision@5", "precision@10")
_NAMED: dict[str, dict[str, Any]] = {
    "all": {},
    "rated": {"candidates": "rated", "mask_seen": False, "graded": True},
    "paper-implicit": {"metrics": _PAPER_CUTS},
    "paper-implicit-1000": {"metrics": _PAPER_CUTS, "max_users": 1000},
    "paper-explicit": {
        "candidates": "rated",
        "mask_seen": False,
        "graded": True,
        "threshold": 4.0,
        "metrics": ("ndcg@10",),
    },
    "paper-explicit-precision": {"threshold": 4.0, "metrics": _PAPER_CUTS},
}


def _as_tuple(candidates: Iterable[Any]) -> tuple[int | str, ...]:
    values = candidates.tolist() if hasattr(candidates, "tolist") else candidates
    ids = tuple(dict.fromkeys(values))
    if not ids:
        raise ConfigError("candidates is an empty sequence; give item ids, 'all' or 'rated'")
    return ids
