"""Ids that were typed: on the command line, separated by commas, or in a file named with @."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.data import Vocabulary
from sqlrank.data.ids import close_matches
from sqlrank.errors import ConfigError, DataError

__all__ = ["typed_history", "typed_ids"]


def typed_ids(words: Iterable[str], known: Vocabulary, flag: str) -> list[Any]:
    """Ids in the type of the model's: `a,b`, or `@file` with one id per line."""
    texts = [text for word in words for text in _split(word, known, flag)]
    ids = [_typed(text, known, flag) for text in texts]
    _check_known(ids, known, flag)
    return ids


def typed_history(words: Iterable[str], items: Vocabulary, rated: bool) -> list[Any]:
    """What somebody had: items, or `item:rating` for a model that has learnt from ratings."""
    texts = [text for word in words for text in _split(word, items, "--history")]
    if not texts:
        raise ConfigError("--history is empty; name at least one item, such as --history a,b,c")
    if not rated:
        ids = [_typed(text, items, "--history") for text in texts]
        _check_known(ids, items, "--history")
        return ids
    pairs = [_rated(text, items) for text in texts]
    _check_known([item for item, _ in pairs], items, "--history")
    return pairs


def _check_known(ids: list[Any], known: Vocabulary, flag: str) -> None:
    """Unknown ids as one error that helps further."""
    if not ids:
        return
    found = known.lookup(ids)[1]
    if found.all():
        return
    lost = [value for value, there in zip(ids, found, strict=True) if not there]
    shown = ", ".join(str(value) for value in lost[:3]) + (
        f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    )
    hint = close_matches(lost[0], known.ids.head(100_000).to_list()) if isinstance(lost[0], str) else ""
    advice = "; for somebody new give --history" if flag == "--user" and not hint else ""
    raise DataError(f"{flag} {shown}: unknown to this model, which knows {len(known):,}{hint}{advice}")


def _split(word: str, known: Vocabulary, flag: str) -> list[str]:
    if word.startswith("@"):
        lines = Path(word[1:]).read_text("utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    if "," in word and known.ids.dtype == pl.String and known.lookup([word])[1].all():
        return [word]  # an id that has a comma in it
    return [part.strip() for part in word.split(",") if part.strip()]


def _typed(text: str, known: Vocabulary, flag: str) -> Any:
    if known.ids.dtype == pl.String:
        return text
    try:
        return int(text)
    except ValueError:
        example = known.ids[0] if len(known) else 1
        raise DataError(f"{flag} {text}: this model's ids are whole numbers, such as {example}") from None


def _rated(text: str, items: Vocabulary) -> tuple[Any, float]:
    item, colon, rating = text.rpartition(":")
    try:
        return _typed(item if colon else text, items, "--history"), float(rating)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise ConfigError(
            f"--history {text}: this model has learnt from ratings; say how each item was liked, such as {text}:4"
        ) from None
