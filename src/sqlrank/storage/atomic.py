"""Replace a directory as one step: whoever looks, and after whatever crash, sees the old one or the new one."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlrank.errors import FormatError

__all__ = ["present_directory", "real_place", "replaced_directory", "sync_file"]

_AT_FDCWD = -100
_EXCHANGE = 2


@contextmanager
def replaced_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory beside `path`; when the block ends without an error it takes the place of `path`.

    Where `path` is a symbolic link, what it points to is replaced and the link stays.
    """
    path = real_place(path)
    if _is_working_directory(path):
        raise FormatError(
            f"{path} is the current working directory, which a save would replace under whoever works in it; choose "
            "another path, for example a folder below it."
        )
    fresh = _room_beside(path)
    parent = path.parent
    try:
        yield fresh
        sync_directory(fresh)
        _put_in_place(fresh, path)
        sync_directory(parent)
    finally:
        # After the exchange this is the old directory; after an error, the unfinished new one.
        _remove(fresh)
    _remove(_previous(path))


def real_place(path: Path) -> Path:
    """The absolute path with all symbolic links followed; what the last one points to need not exist."""
    try:
        place = path.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: before Python 3.13, links that go in a circle
        raise FormatError(f"{path} cannot be followed: {error}.") from error
    if place.is_symlink():
        raise FormatError(f"{path} is a symbolic link that leads back to itself.")
    return place


def present_directory(path: Path) -> Path:
    """Where the directory is: at `path`, or aside when a crash came between the two renames of an old system."""
    path = real_place(path)
    if not path.exists() and _previous(path).is_dir():
        return _previous(path)
    return path


def sync_file(path: Path) -> None:
    """Make sure that a file's bytes are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Make sure that a directory's names are on the disk."""
    sync_file(path)


def _is_working_directory(path: Path) -> bool:
    try:
        return path.samefile(os.curdir)
    except OSError:
        return False


def _room_beside(path: Path) -> Path:
    """A new directory on the same file system, which can swap names with `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        fresh = path.parent / f".{path.name}.saving-{_writer()}-{secrets.token_hex(4)}"
        fresh.mkdir()
    except OSError as error:
        raise FormatError(
            f"Nothing can be saved in {path.parent}: {error.strerror or error}; choose another path."
        ) from error
    return fresh


def _put_in_place(fresh: Path, path: Path) -> None:
    if not path.exists():
        fresh.rename(path)
    elif not _exchange(fresh, path):
        _remove(_previous(path))
        path.rename(_previous(path))
        fresh.rename(path)


def _exchange(first: Path, second: Path) -> bool:
    """Let two directories swap names in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) == 0)


def _remove(path: Path) -> None:
    """Remove a directory with all it holds; of a symbolic link the link alone."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _previous(path: Path) -> Path:
    return path.with_name(f".{path.name}.previous")


def _writer() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _remove_leftovers(path: Path) -> None:
    """Remove what saves of this machine left behind whose process is gone."""
    host = socket.gethostname()
    start = f".{path.name}.saving-{host}-"
    for left in path.parent.iterdir():
        if left.name.startswith(start) and not _alive(left.name.removeprefix(start).split("-")[0]):
            _remove(left)


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
