"""Where results go: looked at before the work begins, replaced only when it is done."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from sqlrank.errors import FormatError
from sqlrank.models import Recommender
from sqlrank.storage.atomic import replaced_directory

__all__ = [
    "REPORT",
    "check_model_place",
    "check_writable",
    "load_model",
    "report_after_update",
    "save_with_report",
]

REPORT = "report.html"
_PARTS = {"model.json", "factors.safetensors", "users.parquet", "items.parquet", REPORT}


def check_model_place(path: Path) -> None:
    """Refuse, before anything is learnt, a place where the model could not be saved."""
    if path.exists() and not path.is_dir():
        raise FormatError(f"-o {path} is a file; a model is saved into a folder")
    strange = (
        sorted(entry.name for entry in path.iterdir() if entry.name not in _PARTS) if path.is_dir() else []
    )
    if strange:
        raise FormatError(
            f"-o {path} holds other files ({', '.join(strange[:3])}), which saving would remove; choose another folder"
        )
    check_writable(path.absolute().parent)


def check_writable(folder: Path) -> None:
    """Refuse a folder in which nothing can be made."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise FormatError(
            f"{folder} is a file, so nothing can be saved below it; choose another place with -o"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FormatError(f"{folder} is read-only; choose another place with -o")


def save_with_report(model: Recommender, path: Path, report: str | None) -> None:
    """Put the model and its report in place in one step; what was there stays until then."""
    with replaced_directory(path.absolute()) as folder:
        model.save(folder)
        if report is not None:
            (folder / REPORT).write_text(report, "utf-8")


def report_after_update(path: Path, events: int) -> str | None:
    """The report of the fit, with a line that says what has happened since."""
    place = path / REPORT
    if not place.is_file():
        return None
    day = datetime.date.today().isoformat()
    note = f"<p>Updated on {day} with {events:,} more events; what follows is about the fit before.</p>"
    return place.read_text("utf-8").replace("<main>\n", f"<main>\n{note}\n", 1)


def load_model(path: str) -> Recommender:
    """Load a model directory."""
    from sqlrank.storage import load_model as load

    if not Path(path).exists():
        raise FormatError(f"{path} does not exist; make a model with: sqlrank fit FILE -o {path}")
    return load(path)
