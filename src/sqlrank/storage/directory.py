"""Save a model into a directory and load it back."""

from __future__ import annotations

import hashlib
import inspect
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank.data import Vocabulary
from sqlrank.errors import ConfigError, FormatError
from sqlrank.storage.atomic import present_directory, replaced_directory, sync_file
from sqlrank.storage.manifest import FACTORS, ITEMS, MANIFEST, USERS, FileEntry, Manifest, digest
from sqlrank.storage.tensors import header_of, map_arrays, write_arrays

if TYPE_CHECKING:
    from sqlrank.models.base import Recommender

__all__ = ["load_model", "save_model"]

_SEEN = ("seen_indptr", "seen_indices")
_ATTEMPTS = 50
_REPORT = (
    "report.html"  # lies in the directories that `sqlrank fit` makes; it goes with the model that it is about
)


def save_model(model: Recommender, path: str | PathLike[str]) -> Path:
    """Write a model directory: all of it, or nothing at all.

    Everything is written and flushed beside `path` and swapped in at the end. A model that was there is replaced; a
    directory that holds anything else is not touched. Through a symbolic link, what it points to is replaced.
    """
    target = Path(path).absolute()
    _refuse_to_replace(target)
    arrays: dict[str, NDArray[Any]] = {**dict(zip(_SEEN, model.seen, strict=True)), **model._state()}
    with replaced_directory(target) as folder:
        for name, ids in ((USERS, model.users.ids), (ITEMS, model.items.ids)):
            pl.DataFrame({"id": ids}).write_parquet(folder / name)
        with (folder / FACTORS).open("wb") as file:
            write_arrays(file, arrays)
        manifest = Manifest(
            model=type(model).__name__,
            settings=model.settings.to_dict(),
            facts=model._facts(),
            metrics=model._metrics(),
            isa=str(_core.isa),
            library_version=metadata.version("sqlrank"),
            files={name: _entry(folder / name) for name in (FACTORS, USERS, ITEMS)},
        )
        (folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
        for name in (FACTORS, USERS, ITEMS, MANIFEST):
            sync_file(folder / name)
    return target


def load_model(path: str | PathLike[str], *, verify: bool = False) -> Recommender:
    """Load a model of whatever class was saved; its arrays are mapped read-only, so workers share one copy.

    Lengths, the checksums of the ids and of the factors' header are always compared. `verify=True` also compares the
    checksum of the factors: it reads all of them (about a second per 1.5 GB), which a mapped load otherwise never does.
    """
    target = Path(path).absolute()
    for attempt in range(_ATTEMPTS):
        folder = present_directory(target)
        before = _identity(folder)
        try:
            model = _load(folder, verify)
        except (FormatError, FileNotFoundError):
            # Replaced by another process in the middle of our reading: the new one is whole.
            if _identity(folder) != before and attempt + 1 < _ATTEMPTS:
                continue
            raise
        if _identity(folder) == before:
            return model
    raise FormatError(f"{target} is replaced over and over again while it is being read.")


def _load(folder: Path, verify: bool) -> Recommender:
    try:
        return _restored(folder, verify)
    except KeyError as error:
        raise FormatError(f"{folder} is incomplete: {error} is missing.") from error
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise FormatError(f"{folder} is damaged: {error}.") from error


def _restored(folder: Path, verify: bool) -> Recommender:
    from sqlrank.models.stored import stored_lists

    manifest = Manifest.read(folder)
    model_class = _model_class(manifest.model, folder)
    manifest.check(folder, everything=verify)
    try:
        settings = model_class.settings_class.from_dict(manifest.settings)
    except ConfigError as error:
        raise FormatError(f"{folder / MANIFEST}: {error}") from error
    model = model_class.from_settings(settings)
    users, items = (Vocabulary.trusted(_read_ids(folder / name)) for name in (USERS, ITEMS))
    arrays = map_arrays(folder / FACTORS)
    try:
        model._remember(users, items, stored_lists(arrays, "seen", len(users), len(items)))
        own = {name: array for name, array in arrays.items() if name not in _SEEN}
        model._restore(own, manifest.facts)
    except FormatError as error:
        raise FormatError(f"{folder} is damaged: {error}.") from error
    return model


def _model_class(name: str, folder: Path) -> type[Recommender]:
    # Names are looked up among the classes that exist; nothing a file says is ever imported.
    from sqlrank.models import Recommender

    found = Recommender._models.get(name)
    if found is None or inspect.isabstract(found):
        known = ", ".join(sorted(n for n, c in Recommender._models.items() if not inspect.isabstract(c)))
        raise FormatError(
            f"{folder} holds a model {name!r}, which is unknown here (known: {known}); import the module that defines "
            "it first, or upgrade sqlrank."
        )
    return found


def _read_ids(path: Path) -> pl.Series:
    try:
        ids = pl.read_parquet(path, memory_map=False)["id"]
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path} is damaged: {error}.") from error
    if ids.dtype not in (pl.Int64, pl.String):
        raise FormatError(f"{path} holds ids of type {ids.dtype}.")
    return ids


def _entry(path: Path) -> FileEntry:
    header = hashlib.sha256(header_of(path)).hexdigest() if path.name == FACTORS else None
    return FileEntry(path.stat().st_size, digest(path), header)


def _identity(folder: Path) -> tuple[int, ...] | None:
    """What tells a directory from the one that takes its place; the number alone may be given to a new one again."""
    try:
        facts = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns


def _refuse_to_replace(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise FormatError(f"{target} is a file; a model is saved into a directory.")
    others = sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []
    strange = [name for name in others if name not in (MANIFEST, FACTORS, USERS, ITEMS, _REPORT)]
    if strange or (others and MANIFEST not in others):
        shown = ", ".join((strange or others)[:3])
        raise FormatError(
            f"{target} holds other files ({shown}) that saving would remove; choose another path."
        )
