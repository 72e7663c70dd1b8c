"""Where data sets are looked for: the argument, then SQLRANK_DATA, then the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sqlrank.data.datasets.spec import Layout, Spec
from sqlrank.errors import DataError

__all__ = ["cache_dir", "data_root", "locate"]


def cache_dir() -> Path:
    """The folder for downloaded data of this user, as each system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser() / "sqlrank" / "data"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/sqlrank/data").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sqlrank" / "data"


def data_root(data_dir: str | os.PathLike[str] | None) -> Path:
    """The folder that holds the data sets' folders."""
    if data_dir is not None:
        return Path(data_dir).expanduser()
    named = os.environ.get("SQLRANK_DATA", "")
    return Path(named).expanduser() if named else cache_dir()


def locate(spec: Spec, data_dir: str | os.PathLike[str] | None) -> tuple[Path, Layout]:
    """The folder of a data set and the layout found there."""
    folders = _candidates(spec, data_root(data_dir))
    for folder in folders:
        for layout in spec.layouts:
            if all((folder / name).is_file() for name in layout.files):
                return folder, layout
    raise DataError(_not_found(spec, folders))


def _candidates(spec: Spec, root: Path) -> list[Path]:
    folders = [root / name for name in spec.folders]
    # The user may point at the data set's own folder: only by its name, as names like train.txt say little.
    return [root, *folders] if root.name in spec.folders else folders


def _not_found(spec: Spec, folders: list[Path]) -> str:
    looked = ", ".join(str(folder) for folder in folders)
    wanted = " or ".join(" + ".join(layout.files) for layout in spec.layouts)
    present = next((folder for folder in folders if folder.is_dir()), None)
    there = f" ({present} exists, but its files are not those)" if present is not None else ""
    if spec.source.downloads:
        advice = f"download it with sqlrank.datasets.fetch({spec.name!r})"
    else:
        advice = f"request it from its owner ({spec.source.page}) and put the files there"
    return (
        f"The data set {spec.name!r} was not found: looked for {wanted} in {looked}{there}. "
        f"Name the folder above it with data_dir= or SQLRANK_DATA, or {advice}."
    )
