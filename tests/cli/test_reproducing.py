"""`sqlrank reproduce`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Cli
from sqlrank.experiments import names


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    listed = cli("reproduce", "--list")
    assert listed.code == 0 and all(name in listed.out for name in names())
    done = cli("reproduce", "table3", "--miniature", "-o", tmp_path / "r", "-q", "--json")
    assert done.code == 0 and done.err == ""
    assert {row["method"] for row in done.json} >= {"With SQ", "Without SQ"}
    shown = cli("reproduce", "table3", "--miniature", "-o", tmp_path / "r")
    assert "With SQ" in shown.out and "Claim:" in shown.out and "<br>" not in shown.out
    wrong = cli("reproduce", "tabel3")
    assert wrong.code == 2 and "did you mean 'table3'" in wrong.err


def test_packages_are_asked_for_before_the_work_begins(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlrank.experiments.runner.find_spec", lambda name: None)
    ran = cli("reproduce", "table1", "--miniature", "-o", tmp_path / "r")
    assert ran.code == 2 and "implicit and optuna" in ran.err and "pip install" in ran.err
    assert not (tmp_path / "r").exists()


def test_a_page_needs_the_shipped_experiments(cli: Cli, tmp_path: Path) -> None:
    ran = cli("reproduce", "table3", "--miniature", "--seeds", 3, "--page", tmp_path)
    assert ran.code == 2 and "--page" in ran.err
