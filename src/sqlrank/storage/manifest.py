"""``model.json``: what a model directory holds and how to tell that it is whole."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlrank.errors import FormatError
from sqlrank.storage.tensors import header_of

__all__ = ["FACTORS", "FORMAT_VERSION", "ITEMS", "MANIFEST", "USERS", "FileEntry", "Manifest", "digest"]

FORMAT_VERSION = 1
MANIFEST, FACTORS, USERS, ITEMS = "model.json", "factors.safetensors", "users.parquet", "items.parquet"
_KIND = "sqlrank model"
_KINDS: dict[str, Any] = {
    "format_version": int,
    "model": str,
    "settings": dict,
    "facts": dict,
    "metrics": dict,
    "isa": str,
    "library_version": str,
    "checksum": str | None,
}


@dataclass(frozen=True)
class FileEntry:
    """Length and checksum of one file; of the factors also a checksum of the header alone."""

    bytes: int
    sha256: str
    header_sha256: str | None = None

    def __post_init__(self) -> None:
        length = -1 if isinstance(self.bytes, bool) or not isinstance(self.bytes, int) else self.bytes
        sums = isinstance(self.sha256, str) and isinstance(self.header_sha256, str | None)
        if length < 0 or not sums:
            raise TypeError(f"{self} is no length and checksum")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of ``model.json``."""

    format: str = _KIND
    format_version: int = FORMAT_VERSION
    model: str
    settings: dict[str, Any]
    facts: dict[str, Any]
    metrics: dict[str, float]
    isa: str
    library_version: str
    files: dict[str, FileEntry]
    checksum: str | None = None
    """Of all the rest; None in directories that were written before there was one."""

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind):
                raise TypeError(f"{name} is {value!r}")
        if self.format_version < 1:
            raise TypeError(f"format_version is {self.format_version}")

    def to_json(self) -> str:
        """The text of ``model.json``."""
        content = {**asdict(self), "checksum": self._own_checksum()}
        return json.dumps(content, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read ``model.json`` of a model directory; FormatError where it is none, or of another time."""
        path = folder / MANIFEST
        if not path.is_file():
            what = "does not exist" if not folder.exists() else f"holds no {MANIFEST}"
            raise FormatError(f"{folder} is not a model directory: it {what}.")
        try:
            content = json.loads(path.read_text("utf-8"))
            kind, version = content["format"], content["format_version"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"{path} is damaged: {error}.") from error
        if kind != _KIND:
            raise FormatError(f"{path} describes a {kind!r}, not a {_KIND}.")
        if isinstance(version, int) and version > FORMAT_VERSION:
            made_by = content.get("library_version", "a newer release")
            raise FormatError(
                f"{folder} has format version {version} (written by sqlrank {made_by}); this release reads up to "
                f"{FORMAT_VERSION}. Upgrade sqlrank."
            )
        try:
            files = {name: FileEntry(**entry) for name, entry in content.pop("files").items()}
            return cls(**content, files=files)
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path} is damaged: {error}.") from error

    def check(self, folder: Path, *, everything: bool) -> None:
        """Compare lengths and checksums; of the factors only the header's unless `everything` is asked for."""
        if self.checksum is not None:
            _compare(folder / MANIFEST, self._own_checksum(), self.checksum)
        for name in (FACTORS, USERS, ITEMS):
            entry, path = self.files.get(name), folder / name
            if entry is None:
                raise FormatError(f"{folder / MANIFEST} is damaged: it does not mention {name}.")
            if not path.is_file():
                raise FormatError(f"{folder} is incomplete: {name} is missing.")
            size = path.stat().st_size
            if size != entry.bytes:
                verb = "truncated" if size < entry.bytes else "damaged"
                raise FormatError(f"{path} is {verb}: {size} bytes instead of {entry.bytes}.")
            if entry.header_sha256 is not None:
                _compare(path, hashlib.sha256(header_of(path)).hexdigest(), entry.header_sha256)
            if everything or entry.header_sha256 is None:
                _compare(path, digest(path), entry.sha256)

    def _own_checksum(self) -> str:
        # By way of JSON, so that what is written and what is read back are the same to the last comma.
        content = json.loads(json.dumps({**asdict(self), "checksum": None}))
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _compare(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise FormatError(f"{path} is damaged: its checksum is {found[:12]}… instead of {wanted[:12]}….")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
