"""Every command does its work; stdout is data, stderr is talk."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import sqlrank
from cli.conftest import Cli

SMALL = ("--rank", "4", "--epochs", "6")


def some_user(model: Path) -> str:
    return str(sqlrank.load(model).users.ids[0])


def test_help_lists_the_commands_in_the_order_of_use(cli: Cli) -> None:
    shown = cli("--help")
    assert shown.code == 0
    places = [shown.out.index(f" {name} ") for name in ("demo", "inspect", "fit", "recommend", "doctor")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "words",
    [["demo"], ["inspect"], ["fit"], ["recommend"], ["evaluate"], ["similar"], ["update"], ["doctor"]],
)
def test_every_command_has_help(cli: Cli, words: list[str]) -> None:
    shown = cli(*words, "--help")
    assert shown.code == 0 and "--json" in shown.out and "--config" in shown.out


def test_fit_has_a_flag_for_every_setting(cli: Cli) -> None:
    shown = cli("fit", "--help").out
    for name in sqlrank.SQLRank.settings_class.rules():
        assert f"--{name.replace('_', '-')} " in shown


def test_fit_measures_and_saves_with_a_report(cli: Cli, events: Path, tmp_path: Path) -> None:
    ran = cli("fit", events, "-o", tmp_path / "m", *SMALL, "--json", "-q")
    assert ran.code == 0 and ran.err == ""
    assert ran.json["metrics"]["all"]["SQLRank"]["ndcg@10"] > 0
    page = (tmp_path / "m" / "report.html").read_text()
    assert "Measured on events the model had not seen" in page
    assert "http" not in page.replace("http-equiv", "")  # self-contained
    model = sqlrank.load(tmp_path / "m")
    # The saved model has learnt from all events.
    assert len(model.seen.indices) == len(sqlrank.read(events, verbose=False))


def test_fit_without_holdout_learns_from_everything(cli: Cli, events: Path, tmp_path: Path) -> None:
    ran = cli("fit", events, "-o", tmp_path / "m", *SMALL, "--holdout", 0, "-q")
    assert ran.code == 0
    assert "Not measured" in (tmp_path / "m" / "report.html").read_text()


def test_fit_without_refit_keeps_what_was_measured(cli: Cli, events: Path, tmp_path: Path) -> None:
    ran = cli("fit", events, "-o", tmp_path / "m", *SMALL, "--no-refit", "-q")
    assert ran.code == 0
    assert len(sqlrank.load(tmp_path / "m").seen.indices) < len(sqlrank.read(events, verbose=False))


def test_ratings_are_judged_by_their_order(cli: Cli, ratings: Path, tmp_path: Path) -> None:
    ran = cli("fit", ratings, "-o", tmp_path / "m", *SMALL, "--json")
    assert ran.code == 0, ran.err
    assert set(ran.json["metrics"]) == {"rated", "all"}
    assert "--implicit" not in ran.err  # with --json there is no advice


def test_the_same_seed_fits_the_same_model(cli: Cli, events: Path, tmp_path: Path) -> None:
    for name, threads in (("a", 1), ("b", 2)):
        assert cli("fit", events, "-o", tmp_path / name, *SMALL, "-q", "--threads", threads).code == 0
    first, second = ((tmp_path / name / "factors.safetensors").read_bytes() for name in "ab")
    assert first == second


def test_config_round_trip(cli: Cli, events: Path, tmp_path: Path) -> None:
    flags = (
        "--rank",
        "4",
        "--epochs",
        "3",
        "--user",
        "user",
        "--holdout",
        "0.2",
        "--null-values",
        "user=nobody",
    )
    printed = cli("fit", events, *flags, "--print-config")
    assert printed.code == 0
    assert printed.out.startswith("[fit]\n") and "rank = 4\n" in printed.out
    config = tmp_path / "fit.toml"
    config.write_text(printed.out)
    again = cli("fit", events, "--config", config, "--print-config")
    assert again.out == printed.out
    # The command line wins over the file.
    assert "rank = 7" in cli("fit", events, "--config", config, "--rank", 7, "--print-config").out


def test_config_takes_numbers_and_words(cli: Cli, events: Path, tmp_path: Path) -> None:
    config = tmp_path / "fit.toml"
    config.write_text(
        '[fit]\nrank = 4\nlearning_rate = "auto"\nepochs = 2\noutput = "%s"\n' % (tmp_path / "m")
    )
    assert cli("fit", events, "--config", config, "-q").code == 0
    assert sqlrank.load(tmp_path / "m").settings.rank == 4


def test_recommend_for_known_users(cli: Cli, model: Path) -> None:
    user = some_user(model)
    rows = cli("recommend", model, "--user", user, "-n", 3, "--json").json
    assert [row["rank"] for row in rows] == [1, 2, 3] and rows[0]["user"] == user
    table = cli("recommend", model, "--user", user, "-n", 3)
    assert table.err == "" and rows[0]["item"] in table.out


def test_recommend_for_somebody_new(cli: Cli, model: Path) -> None:
    items = sqlrank.load(model).items.ids.to_list()
    rows = cli("recommend", model, "--history", f"{items[0]},{items[1]}", "--json", "-n", 5).json
    shown = {row["item"] for row in rows}
    assert len(rows) == 5 and not shown & set(items[:2])


def test_recommend_filters(cli: Cli, model: Path, tmp_path: Path) -> None:
    items = sqlrank.load(model).items.ids.to_list()
    (tmp_path / "few.txt").write_text("\n".join(items[:6]))
    words = ("recommend", model, "--user", some_user(model), "--include-seen", "--json")
    rows = cli(*words, "--candidates", f"@{tmp_path / 'few.txt'}", "--exclude", items[0]).json
    assert {row["item"] for row in rows} == set(items[1:6])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "ndjson"])
def test_recommend_writes_files(cli: Cli, model: Path, tmp_path: Path, suffix: str) -> None:
    place = tmp_path / f"top.{suffix}"
    ran = cli("recommend", model, "--all", "-n", 2, "-o", place)
    assert ran.code == 0 and ran.out == ""
    readers = {"parquet": pl.read_parquet, "csv": pl.read_csv, "ndjson": pl.read_ndjson}
    table = pl.read_csv(place, separator="\t") if suffix == "tsv" else readers[suffix](place)
    assert table.columns == ["user", "item", "score", "rank"] and table.height == 2 * 120


def test_titles_come_from_a_table(cli: Cli, model: Path, tmp_path: Path) -> None:
    items = sqlrank.load(model).items.ids.to_list()
    titles = tmp_path / "films.csv"
    pl.DataFrame({"id": items, "name": [f"Film {i}" for i, _ in enumerate(items)]}).write_csv(titles)
    words = ("--items", titles, "--key", "id", "--title", "name", "--json")
    rows = cli("recommend", model, "--user", some_user(model), *words).json
    assert all(row["title"] == f"Film {items.index(row['item'])}" for row in rows)
    near = cli("similar", model, items[0], "-n", 2, "--items", titles, "--json").json
    assert near[0]["title"].startswith("Film") and near[0]["item"] == items[0]


def test_evaluate_names_its_protocol(cli: Cli, model: Path, tmp_path: Path) -> None:
    loaded = sqlrank.load(model)
    new = [{"user": user, "item": item} for user in loaded.users.ids[:30] for item in loaded.items.ids[:20]]
    pl.DataFrame(new).write_csv(tmp_path / "test.csv")
    ran = cli("evaluate", model, tmp_path / "test.csv", "--metrics", "ndcg@5,hit@1")
    assert "protocol  all: candidates: all items unseen in training" in ran.out and "ndcg@5" in ran.out
    assert set(cli("evaluate", model, tmp_path / "test.csv", "--json", "-q").json["metrics"]) >= {"ndcg@10"}


def test_update_takes_new_users_and_items(cli: Cli, model: Path, tmp_path: Path) -> None:
    own = tmp_path / "model"
    shutil.copytree(model, own)
    item = sqlrank.load(own).items.ids[0]
    (tmp_path / "new.csv").write_text(f"user,item\nNew Person,{item}\nNew Person,New Film\n")
    ran = cli("update", own, tmp_path / "new.csv", "--json", "-q")
    assert ran.json["new_users"] == 1 and ran.json["new_items"] == 1
    assert len(cli("recommend", own, "--user", "New Person", "--json").json) == 10


def test_doctor(cli: Cli) -> None:
    facts = cli("doctor", "--json").json
    assert facts["facts"]["instruction set"] and "matplotlib" in facts["extras"]
    assert "threads" in cli("doctor").out


def test_data_list_and_make(cli: Cli, tmp_path: Path) -> None:
    assert "ml-100k" in {row["name"] for row in cli("data", "list", "--data-dir", tmp_path, "--json").json}
    place = tmp_path / "r.parquet"
    assert cli("data", "make", place, "--kind", "ratings", "--users", 50, "--items", 40, "-q").code == 0
    assert pl.read_parquet(place).columns == ["user", "item", "rating", "timestamp"]


def test_demo_goes_the_whole_way(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    ran = cli("demo", "-o", folder, "--users", 300, "--items", 120)
    assert ran.code == 0, ran.err
    assert "and might like next" in ran.out and "sqlrank recommend" in ran.err
    assert {entry.name for entry in folder.iterdir()} == {
        "events.csv",
        "items.csv",
        "recommendations.csv",
        "model",
    }
    page = (folder / "model" / "report.html").read_text()
    assert "Three users" in page and "<svg" in page
    # Once more into the same folder.
    assert cli("demo", "-o", folder, "--users", 300, "--items", 120, "-q").code == 0


def test_the_verdict_is_about_every_question(cli: Cli, tmp_path: Path) -> None:
    cli("data", "make", tmp_path / "r.csv", "--kind", "ratings", "--users", 200, "--items", 60)
    ran = cli("fit", tmp_path / "r.csv", "-o", tmp_path / "m", "--rank", 4, "--epochs", 3)
    assert "Ordering: SQLRank is" in ran.err and "Finding: SQLRank is" in ran.err
    assert "Finding: SQLRank is" in (tmp_path / "m" / "report.html").read_text()


def test_a_model_of_ratings_on_events_without_them(cli: Cli, tmp_path: Path) -> None:
    """Ordering equals is perfect by construction: it is not what is measured."""
    cli("data", "make", tmp_path / "r.csv", "--kind", "ratings", "--users", 200, "--items", 60)
    cli("fit", tmp_path / "r.csv", "-o", tmp_path / "m", "--rank", 4, "--epochs", 3, "-q", "--holdout", 0)
    cli("data", "make", tmp_path / "e.csv", "--users", 200, "--items", 60)
    ran = cli("evaluate", tmp_path / "m", tmp_path / "e.csv", "-q")
    assert ran.code == 0 and "all items unseen" in ran.out


def test_settings_are_numbers_in_a_config(cli: Cli, events: Path) -> None:
    shown = cli("fit", events, "--rank", 16, "--regularization", "2.5", "--queue", "frozen", "--print-config")
    assert "rank = 16\n" in shown.out and "regularization = 2.5\n" in shown.out
    assert 'queue = "frozen"' in shown.out
