"""`--config file.toml`: flags from a file, and flags as a file."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cyclopts import App, ArgumentCollection
from cyclopts.config import Dict

from sqlrank.errors import ConfigError

__all__ = ["apply_config", "as_number", "as_toml"]

_NOT_IN_FILES = ("config", "print_config", "debug")


def apply_config(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in flags that the command line leaves open: a hook of cyclopts, called before types are checked.

    The table `[fit]` holds the flags of `fit`, `[data.make]` those of `data make`; names with dashes or underscores.
    """
    asked = next((argument for argument in arguments if argument.name == "--config"), None)
    if asked is None or not asked.tokens:
        return
    path = Path(asked.tokens[0].value)
    tables = _load(path)
    table = _table(tables, commands, path)
    known = [name.lstrip("-") for argument in arguments for name in argument.names if name.startswith("--")]
    known += [argument.name for argument in arguments if not argument.name.startswith(("-", "*"))]
    flags = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in known and name.upper() not in known:
            where = ".".join(commands)
            raise ConfigError(f"{path}: [{where}] has no flag '{key}'{_near(name, known)}")
        flags[name] = value
    nested: dict[str, Any] = flags
    for command in reversed(commands):
        nested = {command: nested}
    Dict(nested, source=str(path))(app, commands, arguments)


def as_toml(commands: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """The table that gives the same flags again; flags at their defaults are left out."""
    lines = [f"[{'.'.join(commands)}]"]
    lines += [f"{name} = {_literal(value)}" for name, value in _given(values)]
    return "\n".join(lines) + "\n"


def _given(values: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                given = getattr(value, field.name)
                if given != field.default and field.name not in _NOT_IN_FILES:
                    yield field.name, given
        elif isinstance(value, Mapping):  # settings, as they were typed
            yield from ((name, as_number(typed)) for name, typed in _given(value))
        elif value is not None and value != ():
            yield name, value


def as_number(typed: Any) -> Any:
    """What was typed as a whole number or another one; words stay words."""
    for kind in (int, float):
        try:
            return kind(typed) if isinstance(typed, str) else typed
        except ValueError:
            continue
    return typed


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise ConfigError(
            f"--config {path} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from error


def _table(tables: dict[str, Any], commands: tuple[str, ...], path: Path) -> dict[str, Any]:
    from sqlrank.cli.app import COMMANDS

    for name, value in tables.items():
        if name not in COMMANDS or not isinstance(value, dict):
            raise ConfigError(f"{path}: '{name}' is no table of a command{_near(name, list(COMMANDS))}")
    table: Any = tables
    for command in commands:
        table = table.get(command, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: [{'.'.join(commands)}] is not a table of flags")
    return dict(table)


def _near(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(entry) for entry in value) + "]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
