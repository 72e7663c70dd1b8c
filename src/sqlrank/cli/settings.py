"""Flags for the settings of all models, generated from the rules of their settings classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from cyclopts import Group, Parameter

from sqlrank.cli.config import as_number
from sqlrank.errors import ConfigError
from sqlrank.models import Recommender
from sqlrank.models.names import SHORT_NAMES
from sqlrank.settings import Rule

__all__ = ["MODELS", "is_setting", "make_model", "model_class", "with_settings"]

SETTINGS = Group("Settings of the model", sort_key=10)

_KINDS: dict[type | None, str] = {int: "INT", float: "NUMBER", bool: "TRUE|FALSE"}
MODELS = {short: name for short, name in SHORT_NAMES.items() if name in Recommender._models}


def model_class(word: str) -> type[Recommender]:
    """The model of this name."""
    name = MODELS.get(word.lower(), word)
    if name not in MODELS.values():
        from sqlrank.cli.messages import close

        raise ConfigError(f"--model {word} is unknown{close(word, MODELS)}")
    return Recommender._models[name]


def make_model(word: str, given: Mapping[str, str | None]) -> Recommender:
    """A model with the settings whose flags were given."""
    chosen = model_class(word)
    rules = chosen.settings_class.rules()
    settings = {}
    for name, text in given.items():
        if text is None:
            continue
        if name not in rules:
            listed = ", ".join(flag_of(known) for known in rules) or "none"
            raise ConfigError(f"--model {word} has no setting {flag_of(name)}; its settings: {listed}")
        settings[name] = rules[name].checked(flag_of(name), _value(text, rules[name]))
    return chosen(**settings)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `(..., **settings)` one flag per setting of any model."""
    signature = inspect.signature(command, eval_str=True)
    plain = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _annotations().items()
    ]
    command.__signature__ = signature.replace(parameters=[*plain, *flags])  # type: ignore[attr-defined] # for cyclopts
    return command


def flag_of(name: str) -> str:
    """`learning_rate` as `--learning-rate`."""
    return "--" + name.replace("_", "-")


def is_setting(annotation: Any) -> bool:
    """Whether a flag of this type is one that :func:`with_settings` made."""
    notes = getattr(annotation, "__metadata__", ())
    groups = [note.group for note in notes if isinstance(note, Parameter)]
    return any(SETTINGS in (group if isinstance(group, tuple) else (group,)) for group in groups)


def _annotations() -> dict[str, Any]:
    owners: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for short, name in MODELS.items():
        settings = Recommender._models[name].settings_class
        defaults = settings().to_dict()
        for setting, rule in settings.rules().items():
            owners.setdefault(setting, []).append(short)
            kinds.setdefault(setting, _KINDS.get(rule.kind, "WORD"))
            texts.setdefault(setting, f"{rule.doc} ({rule.describe()}) [{_shown(defaults[setting])}]")
    return {
        name: Annotated[
            str | None,
            Parameter(
                help=("" if "sqlrank" in owners[name] else f"{', '.join(owners[name])}: ") + text,
                group=SETTINGS,
                metavar=kinds[name],
                show_default=False,
            ),
        ]
        for name, text in texts.items()
    }


def _shown(default: Any) -> str:
    return "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def _value(text: str, rule: Rule) -> Any:
    """What the text means: a word of the rule, none, true or false, a number; else the text itself."""
    if text in rule.words:
        return text
    if rule.optional and text.lower() == "none":
        return None
    if rule.kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text if rule.kind is None else as_number(text)
