"""inspect finds the flags that a messy file needs."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from cli.conftest import Cli

MESS = """CustomerID;StockCode;Quantity;InvoiceDate
{rows}"""


def messy(folder: Path) -> Path:
    rows = []
    for i in range(200):
        customer = 0 if i % 3 == 0 else 17000 + i % 20
        amount = "-1" if i % 25 == 1 else "2"
        rows.append(f"{customer};A{i % 15};{amount};{1 + i % 28}.{1 + i % 12}.2024 08:{i % 60:02d}")
    path = folder / "lines.csv"
    path.write_text(MESS.format(rows="\n".join(rows)))
    return path


def test_inspect_says_what_it_needs(cli: Cli, tmp_path: Path) -> None:
    found = cli("inspect", messy(tmp_path), "--json").json
    flags = found["command"]
    assert "--drop-nulls --null-values user=0" in flags
    assert "--rating Quantity --implicit --min-value 1" in flags
    assert "--time-format '%d.%m.%Y %H:%M'" in flags
    assert found["users"] <= 20 and found["items"] == 10


def test_the_command_it_prints_works(cli: Cli, tmp_path: Path) -> None:
    command = shlex.split(cli("inspect", messy(tmp_path), "--json").json["command"])
    words = [tmp_path / "model" if word == "model" else word for word in command[1:]]
    assert cli(*words, "--rank", 2, "--epochs", 2, "-q").code == 0


def test_a_clean_file_needs_nothing(cli: Cli, events: Path) -> None:
    ran = cli("inspect", events)
    assert "found\n" not in ran.out and f"next: sqlrank fit {events} -o model" in ran.err
    assert "2025-01-01 to 2025-12-31" in ran.out


def test_ratings_are_shown_as_bars(cli: Cli, ratings: Path) -> None:
    out = cli("inspect", ratings).out
    assert "█" in out and "density" in out


def test_a_figure_on_request(cli: Cli, events: Path, tmp_path: Path) -> None:
    assert cli("inspect", events, "--figure", tmp_path / "f.png", "-q").code == 0
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_decimal_commas_and_repeats(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user;item;rating\na;x;1,5\na;x;2,5\nb;x;3,0\nb;y;4,0\n")
    assert (
        cli("inspect", path, "--json").json["command"].endswith("--decimal-comma --duplicates last -o model")
    )


def test_an_online_shop(cli: Cli, data_dir: Path) -> None:
    found = cli("inspect", data_dir / "online-retail" / "online_retail.parquet", "--json").json
    assert (found["users"], found["items"], found["events"]) == (4_339, 3_665, 266_802)


def test_a_file_without_a_header_is_looked_at_as_it_is_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("ann,tea\nbob,jam\nann,jam\n")
    shown = cli("inspect", tmp_path / "events.csv", "--user", 0, "--item", 1)
    assert shown.code == 0 and "column_1" in shown.out and "= 3 events" in shown.out


@pytest.mark.parametrize("role", ["rating", "time"])
def test_missing_values_are_found_in_every_column(cli: Cli, tmp_path: Path, role: str) -> None:
    rows = [{"rating": "1", "time": "1"}, {"rating": "2", "time": "2"}, {"rating": "3", "time": "3"}]
    rows[1][role] = ""
    lines = [f"u{i},x,{row['rating']},{row['time']}" for i, row in enumerate(rows)]
    path = tmp_path / "holes.csv"
    path.write_text("\n".join(["user,item,rating,time", *lines]) + "\n")
    found = cli("inspect", path, "--json").json
    assert found["findings"] == [{"finding": f"1 rows have no {role}: drop those", "flags": "--drop-nulls"}]
    assert found["events"] == 2 and "--drop-nulls" in found["command"]


def test_numbers_that_are_none_count_as_missing(cli: Cli, tmp_path: Path) -> None:
    table = pl.DataFrame({"user": [1, 2, 3], "item": [5, 5, 6], "rating": [1.0, float("nan"), 2.0]})
    table.write_parquet(tmp_path / "holes.parquet")
    assert cli("inspect", tmp_path / "holes.parquet", "--json").json["events"] == 2


def test_a_column_without_any_value_is_left_out(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("user,item,rating,time\na,x,1,\nb,x,2,\n")
    found = cli("inspect", path, "--json").json
    assert found["events"] == 2 and "--time none" in found["command"] and "--drop" not in found["command"]


def test_what_was_seen_is_shown_before_an_error(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("user,item,rating\na,x,1\nb,x,bad\n,y,3\n")
    ran = cli("inspect", path)
    assert ran.code == 1 and "'bad' is not a number" in ran.err and "next:" not in ran.err
    assert "used as" in ran.out and "1 rows have no user" in ran.out and "read with" not in ran.out
    seen = cli("inspect", path, "--json")
    assert seen.code == 1 and seen.json["columns"]["rating"] == "rating"
    assert seen.json["findings"][0]["flags"] == "--drop-nulls" and "command" not in seen.json


def test_returns_and_days_are_found_by_name(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("client;sku;pieces;day\n17;tea;2;24.12.2023\n18;tea;-1;02.01.2024\n18;jam;3;03.01.2024\n")
    found = cli("inspect", path, "--json").json
    assert "--rating pieces --implicit --min-value 1 --time-format %d.%m.%Y" in found["command"]
    assert found["columns"]["time"] == "day" and found["events"] == 2
