"""The command that a command prints as the next one reads the same events."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.conftest import Cli, Ran
from sqlrank.cli.common import Reading

SHOP = ["--user", "Kunde", "--item", "Der Artikel"]
CASES = [
    SHOP,
    [*SHOP, "--rating", "none", "--time", "none"],
    [
        *SHOP,
        "--rating",
        "Anzahl",
        "--min-value",
        "1",
        "--implicit",
        "--null-values",
        "user=0",
        "--drop-nulls",
    ],
    [*SHOP, "--rating", "Anzahl", "--min-value", "-1.5", "--duplicates", "sum", "--time", "none"],
    [*SHOP, "--null-values", "user=0", "--null-values", "item=a1"],
    [*SHOP, "--min-user-events", "3", "--min-item-events", "2", "--separator", ";", "--header"],
    ["--user", "0", "--item", "1", "--encoding", "latin-1", "--time", "3", "--time-format", "%d.%m.%Y"],
]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    rows = [f"{i % 23};a{i % 17};{i % 9 - 2};{1 + i % 28}.{1 + i % 12}.2024" for i in range(300)]
    rows += [";a1;1;1.1.2024", "99;a1;2;2.1.2024"]
    path = tmp_path / "my orders.csv"
    path.write_text("\n".join(["Kunde;Der Artikel;Anzahl;Datum", *rows]) + "\n")
    return path


def follow(cli: Cli, command: str, *more: object) -> Ran:
    """Run a printed command as a shell would, without learning for long."""
    words = shlex.split(command)
    assert words[0] == "sqlrank"
    ran = cli(*words[1:], *more, "--rank", 2, "--epochs", 1)
    assert ran.code == 0, ran.err
    return ran


def events_read(ran: Ran) -> int:
    counts = re.findall(r"^ *= ([\d,]+) events", ran.out + ran.err, re.MULTILINE)
    assert len(counts) == 1
    return int(counts[0].replace(",", ""))


@pytest.mark.parametrize("flags", CASES, ids=" ".join)
def test_inspect_hands_on_the_flags(cli: Cli, orders: Path, tmp_path: Path, flags: list[str]) -> None:
    shown = cli("inspect", orders, *flags)
    assert shown.code == 0, shown.err
    command = shown.err.partition("next: ")[2].strip()
    assert command == cli("inspect", orders, *flags, "--json").json["command"]
    assert command.endswith(" -o model")
    place = shlex.quote(str(tmp_path / "model"))
    ran = follow(cli, command.removesuffix("model") + place, "--holdout", 0)
    assert events_read(ran) == events_read(shown)


def test_tune_hands_on_the_flags(cli: Cli, orders: Path, tmp_path: Path) -> None:
    flags = [*SHOP, "--time", "none", "--drop-nulls", "--min-user-events", "3", "--duplicates", "last"]
    tuned = cli("tune", orders, *flags, "--trials", 1, "--epochs", 1, "-o", tmp_path / "t 2.toml")
    assert tuned.code == 0, tuned.err
    ran = follow(cli, tuned.err.partition("next: ")[2].strip(), "-o", tmp_path / "model")
    assert events_read(ran) == events_read(tuned)


def test_flags_at_their_defaults_are_left_out() -> None:
    assert Reading().flags() == ""
    assert Reading(duplicates="auto", min_user_events=1, encoding="utf-8", header=None).flags() == ""


def test_flags_are_quoted_for_a_shell() -> None:
    reading = Reading(user="the user", header=False, min_value=-2.0, null_values=("-1", "n a"))
    expected = "--user 'the user' --min-value=-2 --null-values=-1 --null-values 'n a' --no-header"
    assert reading.flags() == expected


def test_fit_holds_out_what_the_search_left_alone(cli: Cli, orders: Path, tmp_path: Path) -> None:
    reading = [*SHOP, "--time", "none", "--drop-nulls", "--duplicates", "last"]
    flags = ("--split", "random", "--seed", 7, "--holdout", 0.2)
    tuned = cli("tune", orders, *reading, *flags, "--trials", 1, "--epochs", 1, "-o", tmp_path / "t.toml")
    assert tuned.code == 0, tuned.err
    assert tuned.err.partition("next: ")[2].strip().endswith("--holdout 0.2 --split random --seed 7")
