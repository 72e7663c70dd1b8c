import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqlrank
from sqlrank import ConfigError, DataError, Interactions, TuningResult
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.settings import Search

pytest.importorskip("optuna", reason="optuna is not installed: pip install 'sqlrank[tune]'")

SMALL = {"rank": 4, "epochs": 6}


@pytest.fixture(scope="module")
def train() -> Interactions:
    random = np.random.default_rng(0)
    taste = random.normal(size=(60, 3)) @ random.normal(size=(3, 40)) + random.normal(size=40)
    chosen = np.argsort(-taste - random.gumbel(size=taste.shape))[:, :12]
    events = {"user": np.repeat(np.arange(60), 12), "item": chosen.ravel()}
    return sqlrank.read(events, verbose=False)


def tune(train: Any, model: Any = sqlrank.SQLRank, **options: Any) -> TuningResult:
    fixed = SMALL if model is sqlrank.SQLRank else {}
    return sqlrank.tune(
        model, train, options.pop("metric", "ndcg@5"), **{"trials": 6, "fixed": fixed, **options}
    )


def told(result: TuningResult) -> pl.DataFrame:
    return result.trials.drop("seconds")


def test_value_is_that_of_evaluate_on_the_validation_part(train: Interactions) -> None:
    rest, held_out = sqlrank.split.random(train, 0.2, seed=5)
    result = tune(rest, validation=held_out)
    model = result.model().fit(rest, seed=0)
    assert sqlrank.evaluate(model, held_out, "ndcg@5")["ndcg@5"] == result.value
    complete = result.trials.filter(pl.col("state") == "complete")
    assert result.value == complete["value"].max()
    assert result.settings["epochs"] == complete.sort("value")["epoch"][-1]
    assert not result.model().is_fitted


def test_defaults_come_first(train: Interactions) -> None:
    result = tune(train)
    defaults = sqlrank.SQLRank().get_params()
    assert result.trials.row(0, named=True)["regularization"] == defaults["regularization"]
    assert result.trials.row(0, named=True)["decay"] == defaults["decay"]
    assert result.trials["value"][0] == result.default_value <= result.value
    assert result.trials.height == 6


def test_deterministic_for_any_number_of_threads(train: Interactions) -> None:
    first = tune(train, threads=1)
    again = tune(train, threads=2)
    assert again == first
    assert told(again).equals(told(first))
    assert not told(tune(train, seed=1)).equals(told(first))


def test_resumed_search_equals_one_that_never_stopped(train: Interactions, tmp_path: Path) -> None:
    whole = tune(train, trials=9)
    storage = tmp_path / "search.journal"
    part = tune(train, trials=4, storage=storage)
    assert told(part).equals(told(whole).head(4))
    resumed = tune(train, trials=9, storage=storage)
    assert resumed == whole
    assert told(resumed).equals(told(whole))
    assert resumed.trials["seconds"][:4].equals(part.trials["seconds"])  # remembered, not run again
    assert tune(train, trials=3, storage=storage) == whole  # nothing to do


def test_a_trial_that_was_cut_off_is_run_again(train: Interactions, tmp_path: Path) -> None:
    """Also where the sampler learns from the trials before: it must not see those that never ended."""

    class StopError(Exception):
        pass

    class Cut(sqlrank.SQLRank):
        fits = 0

        def fit(self, *data: Any, **how: Any) -> "Cut":
            Cut.fits += 1
            if Cut.fits in (3, 11, 13):
                raise StopError
            return super().fit(*data, **how)

    try:
        whole = tune(train, trials=14)
        cut = Cut.__new__(Cut)
        cut.__init__(**SMALL)  # type: ignore[misc]
        for _ in range(3):
            with pytest.raises(StopError):
                tune(train, cut, trials=14, storage=tmp_path / "s.journal")
        resumed = tune(train, cut, trials=14, storage=tmp_path / "s.journal")
        assert resumed.trials["value"].to_list() == whole.trials["value"].to_list()
    finally:
        sqlrank.models.Recommender._models.pop("Cut")


def test_another_search_is_not_continued(train: Interactions, tmp_path: Path) -> None:
    storage = tmp_path / "search.journal"
    tune(train, trials=1, storage=storage)
    for changed in ({"seed": 1}, {"protocol": "rated"}, {"fixed": {"rank": 5}}, {"validation": 0.3}):
        with pytest.raises(ConfigError, match="another"):
            tune(train, trials=1, storage=storage, **changed)
    fewer = train.take(np.arange(len(train)) % 5 > 0)
    with pytest.raises(ConfigError, match="another train and validation"):
        tune(fewer, trials=1, storage=storage)
    with pytest.raises(ConfigError, match="no folder"):
        tune(train, storage=tmp_path / "nowhere" / "s.journal")


def test_a_search_among_other_candidates_is_not_continued(train: Interactions, tmp_path: Path) -> None:
    """They print alike: as so many given items."""
    storage, ids = tmp_path / "search.journal", train.items.ids.to_list()
    here, there = (sqlrank.Protocol(candidates=part) for part in (ids[:10], ids[10:20]))
    assert str(here) == str(there)
    tune(train, trials=1, storage=storage, protocol=here)
    with pytest.raises(ConfigError, match="another protocol"):
        tune(train, trials=1, storage=storage, protocol=there)


def test_ranges_are_respected(train: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = sqlrank.SQLRank.settings_class.rules()
    narrow = {
        **rules,
        "regularization": replace(rules["regularization"], search=Search(2.9, 3.1)),
        "negatives": replace(rules["negatives"], search=Search(2, 4)),
        "decay": replace(rules["decay"], search=None),
        "link": replace(rules["link"], search=Search(choices=("sigmoid",))),
    }
    monkeypatch.setattr(sqlrank.SQLRank.settings_class, "rules", classmethod(lambda cls: narrow))
    result = tune(train, trials=12)
    assert result.trials["regularization"].is_between(2.9, 3.1).all()
    assert set(result.trials["negatives"]) <= {2, 3, 4}
    assert result.trials["regularization"].n_unique() > 5
    assert result.trials["link"].unique().to_list() == ["sigmoid"]
    assert "decay" not in result.trials.columns


class _Poison:
    """Breaks whoever touches it."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the test set was touched: {name}")


def test_the_test_set_is_never_touched(train: Interactions) -> None:
    clean = tune(train)
    poisoned = Dataset("poisoned", train, test=_Poison())  # type: ignore[arg-type] # that is the point
    result = tune(poisoned)
    assert result == clean
    assert told(result).equals(told(clean))


def test_validation_is_the_datasets_own(train: Interactions) -> None:
    rest, held_out = sqlrank.split.random(train, 0.2, seed=5)
    assert tune(Dataset("d", rest, validation=held_out)) == tune(rest, validation=held_out)


def test_latest_events_validate_where_there_are_timestamps(train: Interactions) -> None:
    times = np.random.default_rng(1).permutation(len(train)).astype(np.int64)
    timed = Interactions.from_csr(train.users, train.items, train.indptr, train.indices, None, times)
    rest, held_out = sqlrank.split.by_time(timed, 0.1)
    result = tune(timed, trials=2)
    assert result.validation == "the last 10% of the training events"
    given = tune(rest, validation=held_out, trials=2)
    assert told(result).equals(told(given))


def test_training_half_of_a_random_split_can_be_split_again(train: Interactions) -> None:
    half, _ = sqlrank.split.random(train, 0.3, seed=0)
    assert tune(half, trials=1).value > 0


@pytest.mark.parametrize("name", ["ease", "itemknn", "popularity", "wmf"])
def test_every_model_can_be_tuned(train: Interactions, name: str) -> None:
    from sqlrank.models.names import model_class

    if name == "wmf":
        pytest.importorskip("implicit", reason="implicit is not installed: pip install 'sqlrank[rivals]'")
    result = tune(train, model_class(name), trials=3)
    assert result.trials.height == (1 if name == "popularity" else 3)
    assert set(result.trials["state"]) <= {"complete", "pruned"}
    assert result.model().fit(train).is_fitted


def test_hopeless_trials_are_pruned(train: Interactions) -> None:
    result = tune(train, fixed={"rank": 4, "epochs": 30}, trials=20)
    pruned = result.trials.filter(pl.col("state") == "pruned")
    assert pruned.height > 0
    assert (pruned["epochs"] >= 5).all()
    best = result.trials.filter(pl.col("state") == "complete")["value"].max()
    assert (pruned["value"] < best).all()


def test_failing_trials_are_told_and_do_not_stop_the_search(
    train: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = sqlrank.SQLRank.fit

    def picky(self: sqlrank.SQLRank, *data: Any, **how: Any) -> sqlrank.SQLRank:
        if self.settings.regularization < 3:
            raise ConfigError("too little")
        return fit(self, *data, **how)

    monkeypatch.setattr(sqlrank.SQLRank, "fit", picky)
    trials = tune(train, trials=8).trials
    failed = trials.filter(pl.col("regularization") < 3)
    assert 0 < failed.height < 8
    assert failed["state"].unique().to_list() == ["failed"]
    assert failed["error"].unique().to_list() == ["too little"]
    assert failed["value"].null_count() == failed.height
    assert trials.filter(pl.col("regularization") >= 3)["error"].null_count() == 8 - failed.height


def test_defaults_that_fail_raise_also_when_the_search_is_taken_up_again(
    train: Interactions, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"the first trial, with the defaults, failed: .*no ratings"):
            tune(train, fixed={"feedback": "explicit"}, storage=tmp_path / "s.journal")


def test_an_interrupted_trial_is_no_result(
    train: Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of a fit: the fit alone would keep its epochs, the search must not count them."""
    from sqlrank.training.trainer import ListTrainer

    whole = tune(train, trials=3)
    epoch, calls = ListTrainer.train_epoch, []

    def interrupted(self: Any, number: int) -> Any:
        calls.append(number)
        if len(calls) == 9:  # the second trial, its third epoch
            raise KeyboardInterrupt
        return epoch(self, number)

    with monkeypatch.context() as patched:
        patched.setattr(ListTrainer, "train_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tune(train, trials=3, storage=tmp_path / "s.journal")
    resumed = tune(train, trials=3, storage=tmp_path / "s.journal")
    assert told(resumed).equals(told(whole))


def test_toml_gives_the_model_again(train: Interactions, tmp_path: Path) -> None:
    result = tune(train, trials=2)
    text = result.save(tmp_path / "best.toml").read_text()
    table = tomllib.loads(text)["fit"]
    assert table.pop("model") == "sqlrank"
    assert sqlrank.SQLRank(**table).get_params() == result.settings
    assert "ndcg@5" in text.splitlines()[0]
    assert pl.read_parquet(tmp_path / "best.trials.parquet").equals(result.trials)
    with pytest.raises(ConfigError, match="written as"):
        result.save(tmp_path / "best.json")


def test_shown_with_protocol_and_budget(train: Interactions, capsys: pytest.CaptureFixture[str]) -> None:
    result = tune(train, trials=2, progress=True)
    assert "candidates: all items unseen in training" in str(result)
    assert "2 trials" in str(result)
    assert "trial 2/2" in capsys.readouterr().err


def test_events_are_learnt_where_unseen_items_are_ranked(train: Interactions) -> None:
    values = (np.arange(len(train)) % 5 + 1).astype(np.float32)
    rated = Interactions.from_csr(train.users, train.items, train.indptr, train.indices, values)
    assert tune(rated, trials=1).settings["feedback"] == "implicit"
    assert tune(rated, trials=1, protocol="rated").settings["feedback"] == "auto"
    own = sqlrank.SQLRank(feedback="explicit", **SMALL)
    assert tune(rated, own, trials=1).settings["feedback"] == "explicit"


def test_timeout_starts_no_more_trials(train: Interactions) -> None:
    assert tune(train, trials=50, timeout=0).trials.height == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials is 0"),
        ({"metric": "ndgc@5"}, "ndgc"),
        ({"metric": "gini@5"}, "less is better"),
        ({"protocol": "alll"}, "did you mean 'all'"),
        ({"fixed": {"rnk": 3}}, "did you mean 'rank'"),
        ({"validation": 1.5}, "1.5"),
    ],
)
def test_mistakes_of_the_call(train: Interactions, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tune(train, **options)


def test_bad_data() -> None:
    with pytest.raises(DataError, match="give interactions"):
        tune([(1, 2)])


def test_without_optuna(train: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match="pip install 'sqlrank\\[tune\\]'"):
        tune(train)
