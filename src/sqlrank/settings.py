"""Settings: what changes *what is learnt*, in one frozen, validated object per model.

A settings class is a frozen dataclass whose fields are made by :func:`setting`. Everything that needs to know
about settings is generated from it: validation, ``get_params``/``set_params``, TOML keys, command-line flags, the
search space of the tuner and the documentation. Defaults are written once.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sqlrank.errors import ConfigError


@dataclass(frozen=True)
class Search:
    """The range a tuner draws a setting from: numbers from low to high, or one of the choices."""

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Rule:
    """What a setting may be: a number within bounds, one of some words, perhaps None."""

    doc: str
    kind: type | None = None
    low: float = -math.inf
    high: float = math.inf
    above_low: bool = False
    words: tuple[str, ...] = ()
    optional: bool = False
    search: Search | None = None

    def describe(self) -> str:
        """Return what is allowed, in words: `a number >= 0 or "auto"`."""
        parts = []
        if self.kind in (int, float):
            noun = "a whole number" if self.kind is int else "a number"
            low = "" if self.low == -math.inf else f" {'>' if self.above_low else '>='} {self.low:g}"
            high = "" if self.high == math.inf else f" <= {self.high:g}"
            parts.append(noun + low + (" and" if low and high else "") + high)
        elif self.kind is bool:
            parts.append("true or false")
        parts += [f'"{word}"' for word in self.words]
        if self.optional:
            parts.append("None")
        return " or ".join(parts)

    def checked(self, name: str, value: Any) -> Any:
        """Return the value in its proper type, or raise a ConfigError that says what is allowed."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return value
        number = self._as_number(value)
        if number is None:
            hint = ""
            if isinstance(value, str) and (close := difflib.get_close_matches(value, self.words, 1)):
                hint = f' (did you mean "{close[0]}"?)'
            raise ConfigError(f"{name} is {_shown(value)}{hint}; it must be {self.describe()}")
        return number

    def _as_number(self, value: Any) -> Any:
        if self.kind is bool:
            return value if isinstance(value, bool) else None
        if self.kind is None or isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            return None
        try:
            number = float(value)
        except (OverflowError, TypeError, ValueError):  # 10**400; an array of numbers
            return None
        below = number <= self.low if self.above_low else number < self.low
        if not math.isfinite(number) or below or number > self.high:
            return None
        if self.kind is int:
            return int(number) if number == int(number) else None
        return number


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:60]}… ({len(text)} characters)"


def setting(
    default: Any,
    doc: str,
    kind: type | None = None,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above_low: bool = False,
    words: tuple[str, ...] = (),
    optional: bool = False,
    search: Search | None = None,
) -> Any:
    """Declare a field of a settings class: its default, what it means and what it may be."""
    rule = Rule(doc, kind, low, high, above_low, words, optional, search)
    return dataclasses.field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class Settings:
    """Base of all settings classes. Checked when made, never changed afterwards."""

    def __post_init__(self) -> None:
        for name, rule in self.rules().items():
            object.__setattr__(self, name, rule.checked(name, getattr(self, name)))

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """Return the rule of every setting, in order."""
        return {f.name: f.metadata["rule"] for f in dataclasses.fields(cls)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make settings from a mapping; an unknown key is an error."""
        known = cls.rules()
        for name in values:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"
                raise ConfigError(f"unknown setting '{name}'{hint}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a plain dict."""
        return {name: getattr(self, name) for name in self.rules()}

    def replace(self, **changes: Any) -> Self:
        """Return settings with some values changed."""
        return self.from_dict({**self.to_dict(), **changes})


class Configurable:
    """A thing made from settings given as keywords: `SQLRank(rank=100)`."""

    settings_class: ClassVar[type[Settings]] = Settings
    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, **settings: Any) -> None:
        self.settings = self.settings_class.from_dict(settings)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "settings_class" in cls.__dict__:
            cls.__signature__ = _keyword_signature(cls.settings_class)  # type: ignore[attr-defined] # for help()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Make the thing from a settings object."""
        return cls(**settings.to_dict())

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Make the thing with settings known by name, some of them changed perhaps."""
        if name not in cls.presets:
            known = ", ".join(cls.presets) or "none"
            raise ConfigError(f"{cls.__name__} has no preset '{name}'; presets: {known}")
        return cls(**{**cls.presets[name], **changes})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings as a dict."""
        return self.settings.to_dict()

    def set_params(self, **changes: Any) -> Self:
        """Change settings."""
        self.settings = self.settings.replace(**changes)
        return self

    def __repr__(self) -> str:
        defaults = self.settings_class().to_dict()
        given = {k: v for k, v in self.settings.to_dict().items() if v != defaults[k]}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def _keyword_signature(settings: type[Settings]) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(f.name, keyword, default=f.default) for f in dataclasses.fields(settings)]
    )
