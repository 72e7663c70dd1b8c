"""Wrong invocations: one line that says what to do, the right exit code, and nothing destroyed."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

import sqlrank
from cli.conftest import Cli, Ran
from sqlrank.cli.messages import one_line
from sqlrank.errors import DataError

FAILED, WRONG_USE = 1, 2


@pytest.fixture
def here(tmp_path: Path, model: Path, events: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, events and some broken things, where the commands run."""
    shutil.copytree(model, tmp_path / "model")
    shutil.copy(events, tmp_path / "events.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "headless.csv").write_text("alpha,beta\n1,2\n")
    (tmp_path / "repeats.csv").write_text("user,item\na,x\na,x\nb,y\n")
    (tmp_path / "holes.csv").write_text("user,item\na,x\n,y\n")
    (tmp_path / "times.csv").write_text("user,item,time\na,x,1.2.2024\n")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nothing")
    (tmp_path / "table.toml").write_text("[fti]\nrank = 3\n")
    (tmp_path / "flag.toml").write_text("[fit]\nrnak = 3\n")
    (tmp_path / "broken.toml").write_text("[fit\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("all of it")
    _copy_with(tmp_path, "newer", format_version=99)
    _copy_with(tmp_path, "stranger", model="Oracle")
    shutil.copytree(model, tmp_path / "cut")
    (tmp_path / "cut" / "factors.safetensors").write_bytes(b"short")
    shutil.copytree(model, tmp_path / "partial")
    (tmp_path / "partial" / "users.parquet").unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _copy_with(folder: Path, name: str, **changes: object) -> None:
    shutil.copytree(folder / "model", folder / name)
    manifest = folder / name / "model.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))


# The command line, the exit code, and words that the one line must hold: what is wrong and what to do.
WRONG = [
    ("fti events.csv", WRONG_USE, ["'fti'", "did you mean 'fit'?"]),
    ("fit", WRONG_USE, ["FILE", "--help"]),
    ("fit events.csv --lerning-rate 3", WRONG_USE, ["--lerning-rate", "--learning-rate"]),
    ("fit events.csv --rank 0", WRONG_USE, ["--rank is 0", ">= 1"]),
    ("fit events.csv --rank many", WRONG_USE, ["--rank is 'many'", "whole number"]),
    ("fit events.csv --link sigmiod", WRONG_USE, ["sigmiod", 'did you mean "sigmoid"?']),
    ("fit events.csv --model sqlrnk", WRONG_USE, ["sqlrnk", "did you mean 'sqlrank'?"]),
    ("fit events.csv --metric ndgc@10", WRONG_USE, ["ndgc@10", "did you mean 'ndcg'?"]),
    ("fit events.csv --holdout 2", WRONG_USE, ["--holdout is 2", "0.5"]),
    ("fit events.csv --split weekly", WRONG_USE, ["weekly", "time, random"]),
    ("fit events.csv --threads 0", WRONG_USE, ["threads is 0", "1 to 1024"]),
    ("fit events.csv --seed x", WRONG_USE, ["--seed", "x"]),
    ("fit event.csv", FAILED, ["event.csv does not exist", "did you mean 'events.csv'?"]),
    ("fit events.csv --user usr", FAILED, ["no column 'usr'", "did you mean 'user'?"]),
    ("fit headless.csv", FAILED, ["no column that looks like the user", "'alpha', 'beta'", "--user"]),
    ("fit empty.csv", FAILED, ["empty.csv is empty"]),
    ("fit repeats.csv", FAILED, ["repeat", "--duplicates"]),
    ("fit holes.csv", FAILED, ["holes.csv", "line 3", "--drop-nulls"]),
    ("fit times.csv", FAILED, ["times.csv", "1.2.2024", "--time-format"]),
    ("fit bad.parquet", FAILED, ["bad.parquet cannot be read"]),
    ("fit events.csv --min-value 3", WRONG_USE, ["rating column", "--rating"]),
    ("fit events.csv -o folder", FAILED, ["folder holds other files (thesis.txt)", "another"]),
    ("fit events.csv -o events.csv", FAILED, ["events.csv is a file"]),
    ("fit events.csv -o events.csv/model", FAILED, ["is a file", "another place"]),
    ("fit events.csv --config none.toml", WRONG_USE, ["none.toml", "no such file"]),
    ("fit events.csv --config broken.toml", WRONG_USE, ["broken.toml is not TOML", "line 1"]),
    ("fit events.csv --config table.toml", WRONG_USE, ["'fti'", "did you mean 'fit'?"]),
    ("fit events.csv --config flag.toml", WRONG_USE, ["'rnak'", "did you mean 'rank'?"]),
    ("recommend", WRONG_USE, ["MODEL", "--help"]),
    ("recommend modle --user a", FAILED, ["modle does not exist", "sqlrank fit"]),
    ("recommend folder --user a", FAILED, ["not a model directory", "model.json"]),
    ("recommend newer --all", FAILED, ["format version 99", "Upgrade sqlrank"]),
    ("recommend stranger --all", FAILED, ["'Oracle'", "unknown"]),
    ("recommend cut --all", FAILED, ["factors.safetensors is truncated"]),
    ("recommend partial --all", FAILED, ["users.parquet is missing"]),
    ("recommend model", WRONG_USE, ["--user", "--history", "--all"]),
    ("recommend model --user x --all", WRONG_USE, ["one of"]),
    ("recommend model --user Nobody", FAILED, ["Nobody", "unknown"]),
    ("recommend model --all -n 0", WRONG_USE, ["n is 0", ">= 1"]),
    ("recommend model --all -n ten", WRONG_USE, ["ten", "int"]),
    ("recommend model --history ,", WRONG_USE, ["--history is empty"]),
    ("recommend model --history Nothing", FAILED, ["Nothing"]),
    ("recommend model --user @nobody.txt", FAILED, ["nobody.txt", "no such file"]),
    ("recommend model --all -o top.xls", WRONG_USE, ["top.xls", ".parquet"]),
    ("recommend model --all --items empty.csv", FAILED, ["empty.csv is empty"]),
    ("similar model Nothing", FAILED, ["Nothing"]),
    ("evaluate model events.csv --protocol evrything", WRONG_USE, ["evrything", "known: all"]),
    ("evaluate model events.csv", FAILED, ["no user can be evaluated"]),
    ("update model events.csv --epochs 0", WRONG_USE, ["--epochs is 0"]),
    ("update nowhere events.csv", FAILED, ["nowhere does not exist"]),
    ("data fetch ml-100", WRONG_USE, ["ml-100", "did you mean"]),
    ("data make out.txt", WRONG_USE, ["out.txt", ".parquet"]),
    ("demo -o folder", FAILED, ["folder holds other files"]),
    ("inspect headless.csv", FAILED, ["'alpha', 'beta'", "--user"]),
]


@pytest.mark.parametrize(("line", "code", "words"), WRONG, ids=[line for line, _, _ in WRONG])
def test_wrong_invocation(cli: Cli, here: Path, line: str, code: int, words: list[str]) -> None:
    ran = cli(*line.split(), "-q") if line not in ("fti events.csv",) else cli(*line.split())
    assert_one_line(ran)
    assert ran.code == code, ran.err
    for word in words:
        assert word in ran.err
    assert sqlrank.load(here / "model").is_fitted


def assert_one_line(ran: Ran) -> None:
    assert ran.out == ""
    assert ran.err.startswith("error: ") and ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err


def _bytes(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_refuses_leaves_the_model_alone(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = _bytes(here / "model")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number), str(here / "model"))

    monkeypatch.setattr("sqlrank.storage.directory.write_arrays", refuse)
    ran = cli("fit", "events.csv", "--rank", 2, "--epochs", 2, "-q")
    assert_one_line(ran)
    assert ran.code == FAILED and "choose another place with -o" in ran.err
    assert _bytes(here / "model") == before
    assert not [entry for entry in here.iterdir() if "saving" in entry.name]


def test_a_failed_fit_leaves_the_model_alone(cli: Cli, here: Path) -> None:
    before = _bytes(here / "model")
    for line in ("fit repeats.csv", "fit events.csv --rank 0", "fit empty.csv"):
        assert cli(*line.split(), "-o", "model").code != 0
    # The steps explode in the middle of training.
    assert cli("fit", "events.csv", "--learning-rate", "1e30", "-q").code == WRONG_USE
    assert _bytes(here / "model") == before


def test_ctrl_c_before_the_first_epoch(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sqlrank.training.trainer.ListTrainer.train_epoch", interrupt)
    before = _bytes(here / "model")
    ran = cli("fit", "events.csv", "-q")
    assert ran.code == 130 and "interrupted" in ran.err
    assert _bytes(here / "model") == before


def test_ctrl_c_keeps_the_last_complete_epoch(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlrank.training.trainer import ListTrainer

    whole = ListTrainer.train_epoch

    def train(self: ListTrainer, number: int) -> object:
        if number == 3:
            raise KeyboardInterrupt
        return whole(self, number)

    monkeypatch.setattr(ListTrainer, "train_epoch", train)
    ran = cli("fit", "events.csv", "-o", "new", "--rank", 2, "--json", "-q")
    assert ran.code == 0 and "saved" not in ran.err
    assert sqlrank.load(here / "new").is_fitted


def test_debug_shows_the_traceback(cli: Cli, here: Path) -> None:
    with pytest.raises(sqlrank.DataError):
        cli("fit", "empty.csv", "--debug")


def test_a_fault_of_ours_says_so(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrank.cli.fit.hold_out", lambda *_: 1 / 0)
    ran = cli("fit", "events.csv", "-q")
    assert_one_line(ran)
    assert ran.code == 70 and "--debug" in ran.err


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ("pass drop_nulls=True to drop such rows", "pass --drop-nulls to drop such rows"),
        ("or time=False to leave the column out", "or --time none to leave the column out"),
        ("(rating=False leaves the column out)", "(--rating none leaves the column out)"),
        ("pass header=False if it is an event", "pass --no-header if it is an event"),
        ("pass header=True if it holds column names", "pass --header if it holds column names"),
        ("pass decimal_comma=True.", "pass --decimal-comma."),
        ("pass duplicates='last' (or first)", "pass --duplicates 'last' (or first)"),
        ("pass quote=None", "in Python, pass quote=None"),
    ],
)
def test_advice_is_in_flags_that_exist(said: str, flags: str) -> None:
    assert one_line(DataError(said)) == flags


def test_the_advised_flags_work(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("user,item,rating,time\na,x,5,1\nb,y,4,2\na,y,,3\n,x,2,4\nb,x,1,5\n")
    failed = cli("fit", tmp_path / "e.csv", "-o", tmp_path / "m", "-q")
    assert failed.code == FAILED and "--drop-nulls to" in failed.err
    done = cli("fit", tmp_path / "e.csv", "-o", tmp_path / "m", "-q", "--drop-nulls", "--time", "none")
    assert done.code == 0, done.err
