"""The app: its commands, and what becomes of errors.

Exit codes: 0 done, 1 the data, the model or the disk is not as it should be, 2 the command line is wrong, 70 a fault
of sqlrank itself, 130 interrupted.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from cyclopts import App, CycloptsError
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError

from sqlrank.cli.common import Common
from sqlrank.cli.config import apply_config, as_toml
from sqlrank.cli.messages import close, missing, one_line, system, usage
from sqlrank.cli.output import say
from sqlrank.errors import ConfigError, SqlrankError

__all__ = ["COMMANDS", "build_app", "run"]

OK, FAILED, WRONG_USE, FAULT, INTERRUPTED = 0, 1, 2, 70, 130

# Name, module, and the line of `sqlrank --help`; modules are imported when their command is used.
COMMANDS = {
    "demo": "See it work on made-up data, without any file of your own.",
    "inspect": "What is in this file, and which flags fit it?",
    "fit": "Learn a model from a file of ratings or events, measure it and save it.",
    "recommend": "The best items for users, or for somebody who has just arrived.",
    "evaluate": "Measure a saved model on events it has not seen.",
    "compare": "Which model is best on this file? One split, one table.",
    "tune": "Search good settings for fit.",
    "similar": "The items most like an item.",
    "update": "Go on with new events: new users and items included.",
    "data": "Named data sets, and artificial ones.",
    "reproduce": "The paper's tables and figures, our numbers beside the paper's.",
    "theory": "The paper's theory, simulated.",
    "doctor": "What a bug report needs to know about this machine.",
}
_MODULES = {"inspect": "inspecting"}


def build_app() -> App:
    """Make the app; nothing of the commands is imported yet."""
    app = App(
        name="sqlrank",
        help="One personalised order of the items for every user, learnt from ratings or clicks.",
        help_epilogue="Start with: sqlrank demo. Then: sqlrank inspect FILE. Every command takes --help.",
        help_format="plaintext",
        version=lambda: metadata.version("sqlrank"),
        config=apply_config,
    )
    for place, (name, summary) in enumerate(COMMANDS.items()):
        app.command(f"sqlrank.cli.{_MODULES.get(name, name)}:{name}", name=name, help=summary, sort_key=place)
    app.register_install_completion_command(
        name="--install-completion", help="Complete commands in your shell."
    )
    return app


def run(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; every error becomes one line on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        try:
            return _run(words)
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            # Whoever read our output has seen enough; keep the interpreter from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        except Exception as error:
            if "--debug" in words:
                raise
            return _report(error)


def _run(words: list[str]) -> int:
    app = build_app()
    command, bound, _ = app.parse_args(words, print_error=False, exit_on_error=False, verbose=False)
    common = next((value for value in bound.arguments.values() if isinstance(value, Common)), Common())
    if common.print_config:
        print(as_toml(_path(app, words), _flags(bound)), end="")
        return OK
    result = command(*bound.args, **bound.kwargs)
    if inspect.isawaitable(result):  # never ours: the types of cyclopts allow for it
        raise TypeError(f"{command} is asynchronous")
    return result if isinstance(result, int) else OK


def _flags(bound: inspect.BoundArguments) -> dict[str, Any]:
    """What was given besides files and folders, the settings of the model apart."""
    from sqlrank.cli.settings import is_setting

    kinds = bound.signature.parameters
    given = {
        k: v for k, v in bound.arguments.items() if kinds[k].kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    settings = {name: value for name, value in given.items() if is_setting(kinds[name].annotation)}
    return {**{name: value for name, value in given.items() if name not in settings}, "settings": settings}


def _path(app: App, words: list[str]) -> tuple[str, ...]:
    return tuple(app.parse_commands(words)[0])


def _report(error: Exception) -> int:
    if isinstance(error, UnknownCommandError):
        word = (error.unused_tokens or ["?"])[0]
        known = list(error.app or ()) if error.app else list(COMMANDS)
        known = [name for name in known if not name.startswith("-")]
        say(f"error: unknown command '{word}'{close(word, known)}")
        return WRONG_USE
    if isinstance(error, MissingArgumentError):
        say(f"error: {missing(error)}")
        return WRONG_USE
    if isinstance(error, CycloptsError):
        say(f"error: {usage(error)}")
        return WRONG_USE
    if isinstance(error, SqlrankError):
        say(f"error: {one_line(error)}")
        return WRONG_USE if isinstance(error, ConfigError) else FAILED
    if isinstance(error, (OSError, MemoryError)):
        say(f"error: {system(error)}")
        return FAILED
    say(f"error: {type(error).__name__}: {one_line(error)} (a fault of sqlrank: run it again with --debug)")
    return FAULT


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: Any = None,
) -> None:
    say(f"note: {message}")


def load_command(name: str) -> Any:
    """Return the function behind a command: for the documentation."""
    return getattr(importlib.import_module(f"sqlrank.cli.{_MODULES.get(name, name)}"), name)
