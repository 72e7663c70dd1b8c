"""The shipped experiments are what the paper has; a file of one's own is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlrank.errors import ConfigError
from sqlrank.experiments import load_experiment, names

OWN = """
title = "Mine"
kind = "table"
seeds = 2

[tasks.mine]
title = "My cut of MovieLens"
dataset = "ml-100k"
min_value = 4
n_train = 5
protocols = ["paper-implicit"]
tune_for = "ndcg@10"

[[rows]]
label = "EASE"
model = "EASE"
task = ["mine", "ml-1m-released"]
"""

CLAIM = """
[[claims]]
text = "EASE beats itself"
metric = "precision@1"
better = "EASE"
worse = "EASE"
"""


def test_every_shipped_experiment_can_be_read() -> None:
    for name in names():
        experiment = load_experiment(name)
        assert experiment.id == name and experiment.rows and experiment.title


@pytest.mark.parametrize(
    ("name", "rows", "printed"), [("table1", 18, 54), ("table2", 8, 32), ("table3", 3, 6), ("table4", 4, 16)]
)
def test_tables_have_all_numbers_of_the_paper(name: str, rows: int, printed: int) -> None:
    experiment = load_experiment(name)
    assert len(experiment.rows) == rows
    assert sum(len(row.paper) for row in experiment.rows) == printed
    for row in experiment.rows:  # a row of our own has none of them
        assert set(row.paper) in (set(), {metric for metric, _ in row.task.metrics})


def test_tuned_searches_the_same_models_on_every_task_of_a_kind() -> None:
    experiment = load_experiment("tuned")
    assert experiment.tuning is not None
    for row in experiment.rows:
        assert row.model == "Popularity" or row.search == ("all",)
    for stars, more in (
        (False, {"WeightedMF", "BPR"}),
        (True, {"ListRankMF", "PrimalCR", "MatrixFactorization"}),
    ):
        tasks = {row.task.name for row in experiment.rows if row.task.name.endswith("stars") == stars}
        assert len(tasks) == (2 if stars else 6)
        for name in tasks:
            models = [row.model for row in experiment.rows if row.task.name == name]
            assert sorted(models) == sorted({"SQLRank", "EASE", "ItemKNN", "Popularity"} | more), name


def test_the_paper_printed_whole_numbers_of_hits_cut_off_after_five_digits() -> None:
    """What `paper_users` in tasks.toml rests on: all printed precisions of a task are hits / (users k)."""
    known = {row.task for name in ("table1", "table2", "table3") for row in load_experiment(name).rows}
    assert {task.name for task in known if task.paper_users is None} == {"yahoo-stars"}
    for name in ("table1", "table2", "table3"):
        for row in load_experiment(name).rows:
            if row.task.paper_users is None:
                continue
            for metric, value in row.paper.items():
                if not metric.startswith("precision") or row.task.name in (
                    "ml-1m-described",
                    "foursquare-with-tips",
                ):
                    continue
                cells = row.task.paper_users * int(metric.partition("@")[2])
                hits = -(-value * cells // 1)  # the next whole number
                assert hits / cells < value + 1e-5, (row.task.name, metric)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    experiment = load_experiment(str(path))
    assert [row.task.title for row in experiment.rows] == ["My cut of MovieLens", "MovieLens-1M, as released"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('model = "EASE"', 'model = "EASY"'), "did you mean"),
        (('kind = "table"', 'kind = "tabel"'), "kind is 'tabel'"),
        (("seeds = 2", "sedes = 2"), "did you mean 'seeds'"),
        (("seeds = 2", "seeds = 0"), "at least 1"),
        (('"mine", "ml-1m-released"', '"yours"'), "no task 'yours'"),
        (('title = "Mine"', ""), "title is missing"),
        (('protocols = ["paper-implicit"]', 'protocols = ["paper"]'), "protocol 'paper' is unknown"),
        (('label = "EASE"', 'label = "EASE"\nsearch = ["weights"]'), "no setting 'weights' with a range"),
        (('label = "EASE"', 'label = "EASE"\nsearch = ["all"]'), r"no \[tuning\]"),
        (("n_train = 5", "n_train = ["), "mine.toml"),
        (("seeds = 2", f"seeds = 2\n{CLAIM}"), "must say which task"),
        (("seeds = 2", f'seeds = 2\n{CLAIM}task = "ml-1m-described"'), "which no row is"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN.replace(*change))
    with pytest.raises(ConfigError, match=message):
        load_experiment(str(path))


def test_unknown_names_are_answered_with_close_ones() -> None:
    with pytest.raises(ConfigError, match="did you mean 'table1'"):
        load_experiment("tabel1")
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_experiment("nowhere.toml")
