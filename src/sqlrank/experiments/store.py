"""What is done already: one small JSON file per trial, named by everything its numbers depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlrank import _core
from sqlrank._versions import code_digest
from sqlrank.errors import FormatError
from sqlrank.experiments.trial import Record

__all__ = ["Store"]


class Store:
    """A folder of records. A run that was cut off goes on where it was; a run with other settings starts afresh."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def key(facts: Mapping[str, Any]) -> str:
        """The name of what has these facts, computed by this code on this instruction set."""
        known = {"sqlrank": code_digest(), "isa": str(_core.isa), **facts}
        text = json.dumps(known, sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def path(self, key: str, suffix: str = ".json") -> Path:
        """Where it is kept."""
        return self.folder / f"{key}{suffix}"

    def get(self, key: str) -> dict[str, Any] | None:
        """What was found, None where nothing is known yet."""
        path = self.path(key)
        try:
            values = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise FormatError(f"{path} is damaged; delete it, and it will be measured again") from None
        if not isinstance(values, dict):
            raise FormatError(f"{path} is damaged; delete it, and it will be measured again")
        return values

    def put(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep it: all of it or nothing."""
        path = self.path(key)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(values, default=_plain), "utf-8")
        fresh.replace(path)

    def record(self, key: str) -> Record | None:
        """A trial's record."""
        values = self.get(key)
        return None if values is None else Record.from_dict(values)

    def put_record(self, key: str, record: Record) -> None:
        """Keep a trial's record."""
        self.put(key, dataclasses.asdict(record))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} does not go into a record")
