"""Downloading data sets from their owners: checked, resumed where it stopped, and never half there."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePosixPath
from typing import TextIO

from sqlrank.data.datasets.folders import data_root, locate
from sqlrank.data.datasets.registry import find, load
from sqlrank.data.datasets.spec import Counts, Download, Spec
from sqlrank.errors import DataError

__all__ = ["Progress", "fetch"]

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes so far, and the bytes in all (None where the server is silent)."""

_CHUNK = 1 << 18
_AGENT = {"User-Agent": "sqlrank (https://pypi.org/project/sqlrank)"}


def fetch(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    progress: bool | Progress = True,
    timeout: float = 30.0,
) -> Path:
    """Download a data set from its owner, check it, and return its folder; nothing happens if it is there.

    The folder is ``data_dir/<name>`` (``data_dir`` as in :func:`load`). An interrupted download goes on where
    it stopped. Files are compared with the owner's checksum where one is published; in any case the data is
    loaded once and its counts are compared with the published ones. By downloading you accept the owner's
    terms of use.
    ``progress`` shows a bar on stderr, or is called with (file, bytes so far, bytes in all or None).
    """
    return _fetch(find(name), data_dir, progress, timeout)


def _fetch(
    spec: Spec,
    data_dir: str | os.PathLike[str] | None,
    progress: bool | Progress = False,
    timeout: float = 30.0,
) -> Path:
    try:
        return locate(spec, data_dir)[0]
    except DataError:
        pass
    folder = data_root(data_dir) / spec.folders[0]
    if not spec.source.downloads:
        wanted = " + ".join(spec.layouts[0].files)
        raise DataError(
            f"{spec.name!r} cannot be downloaded automatically: its owner gives it out on request at "
            f"{spec.source.page}. Put {wanted} into {folder}, then load it."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _reporter(progress) as report:
            for download in spec.source.downloads:
                _get(spec, download, folder, report, timeout)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written ({error}); name another folder with data_dir=."
        ) from error
    _check_counts(spec, folder)
    return folder


def _get(spec: Spec, download: Download, folder: Path, report: Progress, timeout: float) -> None:
    """One file: into ``<file>.part``, checked, and only then under its own name (or unpacked)."""
    from http.client import HTTPException
    from urllib.error import URLError

    target = folder / download.file
    if target.is_file():
        return
    part = _piece(target)
    reasons = []
    for url in download.urls:
        try:
            _transfer(url, part, download.file, report, timeout)
            break
        except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
            reasons.append(f"{url}: {getattr(error, 'reason', None) or error}")
    else:
        raise DataError(_by_hand(spec, download, folder, reasons))
    _check_file(part, download)
    if target.suffix == ".zip":
        _unpack(part, folder)
        part.unlink()
    else:
        part.replace(target)


def _by_hand(spec: Spec, download: Download, folder: Path, reasons: list[str]) -> str:
    place = f"unpack it into {folder}" if download.file.endswith(".zip") else f"put it into {folder}"
    return (
        f"{spec.name!r} could not be downloaded ({'; '.join(reasons)}). Without a network, download "
        f"{download.file} on another machine from {download.urls[0]} (see {spec.source.page}) and {place}."
    )


def _transfer(url: str, part: Path, label: str, report: Progress, timeout: float) -> None:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    have = part.stat().st_size if part.is_file() else 0
    request = Request(url, headers=_AGENT | ({"Range": f"bytes={have}-"} if have else {}))
    try:
        response = urlopen(request, timeout=timeout)
    except HTTPError as error:
        if error.code != 416 or not have:
            raise
        # What is there is not a piece of what the server has now: start again.
        part.unlink()
        _transfer(url, part, label, report, timeout)
        return
    with response:
        resumed = response.status == 206
        have = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None and length.isdigit() else None
        with part.open("ab" if resumed else "wb") as out:
            report(label, have, total)
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                have += len(chunk)
                report(label, have, total)
    if total is not None and have < total:
        raise ConnectionError(f"the connection broke after {have:,} of {total:,} bytes; call again to go on")


def _check_file(part: Path, download: Download) -> None:
    size = part.stat().st_size
    problem = f"it has {size:,} bytes, not {download.size:,}" if download.size not in (None, size) else ""
    for kind in ("sha256", "md5"):
        wanted = getattr(download, kind)
        if wanted is not None and not problem:
            with part.open("rb") as stream:
                found = hashlib.file_digest(stream, kind).hexdigest()
            problem = f"its {kind} is {found}, not {wanted}" if found != wanted else ""
    if problem:
        part.unlink()
        raise DataError(
            f"{download.file} from {download.urls[0]} is not the published file: {problem}. It was deleted; "
            "try again, and if this happens twice the owner has changed the file."
        )


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip file without its top folder, if it has one for everything."""
    import zipfile

    targets: list[Path] = []
    try:
        with zipfile.ZipFile(archive) as content:
            members = [m for m in content.infolist() if not m.is_dir() and "__MACOSX" not in m.filename]
            paths = [PurePosixPath(m.filename) for m in members]
            if any(path.is_absolute() or ".." in path.parts or "\\" in str(path) for path in paths):
                raise DataError(
                    f"{archive.name} holds files that would land outside its folder; not unpacked."
                )
            strip = (
                1 if paths and all(len(p.parts) > 1 and p.parts[0] == paths[0].parts[0] for p in paths) else 0
            )
            for member, path in zip(members, paths, strict=True):
                target = folder.joinpath(*path.parts[strip:])
                target.parent.mkdir(parents=True, exist_ok=True)
                with content.open(member) as source, _piece(target).open("wb") as out:
                    shutil.copyfileobj(source, out)
                targets.append(target)
        # Names appear once everything is there: a ratings file must not stand without its movies.
        for target in targets:
            _piece(target).replace(target)
    except zipfile.BadZipFile as error:
        archive.unlink()
        raise DataError(f"{archive.name}: not a zip file ({error}); it was deleted, try again.") from error


def _piece(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _check_counts(spec: Spec, folder: Path) -> None:
    """Whether what was downloaded has the published numbers of users, items and events."""
    try:
        data = load(spec.name, folder.parent)
    except DataError as error:
        raise DataError(f"{spec.name!r} was downloaded into {folder}, but cannot be read: {error}") from error
    found = Counts(
        *data.train.shape,
        *(0 if part is None else len(part) for part in (data.train, data.validation, data.test)),
    )
    if found != spec.counts:
        raise DataError(
            f"{spec.name!r} was downloaded into {folder}, but is not what was published: expected "
            f"{spec.counts}, found {found}. Delete the folder to try again."
        )


def _reporter(progress: bool | Progress) -> AbstractContextManager[Progress]:
    if callable(progress):
        return nullcontext(progress)
    if not progress:
        return nullcontext(lambda *_: None)
    return _Bar() if sys.stderr.isatty() else nullcontext(_lines(sys.stderr))


def _lines(stream: TextIO) -> Progress:
    """One line when a file starts and one when it is complete: for logs."""
    started: set[str] = set()

    def report(label: str, done: int, total: int | None) -> None:
        if label not in started:
            started.add(label)
            size = f" ({total / 1e6:.1f} MB)" if total is not None else ""
            print(f"downloading {label}{size}", file=stream)
        if total is not None and done == total:
            print(f"downloaded {label}", file=stream)

    return report


class _Bar:
    """A progress bar of rich, on stderr."""

    def __enter__(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bars

        columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn()]
        self._bars = Bars(
            *columns, TransferSpeedColumn(), TimeRemainingColumn(), console=Console(stderr=True)
        )
        self._bars.start()
        tasks = {}

        def report(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = self._bars.add_task(label, total=total)
            self._bars.update(tasks[label], completed=done, total=total)

        return report

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
