"""A miniature of all experiments: made-up data, the whole machinery, twice."""

from __future__ import annotations

import dataclasses
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqlrank.tuning
from sqlrank.data.datasets import Dataset, make_ratings
from sqlrank.data.interactions import Interactions
from sqlrank.errors import DataError, FormatError
from sqlrank.experiments import load_experiment, names, reproduce
from sqlrank.experiments.definition import Task
from sqlrank.experiments.page import load_outcomes, page_text, write_page
from sqlrank.experiments.plan import Bench, settings_of, trial_of
from sqlrank.experiments.preparation import MadeUp, OnDisk, cut, miniature
from sqlrank.experiments.report import curves, results
from sqlrank.experiments.runner import Outcome
from sqlrank.experiments.store import Store

pytest.importorskip("implicit")
pytest.importorskip("optuna")
CLOCK = ("fit_seconds",)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Outcome], Path]:
    folder = tmp_path_factory.mktemp("results")
    return reproduce("all", output=folder, small=True, threads=2, progress=False), folder


def test_all_rows_of_all_experiments_have_numbers(everything: tuple[list[Outcome], Path]) -> None:
    outcomes, folder = everything
    assert [outcome.experiment.id for outcome in outcomes] == names()
    for outcome in outcomes:
        assert all(len(row.records) == 2 and row.skipped is None for row in outcome.rows)
        table = pl.read_parquet(folder / outcome.experiment.id / "results.parquet")
        assert table["mean"].is_between(0, 1).all() and table["sd"].is_not_null().all()
        text = (folder / outcome.experiment.id / "README.md").read_text()
        assert all(row.row.label in text for row in outcome.rows) and "candidates:" in text
        assert (folder / outcome.experiment.id / "figure.png").stat().st_size > 10_000


def test_curves_have_every_epoch(everything: tuple[list[Outcome], Path]) -> None:
    for outcome in everything[0]:
        table = curves(outcome)
        assert (table.height > 0) == (outcome.experiment.kind != "table")
        if table.height:
            assert table["epoch"].unique().sort().to_list()[:1] == [1]
            by_time = table.filter(pl.col("seed") == 0).group_by("method", "metric", maintain_order=True)
            assert all(part["seconds"].is_sorted() for _, part in by_time)


def test_a_second_run_with_another_number_of_threads_gives_the_same_bits(
    everything: tuple[list[Outcome], Path], tmp_path: Path
) -> None:
    again = reproduce("all", output=tmp_path, small=True, threads=1, progress=False)
    for first, second in zip(everything[0], again, strict=True):
        assert results(first).drop(CLOCK).equals(results(second).drop(CLOCK))
        assert curves(first).drop("seconds").equals(curves(second).drop("seconds"))


def test_a_run_goes_on_where_it_was(everything: tuple[list[Outcome], Path], tmp_path: Path) -> None:
    shutil.copytree(everything[1], tmp_path / "r")
    records = sorted((tmp_path / "r" / "trials").glob("*.json"))
    stamps = {path: path.stat().st_mtime_ns for path in records}
    table3 = [path for path in records if _trial_of(path, everything[0], "table3")]
    table3[0].unlink()
    reproduce("table3", output=tmp_path / "r", small=True, progress=False)
    assert table3[0].exists()
    assert all(path.stat().st_mtime_ns == stamps[path] for path in records if path != table3[0])


def test_seconds_are_of_one_run(everything: tuple[list[Outcome], Path], tmp_path: Path) -> None:
    shutil.copytree(everything[1], tmp_path / "r")
    name = "figure-time-ml1m"
    mine = [p for p in (tmp_path / "r" / "trials").glob("*.json") if _trial_of(p, everything[0], name)]
    mine[0].unlink()
    (again,) = reproduce(name, output=tmp_path / "r", small=True, progress=False)
    assert len({record.run for row in again.rows for record in row.records}) == 1


def _trial_of(path: Path, outcomes: list[Outcome], name: str) -> bool:
    wanted = next(outcome for outcome in outcomes if outcome.experiment.id == name)
    values = json.loads(path.read_text())
    runs = [(record.run, record.fit_seconds) for row in wanted.rows for record in row.records]
    return (values.get("run"), values.get("fit_seconds")) in runs


def test_a_damaged_record_is_named(everything: tuple[list[Outcome], Path], tmp_path: Path) -> None:
    shutil.copytree(everything[1], tmp_path / "r")
    for path in (tmp_path / "r" / "trials").glob("*.json"):
        path.write_text("{")
    with pytest.raises(FormatError, match="delete it"):
        reproduce("table3", output=tmp_path / "r", small=True, progress=False)


def test_the_page_is_made_from_its_numbers(everything: tuple[list[Outcome], Path], tmp_path: Path) -> None:
    facts = {"sqlrank": "0", "small": True}
    page, numbers, *figures = write_page(everything[0], tmp_path, facts)
    assert page.read_text() == page_text(numbers)
    assert len(figures) == len(names()) and all(path.name in page.read_text() for path in figures)
    loaded, _ = load_outcomes(numbers)
    for first, second in zip(everything[0], loaded, strict=True):
        assert results(first).equals(results(second))


def test_the_published_page_is_that_of_its_numbers() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert (docs / "reproduction.md").read_text("utf-8") == page_text(docs / "reproduction.json")


def test_rows_of_one_task_stand_together(everything: tuple[list[Outcome], Path]) -> None:
    for outcome in everything[0]:
        tasks = results(outcome)["task"].to_list()
        assert sum(a != b for a, b in pairwise(tasks)) == len(set(tasks)) - 1


def test_absent_data_are_skipped_with_the_reason(tmp_path: Path) -> None:
    (outcome,) = reproduce("table3", data_dir=tmp_path, output=tmp_path / "r", progress=False)
    assert all(row.skipped is not None and "is not there" in row.skipped for row in outcome.rows)
    text = (tmp_path / "r" / "table3" / "README.md").read_text()
    assert "Not run: MovieLens-1M, as released" in text and "not judged" in text


def test_a_row_that_fails_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    rows = """
    [[rows]]
    label = "too bold"
    model = "SQLRank"
    task = "ml-1m-described"
    settings = { learning_rate = 1e30 }
    [[rows]]
    label = "sound"
    model = "Popularity"
    task = "ml-1m-described"
    """
    own = tmp_path / "own.toml"
    own.write_text(f'title = "Two"\nkind = "table"\nseeds = 1\n{rows}')
    (outcome,) = reproduce(str(own), output=tmp_path / "r", small=True, progress=False)
    bold, sound = outcome.rows
    assert bold.skipped is not None and "too bold failed" in bold.skipped and not bold.records
    assert sound.skipped is None and len(sound.records) == 2
    assert "too bold failed" in (tmp_path / "r" / "own" / "README.md").read_text()


def test_settings_are_searched_without_a_look_at_the_seeds_own_test_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Interactions] = []

    def spy(kind: Any, train: Interactions, *args: Any, validation: Interactions, **how: Any) -> Any:
        looked.extend((train, validation))
        return real(kind, train, *args, validation=validation, **how)

    real = sqlrank.tuning.tune
    monkeypatch.setattr(sqlrank.tuning, "tune", spy)
    experiment = miniature(load_experiment("table1"))
    row = next(row for row in experiment.rows if row.search)
    bench = Bench(MadeUp(), Store(tmp_path), 1)
    for seed in (0, 1):
        looked.clear()
        settings_of(row, experiment.tuning, bench, seed)
        train, test = bench.parts(row.task, seed)
        seen = {pair for part in looked for pair in _pairs(part)}
        assert len(looked) == 2 and seen == _pairs(train) and not seen & _pairs(test)


def _pairs(data: Interactions) -> set[tuple[object, object]]:
    table = data.to_table()
    return set(zip(table["user"], table["item"], strict=True))


def test_a_trial_of_other_events_is_another_trial(tmp_path: Path) -> None:
    class Other(MadeUp):
        def load(self, task: Task) -> Dataset:
            return make_ratings(120, 60, events_per_user=30, rank=4, seed=2)

    experiment = miniature(load_experiment("table3"))
    row = experiment.rows[0]
    benches = [Bench(source, Store(tmp_path), 1) for source in (MadeUp(), MadeUp(), Other())]
    keys = [trial_of(experiment, row, 0, {}, bench).key for bench in benches]
    assert keys[0] == keys[1] != keys[2]


def test_a_trial_is_known_only_to_the_code_and_the_threads_that_ran_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = miniature(load_experiment("table3"))
    row = experiment.rows[0]

    def key(threads: int) -> str:
        return trial_of(experiment, row, 0, {}, Bench(MadeUp(), Store(tmp_path), threads)).key

    first = key(1)
    assert first == key(1) != key(2)
    monkeypatch.setattr("sqlrank.experiments.store.code_digest", lambda: "of other code")
    assert key(1) != first


def test_a_trial_of_other_users_is_another_trial(tmp_path: Path) -> None:
    """What decides who takes part need not be in the events: here it is how many rows a user had."""

    class Rows(MadeUp):
        def __init__(self, active: int) -> None:
            self._active = active

        def load(self, task: Task) -> Dataset:
            made = super().load(task)
            ids = made.train.users.ids
            rows = [20] * self._active + [0] * (len(ids) - self._active)
            return dataclasses.replace(made, users=pl.DataFrame({"user": ids, "rows": rows}))

    task = Task("t", "T", "made-up", ("paper-implicit",), "ndcg@10", n_train=10, min_events=15, min_rows=20)
    experiment = miniature(load_experiment("table3"))
    row = dataclasses.replace(experiment.rows[0], task=task)

    def key(active: int) -> str:
        return trial_of(experiment, row, 0, {}, Bench(Rows(active), Store(tmp_path), 1)).key

    assert key(60) == key(60) != key(40)


def test_an_interrupted_trial_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the run; what was half learnt is not kept."""
    from sqlrank.training.trainer import ListTrainer

    real, epochs = ListTrainer.train_epoch, []

    def press(self: ListTrainer, number: int) -> Any:
        epochs.append(number)
        if len(epochs) == 3:
            raise KeyboardInterrupt
        return real(self, number)

    monkeypatch.setattr(ListTrainer, "train_epoch", press)
    with pytest.raises(KeyboardInterrupt):
        reproduce("table3", output=tmp_path, small=True, progress=False)
    assert not list((tmp_path / "trials").glob("*.json"))


def test_a_data_set_that_cannot_be_read_leaves_the_other_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MadeUp.load

    def damaged(self: MadeUp, task: Task) -> Dataset:
        if task.name == "ml-1m-described":
            raise DataError("ratings.parquet cannot be read")
        return real(self, task)

    monkeypatch.setattr(MadeUp, "load", damaged)
    rows = "\n".join(
        f'[[rows]]\nlabel = "P"\nmodel = "Popularity"\ntask = "{name}"'
        for name in ("ml-1m-described", "amazon")
    )
    (tmp_path / "own.toml").write_text(f'title = "Two"\nkind = "table"\nseeds = 1\n{rows}')
    (outcome,) = reproduce(str(tmp_path / "own.toml"), output=tmp_path / "r", small=True, progress=False)
    bad, sound = outcome.rows
    assert bad.skipped is not None and "ratings.parquet cannot be read" in bad.skipped
    assert sound.skipped is None and len(sound.records) == 2


def test_what_a_task_cuts() -> None:
    made = MadeUp().load(load_experiment("table1").rows[0].task)
    task = Task("t", "T", "made-up", ("paper-implicit",), "ndcg@10", n_train=10, min_value=4, min_events=15)
    train, test = cut(made, task, seed=3)
    assert train.values is None and test.values is None
    assert (np.diff(train.indptr) == 10).all() and (np.diff(test.indptr) >= 5).all()
    whole = made.train
    assert whole.values is not None
    assert len(train) + len(test) <= int((whole.values >= 4).sum())
    assert cut(made, task, seed=3)[0] == train and cut(made, task, seed=4)[0] != train


def test_foursquare_keeps_the_users_the_paper_had(data_dir: Path) -> None:
    """412 users have 20 check-ins, the same venue counted as often as they went: the paper's numbers are 1/412ths."""
    task = next(row.task for row in load_experiment("table1").rows if row.task.name == "foursquare")
    train, test = cut(OnDisk(data_dir).load(task), task, seed=0)
    assert train.n_users == task.paper_users == 412
    assert isinstance(test, Interactions) and np.diff(train.indptr).max() == 10


def test_explicit_movielens_keeps_the_users_the_paper_had(data_dir: Path) -> None:
    task = load_experiment("table2").rows[0].task
    train, _ = cut(OnDisk(data_dir).load(task), task, seed=0)
    assert train.n_users == task.paper_users == 3938
