"""Everything a caller can say about how to read a source, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from sqlrank.data.columns import ROLES
from sqlrank.errors import ConfigError

__all__ = ["DUPLICATES", "ReadOptions"]

DUPLICATES = ("auto", "first", "last", "max", "sum", "mean", "error")


@dataclass(frozen=True)
class ReadOptions:
    """The arguments of :func:`sqlrank.read` that concern the content, not the file format."""

    columns: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    duplicates: str = "auto"
    min_user_events: int = 1
    min_item_events: int = 1
    min_value: float | None = None
    drop_nulls: bool = False
    null_values: Sequence[Any] | Mapping[str, Sequence[Any]] = ()
    implicit: bool = False
    time_format: str | None = None
    decimal_comma: bool = False

    def __post_init__(self) -> None:
        if self.duplicates not in DUPLICATES:
            raise ConfigError(
                f"duplicates={self.duplicates!r} is not known; use one of {', '.join(DUPLICATES)}."
            )
        for name in ("min_user_events", "min_item_events"):
            least = getattr(self, name)
            if not isinstance(least, Integral) or isinstance(least, bool):
                raise ConfigError(f"{name}={least!r} counts events: it must be a whole number.")
            if least < 0:
                raise ConfigError(f"{name}={least} counts events: it cannot be negative.")
        if self.min_value is not None and not (
            isinstance(self.min_value, Real) and math.isfinite(self.min_value)
        ):
            raise ConfigError(f"min_value={self.min_value!r} must be a finite number.")
        if isinstance(self.null_values, (str, bytes)):
            raise ConfigError(
                f"null_values={self.null_values!r} must be a list, such as [{self.null_values!r}]."
            )
        if isinstance(self.null_values, Mapping):
            unknown = [role for role in self.null_values if role not in ROLES]
            if unknown:
                raise ConfigError(f"null_values names {unknown[0]!r}; its keys are {', '.join(ROLES)}.")

    def nulls_of(self, role: str) -> Sequence[Any]:
        """The values that stand for "missing" in the column of this role."""
        if isinstance(self.null_values, Mapping):
            return self.null_values.get(role, ())
        return self.null_values
