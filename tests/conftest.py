import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; they are never part of the project."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SQLRANK_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"real data not found: {folder} does not exist (set SQLRANK_DATA to the folder)")
    return folder
