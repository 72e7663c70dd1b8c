"""What may be tried: generated from the rules of a model's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlrank.models.base import Recommender
from sqlrank.settings import Search

__all__ = ["Space"]


@dataclass(frozen=True)
class Space:
    """A model's settings: some are fixed, the others have a range.

    fixed       setting -> value, for all trials
    ranges      setting -> range
    start       the values of the first trial: the model's defaults
    """

    model: type[Recommender]
    fixed: dict[str, Any]
    ranges: dict[str, Search]
    start: dict[str, Any]

    @classmethod
    def of(cls, model: type[Recommender] | Recommender, fixed: Mapping[str, Any] | None = None) -> Space:
        """The space of a class; of an instance, what differs from the defaults is fixed, too.

        >>> import sqlrank
        >>> space = Space.of(sqlrank.SQLRank(rank=100), {"link": "sigmoid"})
        >>> "rank" in space.ranges, "link" in space.ranges, "regularization" in space.ranges
        (False, False, True)
        """
        kind = model if isinstance(model, type) else type(model)
        defaults = kind.settings_class()
        given = {} if isinstance(model, type) else model.get_params()
        changed = {name: value for name, value in given.items() if value != getattr(defaults, name)}
        template = defaults.replace(**{**changed, **(fixed or {})})
        pinned = {name: getattr(template, name) for name in {**changed, **(fixed or {})}}
        rules = kind.settings_class.rules()
        ranges = {
            name: rule.search
            for name, rule in rules.items()
            if rule.search is not None and name not in pinned
        }
        start = {name: getattr(template, name) for name in ranges}
        return cls(kind, pinned, ranges, start)

    def draw(self, trial: Any) -> dict[str, Any]:
        """Ask an optuna trial for a value of every setting that has a range; add what is fixed."""
        rules = self.model.settings_class.rules()
        drawn: dict[str, Any] = {}
        for name, search in self.ranges.items():
            if search.choices:
                drawn[name] = trial.suggest_categorical(name, list(search.choices))
            elif rules[name].kind is int:
                drawn[name] = trial.suggest_int(name, int(search.low), int(search.high), log=search.log)
            else:
                drawn[name] = trial.suggest_float(name, search.low, search.high, log=search.log)
        return {**self.fixed, **drawn}

    def describe(self) -> dict[str, Any]:
        """The space as plain values: two searches with equal descriptions look at the same models."""
        ranges = {
            name: list(search.choices) if search.choices else [search.low, search.high, search.log]
            for name, search in self.ranges.items()
        }
        return {"model": self.model.__name__, "fixed": self.fixed, "ranges": ranges}
