"""`sqlrank compare` and `sqlrank tune`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sqlrank
from cli.conftest import Cli


@pytest.mark.parametrize("command", ["compare", "tune"])
def test_help(cli: Cli, command: str) -> None:
    shown = cli(command, "--help")
    assert shown.code == 0 and "--json" in shown.out and "--config" in shown.out


def test_compare_prints_a_table_and_saves_it(cli: Cli, events: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = cli("compare", events, "--models", "itemknn,popularity", "--seeds", 2, "-o", out)
    assert ran.code == 0
    assert "ItemKNN" in ran.out and "candidates: all items unseen in training" in ran.out
    assert "best" in ran.out.splitlines()[-1]
    assert "Popularity: 2 fits" in ran.err and "Popularity: 2 fits" not in ran.out
    assert set(pl.read_parquet(out / "comparison.parquet")["model"]) == {"ItemKNN", "Popularity"}
    assert (out / "comparison.md").exists()


def test_compare_for_machines(cli: Cli, events: Path) -> None:
    ran = cli("compare", events, "--models", "popularity", "--seeds", 1, "--split", "last", "--json", "-q")
    assert ran.code == 0 and ran.err == ""
    data = sqlrank.read(events, verbose=False)
    train, test = sqlrank.split.last_n(data)
    expected = sqlrank.evaluate(sqlrank.Popularity().fit(train), test, "ndcg@10")["ndcg@10"]
    assert ran.json["models"][0]["ndcg@10"] == pytest.approx(expected)
    assert ran.json["split"].startswith("split by last_n")


def test_compare_mistakes(cli: Cli, events: Path) -> None:
    for words, message in [
        (("--models", "sqlrnk"), "did you mean 'sqlrank'"),
        (("--split", "tomorrow"), "--split is 'tomorrow'"),
        (("--metrics", "ndgc@10"), "ndgc"),
        (("--protocol", "alll"), "alll"),
    ]:
        ran = cli("compare", events, *words)
        assert ran.code == 2 and message in ran.err and ran.out == ""


def test_tune_writes_what_fit_accepts(cli: Cli, events: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install 'sqlrank[tune]'")
    place = tmp_path / "tuned.toml"
    words = ("--rank", 4, "--epochs", 6, "--trials", 4, "--metric", "ndcg@5")
    ran = cli("tune", events, "-o", place, *words, "--storage", tmp_path / "trials", "--json", "-q")
    assert ran.code == 0 and ran.err == ""
    best = ran.json["settings"]
    assert best["rank"] == 4 and best["feedback"] == "implicit"
    fitted = cli("fit", events, "-o", tmp_path / "m", "--config", place, "--no-refit", "-q")
    assert fitted.code == 0, fitted.err
    assert sqlrank.load(tmp_path / "m").get_params() == best
    again = cli("tune", events, "-o", place, *words, "--storage", tmp_path / "trials")
    assert "trial 4/4" not in again.err  # all four are remembered
    assert f"fit {events} --config {place}" in again.err


def test_tune_mistakes(cli: Cli, events: Path, tmp_path: Path) -> None:
    ran = cli("tune", events, "-o", tmp_path / "tuned.json")
    assert ran.code == 2 and "written as .toml" in ran.err
    ran = cli("tune", events, "--rank", "many")
    assert ran.code == 2 and "--rank" in ran.err
