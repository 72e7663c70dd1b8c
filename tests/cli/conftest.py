"""The command line is tried in this process; what it prints is kept apart from what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sqlrank.cli import main
from sqlrank.data import datasets


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events of named people and films, with times."""
    path = tmp_path_factory.mktemp("events") / "events.csv"
    made = datasets.make_events(120, 60, events_per_user=12, seed=1)
    made.train.to_table().sort("timestamp").write_csv(path)
    return path


@pytest.fixture(scope="session")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    made = datasets.make_ratings(120, 60, events_per_user=15, seed=1)
    made.train.to_table().write_csv(path)
    return path


@pytest.fixture(scope="session")
def model(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fitted model of the events; tests that change it copy it first."""
    path = tmp_path_factory.mktemp("model") / "model"
    assert main(["fit", str(events), "-o", str(path), "--rank", "4", "--epochs", "8", "-q"]) == 0
    return path
