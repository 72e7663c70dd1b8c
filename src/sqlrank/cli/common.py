"""Flags that several commands share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from sqlrank.cli.messages import as_flags
from sqlrank.errors import ConfigError

if TYPE_CHECKING:
    from sqlrank.data import Interactions

__all__ = ["COMMON", "READING", "Common", "Reading"]

COMMON = Group("Common", sort_key=90)
READING = Group("Reading the file", sort_key=20)

_ROLES = ("user", "item", "rating", "time")
_PLAIN = (
    *("implicit", "min_value", "time_format", "decimal_comma", "drop_nulls", "duplicates"),
    *("min_user_events", "min_item_events", "separator", "header", "encoding"),
)


def _flag(help: str, *names: str, group: Group = COMMON) -> Parameter:
    return Parameter(name=names or None, help=help, group=group, negative=(), show_default=False)


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """What every command takes."""

    config: Annotated[str | None, _flag("TOML file with flags: a table per command, [fit] for fit.")] = None
    print_config: Annotated[bool, _flag("Print these flags as such a file, and stop.")] = False
    json: Annotated[bool, _flag("Print JSON for machines.")] = False
    quiet: Annotated[bool, _flag("Say nothing but the result and errors.", "--quiet", "-q")] = False
    threads: Annotated[int | None, _flag("How many threads [default: all of this process].")] = None
    debug: Annotated[bool, _flag("Show the traceback of an error.")] = False


def _read(help: str) -> Parameter:
    return _flag(help, group=READING)


Duplicates = Literal["auto", "first", "last", "max", "sum", "mean", "error"]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How to read a table of events: the arguments of `sqlrank.read`."""

    user: Annotated[str | None, _read("Column with the user: its name, or its position from 0.")] = None
    item: Annotated[str | None, _read("Column with the item.")] = None
    rating: Annotated[str | None, _read("Column with the rating; none: there is none.")] = None
    time: Annotated[str | None, _read("Column with the time; none: there is none.")] = None
    implicit: Annotated[
        bool, _read("Every row says 'chosen': use ratings for cleaning only, then forget them.")
    ] = False
    min_value: Annotated[float | None, _read("Drop rows with a smaller rating.")] = None
    time_format: Annotated[str | None, _read("How times are written, such as '%d.%m.%Y %H:%M'.")] = None
    decimal_comma: Annotated[bool, _read("Ratings are written 2,55.")] = False
    drop_nulls: Annotated[bool, _read("Drop rows without user, item, rating or time.")] = False
    null_values: Annotated[
        tuple[str, ...], _read("What stands for 'missing', such as user=0; repeat for more.")
    ] = field(default=())
    duplicates: Annotated[Duplicates, _read("When a user has an item twice: which row counts [auto].")] = (
        "auto"
    )
    min_user_events: Annotated[int, _read("Drop users with fewer events.")] = 1
    min_item_events: Annotated[int, _read("Drop items with fewer events.")] = 1
    separator: Annotated[str | None, _read("Between columns of a text file [found out].")] = None
    header: Annotated[
        bool | None,
        Parameter(
            help="Whether the first line names the columns [found out].",
            group=READING,
            negative="--no-header",
            show_default=False,
        ),
    ] = None
    encoding: Annotated[str, _read("Of a text file [utf-8].")] = "utf-8"

    def arguments(self) -> dict[str, Any]:
        """The arguments of `sqlrank.read`."""
        columns = {role: _column(getattr(self, role)) for role in _ROLES}
        rest = {name: getattr(self, name) for name in _PLAIN}
        return {**columns, **rest, "null_values": _nulls(self.null_values)}

    def flags(self) -> str:
        """The flags that read a file in this way, quoted for a shell; those at their defaults are left out."""
        return " ".join(self._flags())

    def _flags(self) -> Iterator[str]:
        for known in fields(self):
            value, flag = getattr(self, known.name), "--" + known.name.replace("_", "-")
            if value == getattr(Reading(), known.name):
                continue
            if isinstance(value, bool):
                yield flag if value else flag.replace("--", "--no-", 1)
                continue
            for word in value if isinstance(value, tuple) else (value,):
                text = str(word).removesuffix(".0") if isinstance(word, float) else str(word)
                # A word that starts with a dash would be taken for a flag.
                yield flag + ("=" if text.startswith("-") else " ") + shlex.quote(text)

    def read(self, path: str, common: Common) -> Interactions:
        """Read the file."""
        from sqlrank.data import read

        data = read(path, **self.arguments(), threads=common.threads, verbose=False)
        if not common.quiet and (data.report.guessed or data.report.steps or data.report.notes):
            print(as_flags(str(data.report)), file=sys.stderr)
        return data


def _column(word: str | None) -> str | int | bool | None:
    if word is None:
        return None
    if word.lower() == "none":
        return False
    return int(word) if word.isdigit() else word


def _nulls(words: tuple[str, ...]) -> dict[str, list[Any]] | list[Any]:
    """`user=0` for one column, a bare value for all of them."""
    bare = [value for word in words if "=" not in word for value in _both(word)]
    if bare and len(bare) < len(words):
        raise ConfigError("--null-values are all bare values, or all of the form user=0")
    named: dict[str, list[Any]] = {}
    for word in words:
        role, equals, value = word.partition("=")
        if equals:
            named.setdefault(role, []).extend(_both(value))
    return named or bare


def _both(value: str) -> list[Any]:
    return [int(value)] if value.lstrip("-").isdigit() else [value]
