import io
import math
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqlrank
from sqlrank import Comparison, ConfigError, DataError, Interactions
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.errors import SqlrankError
from sqlrank.evaluation import child
from sqlrank.models.names import model_class

METRICS = ["ndcg@5", "recall@5", "coverage@5"]
MEASURED = ("fit_seconds", "users_per_second", "peak_memory_mb")


@pytest.fixture(scope="module")
def data() -> Interactions:
    random = np.random.default_rng(0)
    taste = random.normal(size=(60, 3)) @ random.normal(size=(3, 40)) + random.normal(size=40)
    chosen = np.argsort(-taste - random.gumbel(size=taste.shape))[:, :12]
    return sqlrank.read(
        {
            "user": np.repeat(np.arange(60), 12),
            "item": chosen.ravel(),
            "time": random.permutation(720),
        },
        verbose=False,
    )


@pytest.fixture(scope="module")
def parts(data: Interactions) -> tuple[Interactions, Interactions]:
    return sqlrank.split.by_time(data, 0.2)


def models() -> dict[str, Any]:
    small = sqlrank.SQLRank(rank=4, epochs=8, feedback="implicit")
    return {"SQL-Rank": small, "top": sqlrank.Popularity(), "dice": sqlrank.Random()}


def compare(data: Any, **options: Any) -> Comparison:
    settings = {"metrics": METRICS, "seeds": 2, "isolate": False, **options}
    return sqlrank.compare(settings.pop("models", models()), data, **settings)


def numbers(result: Comparison) -> pl.DataFrame:
    return result.table.drop(MEASURED)


def test_table_holds_the_numbers_of_evaluate(parts: tuple[Interactions, Interactions]) -> None:
    train, test = parts
    result = compare(parts)
    row = result.table.row(by_predicate=pl.col("model") == "SQL-Rank", named=True)
    model = models()["SQL-Rank"]
    evaluations = [sqlrank.evaluate(model.fit(train, seed=seed), test, METRICS) for seed in (0, 1)]
    for metric in METRICS:
        values = [evaluation[metric] for evaluation in evaluations]
        assert row[metric] == pytest.approx(np.mean(values), abs=1e-12)
        assert row[f"{metric} sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
        assert result.mean("SQL-Rank", metric) == row[metric]
    assert result["SQL-Rank"][1].per_user.equals(evaluations[1].per_user)
    assert result.table["ndcg@5"].to_list() == sorted(result.table["ndcg@5"], reverse=True)


def test_difference_to_the_best_rival_is_paired_over_users(parts: tuple[Interactions, Interactions]) -> None:
    result = compare(parts)
    best, second = result.ranking[:2]
    for name, rival in [(best, second), (second, best)]:
        found = result.rival(name)
        assert found is not None
        assert found[0] == rival
        gap = found[1]
        ours, theirs = (
            np.mean([e.per_user["ndcg@5"].to_numpy() for e in result[who]], axis=0) for who in (name, rival)
        )
        assert gap.value == pytest.approx((ours - theirs).mean(), abs=1e-12)
        assert gap.value == pytest.approx(result.mean(name) - result.mean(rival), abs=1e-12)
        error = (ours - theirs).std(ddof=1) / math.sqrt(len(ours))
        assert gap.high - gap.low == pytest.approx(2 * 1.96 * error, rel=0.15)
        assert gap.users == len(ours)
    assert result.rival(best, "coverage@5") is None  # no mean over users: no interval


def test_own_process_gives_the_same_numbers_and_its_memory(parts: tuple[Interactions, Interactions]) -> None:
    here = compare(parts)
    apart = compare(parts, isolate=True)
    assert numbers(apart).equals(numbers(here))
    assert here.table["peak_memory_mb"].null_count() == 3
    memory = apart.table["peak_memory_mb"].to_list()
    assert all(20 < megabytes < 1000 for megabytes in memory)


def test_memory_is_the_models_own_not_the_callers() -> None:
    ballast = np.ones(50_000_000)  # 400 MB here
    small = child.in_child(_peak_after, 0)
    large = child.in_child(_peak_after, 25_000_000)
    assert small < 300e6
    assert 180e6 < large - small < 260e6
    del ballast


def _peak_after(floats: int) -> int:
    child.reset_peak()
    array = np.ones(floats)
    del array
    peak = child.peak_memory()
    assert peak is not None
    return peak


def _leave(code: int) -> None:
    import os

    os._exit(code)


def _raise() -> None:
    raise ConfigError("no such thing")


def test_what_a_child_dies_of() -> None:
    with pytest.raises(SqlrankError, match="exit code 3"):
        child.in_child(_leave, 3)
    with pytest.raises(ConfigError, match="no such thing"):
        child.in_child(_raise)


def test_a_script_without_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sqlrank\nprint('hello')\n"
        "class Mine(sqlrank.Popularity): pass\n"
        "events = [(u, i) for u in range(20) for i in range(10) if (u * i) % 3]\n"
        "data = sqlrank.read(events, verbose=False)\n"
        "r = sqlrank.compare({'p': sqlrank.Popularity(), 'mine': Mine()}, data, seeds=1)\n"
        "print(r.table['error'].null_count(), r.table['peak_memory_mb'].null_count())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["hello", "2", "1"]  # a class of the script cannot travel: measured here


def test_deterministic_for_any_number_of_threads(data: Interactions) -> None:
    first = compare(data, threads=1)
    assert numbers(compare(data, threads=2)).equals(numbers(first))


class _Failing(sqlrank.Popularity):
    def fit(self, train: Interactions, **how: Any) -> "_Failing":
        raise KeyError("broken | inside")


def test_failures_are_rows_and_do_not_stop_the_others(
    parts: tuple[Interactions, Interactions], tmp_path: Path
) -> None:
    candidates = {"bad": _Failing(), "explicit": sqlrank.SQLRank(feedback="explicit"), **models()}
    result = compare(parts, models=candidates, output=tmp_path / "out")
    assert result.table["model"].to_list()[3:] == ["bad", "explicit"]
    errors = dict(result.table.select("model", "error").rows())
    assert "broken" in errors["bad"]
    assert "no ratings" in errors["explicit"]
    assert [errors[name] for name in models()] == [None] * 3
    assert "failed    explicit: feedback" in str(result)
    assert "broken \\| inside" in (tmp_path / "out" / "comparison.md").read_text()


def test_only_failures(parts: tuple[Interactions, Interactions], tmp_path: Path) -> None:
    result = compare(parts, models={"bad": _Failing()}, output=tmp_path)
    assert "No model could be" in str(result)
    assert math.isnan(result.mean("bad"))
    assert result.table["ndcg@5"].to_list() == [None]


def test_saved_files(parts: tuple[Interactions, Interactions], tmp_path: Path) -> None:
    result = compare(parts, output=tmp_path / "deep" / "folder")
    folder = tmp_path / "deep" / "folder"
    assert pl.read_parquet(folder / "comparison.parquet").equals(result.table)
    rows = pl.read_parquet(folder / "per_user.parquet")
    assert rows.height == sum(len(e.per_user) for name in models() for e in result[name])
    text = (folder / "comparison.md").read_text()
    assert result.verdict in text
    assert "candidates: all items unseen in training" in text
    assert "rank=4" in text
    if (folder / "comparison.png").exists():
        assert (folder / "comparison.png").read_bytes()[:4] == b"\x89PNG"


def test_shown_with_protocol_split_and_verdict(
    parts: tuple[Interactions, Interactions], capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    result = compare(parts, protocol="rated", metrics=None)
    text = str(result)
    assert "rated: candidates: the user's own test items" in text
    assert "576 train, 144 test, 60 users, 39 items" in text
    assert result.verdict in text
    result.show()
    assert capsys.readouterr().out == text + "\n"  # piped: plain
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(result)
    assert result.verdict in console.export_text()
    assert "\x1b" not in text


def test_default_split_is_by_time_else_random_by_seed(data: Interactions) -> None:
    timed = compare(data, models="popularity")
    assert "the last 10%" in timed.setup
    assert timed.table["ndcg@5 sd"].to_list() == [0.0]
    plain = Interactions.from_csr(data.users, data.items, data.indptr, data.indices)
    drawn = compare(plain, models="popularity")
    assert drawn.table["ndcg@5 sd"][0] > 0
    train, test = sqlrank.split.random(plain, 0.1, seed=1)
    expected = sqlrank.evaluate(sqlrank.Popularity().fit(train), test, METRICS)
    assert drawn["Popularity"][1].as_dict() == expected.as_dict()


def test_split_functions_tuples_and_datasets(
    parts: tuple[Interactions, Interactions], data: Interactions
) -> None:
    train, test = parts
    given = compare(data, split=parts, models="popularity")
    assert numbers(compare((train, test), models="popularity")).equals(numbers(given))
    assert numbers(compare(data, split=lambda d: sqlrank.split.by_time(d, 0.2), models="popularity")).equals(
        numbers(given)
    )
    named = Dataset("toy", train, test=test)
    assert numbers(compare(named, models="popularity")).equals(numbers(given))
    inner, validation = sqlrank.split.by_time(train, 0.2)
    masked = compare(Dataset("toy", inner, validation, test), models="popularity", seeds=1)
    model = sqlrank.Popularity().fit(inner)
    expected = sqlrank.evaluate(model, test, METRICS, seen=[inner, validation])
    assert masked["Popularity"][0].as_dict() == expected.as_dict()
    assert "split by last_n" in compare(data, split=sqlrank.split.last_n, models="popularity").setup


def test_named_models_learn_what_the_protocol_asks(data: Interactions) -> None:
    values = (np.arange(len(data)) % 5 + 1).astype(np.float32)
    rated = Interactions.from_csr(data.users, data.items, data.indptr, data.indices, values)
    assert compare(rated, models="sqlrank", seeds=1).rows[0].settings["feedback"] == "implicit"
    assert compare(rated, models="sqlrank", seeds=1, protocol="rated").rows[0].settings["feedback"] == "auto"


def test_settings_of_the_given_model_stay_untouched(parts: tuple[Interactions, Interactions]) -> None:
    model = sqlrank.SQLRank(rank=4, epochs=3)
    compare(parts, models={"a": model}, seeds=1)
    assert not model.is_fitted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": "sqlrnk"}, "did you mean 'sqlrank'"),
        ({"models": ""}, "models is empty"),
        ({"models": {"a": "sqlrank"}}, "models\\['a'\\]"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": [1, 1]}, "seeds is"),
        ({"metrics": ["ndgc@5"]}, "ndgc"),
        ({"protocol": "alll"}, "protocol 'alll' is unknown"),
        ({"split": 0.1}, "split is 0.1"),
    ],
)
def test_mistakes_of_the_call_raise_at_once(
    data: Interactions, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compare(data, **options)


def test_bad_data(data: Interactions) -> None:
    with pytest.raises(DataError, match="give interactions"):
        compare([(1, 2)])
    with pytest.raises(DataError, match="kfold"):
        compare(data, split=lambda d: [d, d, d])


def test_model_names() -> None:
    assert model_class("wmf") is model_class("WeightedMF") is sqlrank.WeightedMF


def test_one_model_is_alive_at_a_time_and_none_learns_cold(parts: tuple[Interactions, Interactions]) -> None:
    """Peaks of memory are of one seed's model; what is imported once is imported before the clock starts."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    fits: list[tuple[int, int]] = []

    class Counted(sqlrank.Popularity):
        def fit(self, train: Interactions, **how: Any) -> Any:
            alive.add(self)
            fits.append((len(alive), len(train)))
            return super().fit(train, **how)

    compare(parts, models={"counted": Counted()}, seeds=3)
    assert [count for count, _ in fits] == [1, 1, 1, 1]
    assert fits[0][1] < fits[1][1] == fits[2][1] == fits[3][1] == len(parts[0])
