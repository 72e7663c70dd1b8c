"""Errors as one line each, in the words of somebody who types flags."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable

from cyclopts import CycloptsError
from cyclopts.exceptions import MissingArgumentError

__all__ = ["as_flags", "close", "missing", "one_line", "system", "usage"]

# The library speaks of arguments (`time_format=`), this program of flags (`--time-format`).
_ARGUMENTS = (
    "user|item|rating|time|duplicates|min_user_events|min_item_events|min_value|drop_nulls|null_values|implicit|"
    "time_format|decimal_comma|separator|header|encoding|data_dir|feedback|learning_rate|regularization|threads"
)
_ARGUMENT = re.compile(rf"\b({_ARGUMENTS})=(?=[\s,;.)'\"\w]|$)")
# Where the flag is not the argument with two dashes in front.
_WHOLE = (
    (re.compile(r"\bheader=False\b"), "--no-header"),
    (re.compile(r"\b(header|drop_nulls|decimal_comma|implicit)=True\b"), r"\1="),
    (re.compile(r"\b(rating|time)=False\b"), r"\1=none"),
    (re.compile(r"\bpass (quote=\w+)"), r"in Python, pass \1"),  # there is no flag for it
)
_REASONS = {
    errno.ENOSPC: "the disk is full; free some space or choose another place with -o",
    errno.EROFS: "the file system is read-only; choose another place with -o",
    errno.EACCES: "permission denied; choose another place with -o, or ask for the rights",
    errno.ENOENT: "no such file or folder",
    errno.EISDIR: "this is a folder, not a file",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
}


def one_line(error: BaseException) -> str:
    """The message without line breaks, arguments turned into flags."""
    return as_flags(" ".join(str(error).split()) or type(error).__name__)


def as_flags(text: str) -> str:
    """What the library says of its arguments, said of flags."""
    for pattern, flag in _WHOLE:
        text = pattern.sub(flag, text)
    return _ARGUMENT.sub(lambda match: _flag(match[1], text[match.end() : match.end() + 1]), text)


def usage(error: CycloptsError) -> str:
    """What cyclopts found wrong with the command line."""
    text = " ".join(str(error).split())
    return text[:1].lower() + text[1:]


def missing(error: MissingArgumentError) -> str:
    """A parameter without its value."""
    argument = error.argument
    command = " ".join(["sqlrank", *(error.command_chain or ())])
    name = argument.name if argument is not None else "an argument"
    if argument is not None and not name.startswith("-"):
        return f"{command} needs {name.upper()}; see {command} --help"
    if argument is not None and argument.tokens == [] and argument.required:
        return f"{command} needs {name}; see {command} --help"
    return f"{name} needs a value; see {command} --help"


def system(error: OSError | MemoryError) -> str:
    """What the operating system refused."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    reason = _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason


def close(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'fit'?`, or all that is known where nothing is near."""
    names = list(known)
    near = difflib.get_close_matches(word, names, 1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(names)}"


def _flag(name: str, following: str) -> str:
    flag = "--" + name.replace("_", "-")
    return flag + (" " if following.strip() and following not in ",;.)" else "")
