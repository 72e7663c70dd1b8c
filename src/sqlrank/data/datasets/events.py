"""From a loader's table to interactions, through the reader that everybody else uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sqlrank.data.interactions import Interactions
from sqlrank.data.readers import read
from sqlrank.errors import DataError

__all__ = ["to_interactions"]


_ROLES = {"user": "user", "item": "item", "rating": "rating", "time": "timestamp"}


def to_interactions(
    frame: pl.DataFrame,
    source: Path,
    *,
    columns: Mapping[str, str] = _ROLES,
    duplicates: str = "error",
    **options: Any,
) -> Interactions:
    """The events of a table; by default its columns are user, item and, where known, rating and timestamp.

    ``source`` is the file that the table comes from: reports and errors name it.
    """
    chosen: dict[str, Any] = {
        role: name if name in frame.columns else False for role, name in columns.items()
    }
    try:
        data = read(frame, **chosen, duplicates=duplicates, verbose=False, **options)
    except DataError as error:
        raise DataError(str(error).replace("the polars table", str(source))) from error
    return replace(data, report=replace(data.report, source=str(source)))
